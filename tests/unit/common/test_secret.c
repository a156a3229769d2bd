#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/secret.h"

static void secret_keeps_a_copy(void **state)
{
	auto_type(secret_release) struct secret secret;
	char source[] = "token";
	struct err err;

	(void)state;
	secret_init(&secret);
	assert_int_equal(secret_set(&secret, bytes_str(source), &err), 0);
	secret_wipe(source, sizeof(source) - 1);
	assert_string_equal(source, "");
	assert_true(bytes_is(secret_view(&secret), "token"));
	assert_int_equal(secret_set(&secret, bytes_str("next"), &err), 0);
	assert_true(bytes_is(secret_view(&secret), "next"));
	/* From itself: the source must not be gone before it is copied. */
	assert_int_equal(secret_set(&secret, secret_view(&secret), &err), 0);
	assert_true(bytes_is(secret_view(&secret), "next"));
}

static void secret_has_a_bound(void **state)
{
	static uint8_t data[SECRET_LEN_MAX + 1];
	auto_type(secret_release) struct secret secret;
	struct err err;

	(void)state;
	secret_init(&secret);
	assert_int_equal(
		secret_set(&secret, bytes_from(data, sizeof(data)), &err), -1);
	assert_int_equal(err.code, ERR_TOO_LARGE);
	assert_int_equal(secret_random(&secret, SECRET_LEN_MAX + 1, &err), -1);
	assert_null(secret.data);
	assert_int_equal(
		secret_set(&secret, bytes_from(data, SECRET_LEN_MAX), &err), 0);
	assert_int_equal(secret.len, SECRET_LEN_MAX);
}

static void secret_random_is_random(void **state)
{
	auto_type(secret_release) struct secret first, second;
	struct err err;

	(void)state;
	secret_init(&first);
	secret_init(&second);
	assert_int_equal(secret_random(&first, 32, &err), 0);
	assert_int_equal(secret_random(&second, 32, &err), 0);
	assert_int_equal(first.len, 32);
	assert_false(bytes_equal(secret_view(&first), secret_view(&second)));
}

static int read_text(struct secret *secret, const char *text, size_t max,
		     struct err *err)
{
	int ends[2], result;

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], text, strlen(text)), strlen(text));
	(void)close(ends[1]);
	result = secret_read_fd(secret, ends[0], max, err);
	(void)close(ends[0]);
	return result;
}

static void secret_reads_to_the_end_without_the_last_line_end(void **state)
{
	static const struct {
		const char *text;
		const char *kept;
	} rows[] = {
		{"abcd", "abcd"},   {"abcd\n", "abcd"}, {"abc\n\n", "abc\n"},
		{"a\nbc", "a\nbc"}, {"", ""},		{"\n", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_type(secret_release) struct secret secret;
		struct err err;

		secret_init(&secret);
		assert_int_equal(read_text(&secret, rows[i].text, 4, &err), 0);
		assert_true(bytes_is(secret_view(&secret), rows[i].kept));
	}
}

static void secret_reads_no_more_than_its_bound(void **state)
{
	static const char *const rows[] = {"abcde", "abcde\n", "abcd\n\n",
					   "abcdefghijk"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_type(secret_release) struct secret secret;
		struct err err;

		secret_init(&secret);
		assert_int_equal(secret_set(&secret, bytes_str("old"), &err),
				 0);
		assert_int_equal(read_text(&secret, rows[i], 4, &err), -1);
		assert_int_equal(err.code, ERR_TOO_LARGE);
		assert_true(bytes_is(secret_view(&secret), "old"));
	}
}

static void secret_reports_a_descriptor_that_cannot_be_read(void **state)
{
	auto_type(secret_release) struct secret secret;
	struct err err;

	(void)state;
	secret_init(&secret);
	assert_int_equal(secret_read_fd(&secret, -1, 4, &err), -1);
	assert_int_equal(err.code, ERR_SYSTEM);
}

static void secret_release_unmaps_its_pages(void **state)
{
	struct secret secret;
	struct err err;
	unsigned char core;
	void *data;

	(void)state;
	secret_init(&secret);
	assert_int_equal(secret_set(&secret, bytes_str("token"), &err), 0);
	data = secret.data;
	assert_int_equal(mincore(data, 1, &core), 0);
	secret_release(&secret);
	assert_int_equal(mincore(data, 1, &core), -1);
	assert_null(secret.data);
	assert_int_equal(secret.len, 0);
	secret_release(&secret);
}

static int protected_child(void)
{
	struct rlimit core;

	if (prctl(PR_GET_DUMPABLE) != 1)
		return 1;
	secret_protect_process();
	if (prctl(PR_GET_DUMPABLE) != 0)
		return 2;
	if (getrlimit(RLIMIT_CORE, &core) != 0 || core.rlim_max != 0)
		return 3;
	return 0;
}

static void secret_protects_the_process_from_being_dumped(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0)
		_exit(protected_child());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secret_keeps_a_copy),
		cmocka_unit_test(secret_has_a_bound),
		cmocka_unit_test(secret_random_is_random),
		cmocka_unit_test(
			secret_reads_to_the_end_without_the_last_line_end),
		cmocka_unit_test(secret_reads_no_more_than_its_bound),
		cmocka_unit_test(
			secret_reports_a_descriptor_that_cannot_be_read),
		cmocka_unit_test(secret_release_unmaps_its_pages),
		cmocka_unit_test(secret_protects_the_process_from_being_dumped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
