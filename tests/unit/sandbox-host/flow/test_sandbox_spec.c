#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/flow/sandbox_spec.h"

#define WORD(text) {{(const uint8_t *)(text), sizeof(text) - 1}}

static int open_exec(const struct exec_request *request)
{
	struct err err;
	auto_fd int fd = exec_request_seal(request, &err);
	struct request_memory memory;
	struct exec_request taken;
	int result;

	assert_true(fd >= 0);
	result = exec_request_open(fd, &memory, &taken, &err);
	if (result == 0) {
		assert_int_equal(taken.argv_count, request->argv_count);
		request_release(&memory);
	} else {
		assert_int_equal(err.code, ERR_INVALID);
		assert_int_equal(memory.mapping.len, 0);
	}
	return result;
}

static void a_command_that_can_be_run_is_taken(void **state)
{
	static const struct text_item argv[] = {WORD("echo"), WORD("\xff\n")};
	static const struct text_item env[] = {WORD("A="), WORD("B=c=d")};
	const struct exec_request request = {
		.argv = argv,
		.argv_count = ARRAY_SIZE(argv),
		.env = env,
		.env_count = ARRAY_SIZE(env),
		.cwd = bytes_str("/tmp"),
	};

	(void)state;
	assert_int_equal(open_exec(&request), 0);
}

static void a_command_that_would_be_another_is_refused(void **state)
{
	static const struct text_item good[] = {WORD("true")};
	static const struct text_item empty[] = {WORD("")};
	static const struct text_item cut[] = {WORD("true"), WORD("a\0b")};
	static const struct text_item no_value[] = {WORD("A")};
	static const struct text_item no_name[] = {WORD("=x")};
	static const struct text_item nul[] = {WORD("A=b\0c")};
	const struct exec_request table[] = {
		{.argv = good, .argv_count = 0},
		{.argv = empty, .argv_count = 1},
		{.argv = cut, .argv_count = 2},
		{.argv = good,
		 .argv_count = 1,
		 .env = no_value,
		 .env_count = 1},
		{.argv = good, .argv_count = 1, .env = no_name, .env_count = 1},
		{.argv = good, .argv_count = 1, .env = nul, .env_count = 1},
		{.argv = good, .argv_count = 1, .cwd = bytes_str("tmp")},
		{.argv = good, .argv_count = 1, .cwd = bytes_from("/\0x", 3)},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		assert_int_equal(open_exec(&table[i]), -1);
}

static void a_sandbox_keeps_what_it_was_asked_for_with(void **state)
{
	static const struct text_item words[] = {WORD("sh"), WORD("-c")};
	const struct sandbox_request request = {
		.name = bytes_str("box"),
		.policy = bytes_str("version: 1\n"),
		.workspace = bytes_str("/work"),
		.entrypoint = words,
		.entrypoint_count = ARRAY_SIZE(words),
		.expires_ms = 77,
	};
	struct err err;
	auto_fd int fd = sandbox_request_seal(&request, &err);
	struct request_memory memory;
	struct sandbox_request taken;

	(void)state;
	assert_int_equal(sandbox_request_open(fd, &memory, &taken, &err), 0);
	assert_true(bytes_is(taken.name, "box"));
	assert_true(bytes_is(taken.policy, "version: 1\n"));
	assert_true(bytes_is(taken.entrypoint[1].text, "-c"));
	assert_int_equal(taken.expires_ms, 77);
	request_release(&memory);
}

static void kind_of(const struct sandbox_request *request, struct buf *out)
{
	struct err err;

	buf_init(out, REQUEST_BYTES_MAX);
	assert_int_equal(sandbox_request_kind(request, out, &err), 0);
}

static bool is_of_the_kind(const struct sandbox_request *one,
			   const struct sandbox_request *other)
{
	auto_type(buf_release) struct buf first;
	auto_type(buf_release) struct buf second;

	kind_of(one, &first);
	kind_of(other, &second);
	return bytes_equal(buf_view(&first), buf_view(&second));
}

static void a_kind_is_all_that_is_not_each_ones_own(void **state)
{
	static const struct text_item item = {BYTES_LITERAL("A=b")};
	static const struct text_item other = {BYTES_LITERAL("A=c")};
	static const struct text_pair pair = {BYTES_LITERAL("a"),
					      BYTES_LITERAL("b")};
	static const struct volume_request volume = {0};
	const struct sandbox_request one = {
		.policy = bytes_str("version: 1\n"),
		.env = &item,
		.env_count = 1,
	};
	struct sandbox_request same = one;
	struct sandbox_request rows[18];
	size_t count = 0;

	(void)state;
	same.name = bytes_str("mine");
	same.note = bytes_str("note");
	same.metadata = &pair;
	same.metadata_count = 1;
	same.entrypoint = &item;
	same.entrypoint_count = 1;
	same.expires_ms = 77;
	assert_true(is_of_the_kind(&one, &same));
#define ROW(...)                                                               \
	do {                                                                   \
		rows[count] = one;                                             \
		__VA_ARGS__;                                                   \
		count++;                                                       \
	} while (0)
	ROW(rows[count].policy = bytes_str("version: 1"));
	ROW(rows[count].policy_path = bytes_str("/p"));
	ROW(rows[count].repo = bytes_str("https://x/y"));
	ROW(rows[count].branch = bytes_str("b"));
	ROW(rows[count].workspace = bytes_str("/w"));
	ROW(rows[count].home = bytes_str("/h"));
	ROW(rows[count].image = bytes_str("i"));
	ROW(rows[count].snapshot = bytes_str("snap-x"));
	ROW(rows[count].volumes = &volume, rows[count].volumes_count = 1);
	ROW(rows[count].caller = &item, rows[count].caller_count = 1);
	ROW(rows[count].env = &other);
	ROW(rows[count].env_count = 0);
	ROW(rows[count].memory_bytes = 1);
	ROW(rows[count].processes = 1);
	ROW(rows[count].cpu_milli = 1);
	ROW(rows[count].is_isolated = true);
	ROW(rows[count].mode = REQUEST_MODE_READ);
	ROW(rows[count].is_offline = true);
#undef ROW
	for (size_t i = 0; i < count; i++)
		if (is_of_the_kind(&one, &rows[i]))
			fail_msg("row %zu", i);
}

static int open_volume(const struct volume_request *volume)
{
	const struct sandbox_request request = {.volumes = volume,
						.volumes_count = 1};
	struct err err;
	auto_fd int fd = sandbox_request_seal(&request, &err);
	struct request_memory memory;
	struct sandbox_request taken;
	int result;

	assert_true(fd >= 0);
	result = sandbox_request_open(fd, &memory, &taken, &err);
	if (result == 0) {
		assert_int_equal(taken.volumes_count, 1);
		assert_true(
			bytes_equal(taken.volumes[0].target, volume->target));
		request_release(&memory);
	}
	return result;
}

#define VOLUME(from, below, to)                                                \
	{.source = {(const uint8_t *)(from), sizeof(from) - 1},                \
	 .sub_path = {(const uint8_t *)(below), sizeof(below) - 1},            \
	 .target = {(const uint8_t *)(to), sizeof(to) - 1}}

static void volumes_have_absolute_paths_without_parents(void **state)
{
	static const struct volume_request good[] = {
		VOLUME("/data", "", "/mnt"),
		VOLUME("/data", "a/..b", "/mnt/..c"),
	};
	static const struct volume_request bad[] = {
		VOLUME("", "", "/mnt"),
		VOLUME("/data", "", ""),
		VOLUME("data", "", "/mnt"),
		VOLUME("/data", "", "mnt"),
		{.source = BYTES_LITERAL("/data"),
		 .below = BYTES_LITERAL("a/.."),
		 .target = BYTES_LITERAL("/mnt")},
		{.source = BYTES_LITERAL("/data"),
		 .below = BYTES_LITERAL("a\0b"),
		 .target = BYTES_LITERAL("/mnt")},
		VOLUME("/data/..", "", "/mnt"),
		VOLUME("/data", "", "/mnt/../etc"),
		VOLUME("/data", "..", "/mnt"),
		VOLUME("/data", "a/../..", "/mnt"),
		VOLUME("/data", "a\0b", "/mnt"),
		VOLUME("/da\0ta", "", "/mnt"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_int_equal(open_volume(&good[i]), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(open_volume(&bad[i]), -1);
}

static void a_descriptor_that_may_change_is_refused(void **state)
{
	auto_fd int fd = memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	auto_fd int null = dup(STDIN_FILENO);
	struct request_memory memory;
	struct sandbox_request request;
	struct err err;

	(void)state;
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(sandbox_request_open(fd, &memory, &request, &err), -1);
	assert_int_equal(sandbox_request_open(null, &memory, &request, &err),
			 -1);
}

static void what_is_sealed_and_no_request_is_refused(void **state)
{
	struct err err;
	auto_fd int fd = wire_memfd_seal("x", bytes_str("no request"), &err);
	struct request_memory memory;
	struct sandbox_request request;
	struct exec_request exec;

	(void)state;
	assert_int_equal(sandbox_request_open(fd, &memory, &request, &err), -1);
	assert_int_equal(exec_request_open(fd, &memory, &exec, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_that_can_be_run_is_taken),
		cmocka_unit_test(a_command_that_would_be_another_is_refused),
		cmocka_unit_test(a_sandbox_keeps_what_it_was_asked_for_with),
		cmocka_unit_test(a_kind_is_all_that_is_not_each_ones_own),
		cmocka_unit_test(volumes_have_absolute_paths_without_parents),
		cmocka_unit_test(a_descriptor_that_may_change_is_refused),
		cmocka_unit_test(what_is_sealed_and_no_request_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
