#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/usage.h"
#include "tests/unit/sandbox-host/scratch.h"

#define FILE_BYTES (64 * 1024)
#define DIR_FLAGS  (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

static int top = -1;

static int make(void **state)
{
	(void)state;
	scratch_make();
	top = open(scratch, DIR_FLAGS);
	assert_true(top >= 0);
	return 0;
}

static int drop(void **state)
{
	(void)state;
	(void)close(top);
	scratch_remove();
	return 0;
}

static void add_file(int at, const char *name)
{
	static uint8_t bytes[FILE_BYTES];
	auto_fd int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL, 0600);

	memset(bytes, 'x', sizeof(bytes));
	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	assert_int_equal(fsync(fd), 0);
}

static struct usage measure(void)
{
	struct usage usage = {0};
	struct err err;

	assert_int_equal(usage_add(top, &usage, &err), 0);
	return usage;
}

static void usage_counts_files_of_all_directories(void **state)
{
	struct usage before, after;

	(void)state;
	assert_int_equal(mkdirat(top, "a", 0700), 0);
	assert_int_equal(mkdirat(top, "a/b", 0700), 0);
	before = measure();
	add_file(top, "one");
	add_file(top, "a/b/two");
	after = measure();
	assert_int_equal(after.entries, before.entries + 2);
	assert_true(after.bytes >= before.bytes + 2 * FILE_BYTES);
	assert_true(after.bytes < before.bytes + 3 * FILE_BYTES);
	/* Measured twice from one descriptor, it is the same. */
	assert_int_equal(measure().bytes, after.bytes);
}

static void usage_counts_a_file_with_two_names_once(void **state)
{
	uint64_t once;

	(void)state;
	add_file(top, "one");
	once = measure().bytes;
	assert_int_equal(linkat(top, "one", top, "other", 0), 0);
	assert_int_equal(measure().bytes, once);
	assert_int_equal(measure().entries, 2);
}

static void usage_follows_no_link_and_counts_no_hole(void **state)
{
	auto_fd int hole =
		openat(top, "hole", O_WRONLY | O_CREAT | O_EXCL, 0600);

	(void)state;
	assert_int_equal(symlinkat("/usr", top, "usr"), 0);
	assert_int_equal(symlinkat(".", top, "round"), 0);
	assert_int_equal(ftruncate(hole, 1 << 30), 0);
	assert_int_equal(measure().entries, 3);
	assert_true(measure().bytes < FILE_BYTES);
}

static void usage_refuses_what_is_too_deep(void **state)
{
	struct usage usage = {0};
	int at = fcntl(top, F_DUPFD_CLOEXEC, 0);
	struct err err;

	(void)state;
	for (int i = 0; i < USAGE_DEPTH_MAX + 1; i++) {
		int next;

		if (i == USAGE_DEPTH_MAX)
			assert_int_equal(usage_add(top, &usage, &err), 0);
		assert_int_equal(mkdirat(at, "d", 0700), 0);
		next = openat(at, "d", DIR_FLAGS);
		(void)close(at);
		at = next;
	}
	(void)close(at);
	assert_int_equal(usage_add(top, &usage, &err), -1);
	assert_int_equal(err.code, ERR_TOO_LARGE);
}

int main(void)
{
#define USAGE_TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)
	const struct CMUnitTest tests[] = {
		USAGE_TEST(usage_counts_files_of_all_directories),
		USAGE_TEST(usage_counts_a_file_with_two_names_once),
		USAGE_TEST(usage_follows_no_link_and_counts_no_hole),
		USAGE_TEST(usage_refuses_what_is_too_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
