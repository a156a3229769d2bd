#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/daemon/record.h"
#include "sandbox-host/flow/files.h"

#define ARENA_MAX (1024 * 1024)

struct place {
	char path[64];
	int dir;
};

static int make_place(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	(void)snprintf(place->path, sizeof(place->path), "/tmp/record-XXXXXX");
	assert_non_null(mkdtemp(place->path));
	place->dir = open(place->path, O_DIRECTORY | O_CLOEXEC);
	assert_true(place->dir >= 0);
	*state = place;
	return 0;
}

static int remove_place(void **state)
{
	struct place *place = *state;

	(void)unlinkat(place->dir, FILE_RECORD, 0);
	(void)unlinkat(place->dir, FILE_END, 0);
	(void)close(place->dir);
	(void)rmdir(place->path);
	free(place);
	return 0;
}

static void write_one(const struct place *place)
{
	static const struct text_pair metadata[] = {
		{{(const uint8_t *)"k", 1}, {(const uint8_t *)"v", 1}}};
	const struct host_sandbox sandbox = {
		.id = bytes_str("sb-x"),
		.state = HOST_PAUSED,
		.expires_ms = 12345,
		.metadata = metadata,
		.metadata_count = ARRAY_SIZE(metadata),
	};
	const struct record record = {
		.sandbox = &sandbox,
		.sandbox_count = 1,
		.supervisor_pid = 42,
		.supervisor_start = 4711,
		.owns_workspace = true,
		.is_bounded = true,
	};
	struct err err;

	assert_int_equal(record_write(place->dir, &record, &err), 0);
}

static void what_was_written_is_read(void **state)
{
	const struct place *place = *state;
	auto_type(arena_release) struct arena arena;
	struct record record;
	struct err err;

	arena_init(&arena, ARENA_MAX);
	write_one(place);
	assert_int_equal(record_read(place->dir, &arena, &record, &err), 0);
	assert_int_equal(record.supervisor_pid, 42);
	assert_int_equal(record.supervisor_start, 4711);
	assert_true(record.owns_workspace);
	assert_true(record.is_bounded);
	assert_true(bytes_is(record.sandbox->id, "sb-x"));
	assert_int_equal(record.sandbox->state, HOST_PAUSED);
	assert_int_equal(record.sandbox->expires_ms, 12345);
	assert_int_equal(record.sandbox->metadata_count, 1);
	assert_true(bytes_is(record.sandbox->metadata[0].value, "v"));
}

static void one_that_is_not_there_is_missing(void **state)
{
	const struct place *place = *state;
	auto_type(arena_release) struct arena arena;
	struct supervisor_state end;
	struct record record;
	struct err err;

	arena_init(&arena, ARENA_MAX);
	assert_int_equal(record_read(place->dir, &arena, &record, &err), -1);
	assert_int_equal(err.code, ERR_MISSING);
	assert_int_equal(record_read_end(place->dir, &arena, &end, &err), -1);
	assert_int_equal(err.code, ERR_MISSING);
}

/* Each byte of it, and each length. */
static void one_that_was_changed_or_cut_is_refused(void **state)
{
	const struct place *place = *state;
	uint8_t whole[4096];
	auto_fd int fd = -1;
	struct record record;
	ssize_t len;
	struct err err;

	write_one(place);
	fd = openat(place->dir, FILE_RECORD, O_RDWR | O_CLOEXEC);
	len = read(fd, whole, sizeof(whole));
	assert_true(len > 32 && len < (ssize_t)sizeof(whole));
	for (ssize_t at = 0; at < len; at++) {
		uint8_t changed = whole[at] ^ 1;
		auto_type(arena_release) struct arena arena;

		arena_init(&arena, ARENA_MAX);
		assert_int_equal(pwrite(fd, &changed, 1, at), 1);
		assert_int_equal(record_read(place->dir, &arena, &record, &err),
				 -1);
		assert_int_equal(err.code, ERR_INVALID);
		assert_int_equal(pwrite(fd, &whole[at], 1, at), 1);
	}
	while (len-- > 0) {
		auto_type(arena_release) struct arena arena;

		arena_init(&arena, ARENA_MAX);
		assert_int_equal(ftruncate(fd, len), 0);
		assert_int_equal(record_read(place->dir, &arena, &record, &err),
				 -1);
		assert_int_equal(err.code, ERR_INVALID);
	}
}

static void a_process_has_a_start_and_none_has_not(void **state)
{
	(void)state;
	assert_true(record_start_of(getpid()) > 0);
	assert_int_equal(record_start_of(getpid()), record_start_of(getpid()));
	assert_int_equal(record_start_of(-1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_was_written_is_read,
						make_place, remove_place),
		cmocka_unit_test_setup_teardown(
			one_that_is_not_there_is_missing, make_place,
			remove_place),
		cmocka_unit_test_setup_teardown(
			one_that_was_changed_or_cut_is_refused, make_place,
			remove_place),
		cmocka_unit_test(a_process_has_a_start_and_none_has_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
