#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"

#define CONTENT_BYTES 40000 /* more than is read at once */

static char path[] = "/tmp/sp-file-XXXXXX";

static int setup(void **state)
{
	auto_fd int fd = mkstemp(path);
	char content[CONTENT_BYTES];

	(void)state;
	memset(content, 'x', sizeof(content));
	return fd >= 0 && write(fd, content, sizeof(content)) == CONTENT_BYTES
		       ? 0
		       : -1;
}

static int teardown(void **state)
{
	(void)state;
	return unlink(path);
}

static void a_file_may_be_as_large_as_the_buffer_and_no_larger(void **state)
{
	static const struct {
		size_t max;
		int status;
	} rows[] = {
		{CONTENT_BYTES + 1, 0},
		{CONTENT_BYTES, 0},
		{CONTENT_BYTES - 1, -1},
		{1, -1},
		{0, -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_type(buf_release) struct buf text;
		struct err err = {0};

		buf_init(&text, rows[i].max);
		assert_int_equal(file_read_path(path, &text, &err),
				 rows[i].status);
		if (rows[i].status == 0) {
			assert_int_equal(buf_len(&text), CONTENT_BYTES);
			continue;
		}
		assert_int_equal(err.code, ERR_TOO_LARGE);
		assert_non_null(strstr(err.text, path));
		assert_non_null(strstr(err.text, "larger than"));
	}
}

static void what_can_not_be_read_is_named(void **state)
{
	auto_type(buf_release) struct buf text;
	struct err err = {0};

	(void)state;
	buf_init(&text, CONTENT_BYTES);
	assert_int_equal(file_read_path("/tmp/sp-file-none", &text, &err), -1);
	assert_int_equal(err.number, ENOENT);
	assert_string_equal(err.text, "open /tmp/sp-file-none: No such file or "
				      "directory");
	assert_int_equal(file_read_path("/tmp", &text, &err), -1);
	assert_int_equal(err.number, EISDIR);
	assert_string_equal(err.text, "/tmp: read: Is a directory");
}

static void what_ends_is_read_to_its_end(void **state)
{
	auto_type(buf_release) struct buf text;
	struct err err = {0};
	int ends[2];

	(void)state;
	buf_init(&text, 16);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "some words", 10), 10);
	assert_int_equal(close(ends[1]), 0);
	assert_int_equal(file_read(ends[0], &text, &err), 0);
	assert_true(bytes_is(buf_view(&text), "some words"));
	assert_int_equal(close(ends[0]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_file_may_be_as_large_as_the_buffer_and_no_larger),
		cmocka_unit_test(what_can_not_be_read_is_named),
		cmocka_unit_test(what_ends_is_read_to_its_end),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
