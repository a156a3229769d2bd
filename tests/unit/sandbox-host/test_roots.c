/* What is made ready of a file is of that file alone, as it was. */
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

#include "sandbox-host/roots.h"
#include "tests/unit/sandbox-host/scratch.h"

/* A sequence of nothing but its length: enough for a bag. */
#define PEM "-----BEGIN CERTIFICATE-----\nMAIAAA==\n-----END CERTIFICATE-----\n"

static char path[256], other[256];

static void write_file(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static bool take(const char *name, struct roots *roots)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	bool taken = fd >= 0 && roots_take(fd, roots);

	(void)close(fd);
	return taken;
}

static int prepare(void **state)
{
	static const char *const paths[] = {"/nowhere/at/all", path};

	(void)state;
	write_file(path, PEM PEM);
	roots_prepare(paths, 2);
	return 0;
}

static int release(void **state)
{
	(void)state;
	roots_release();
	(void)unlink(path);
	(void)unlink(other);
	return 0;
}

static void what_was_made_is_of_the_first_file_that_exists(void **state)
{
	struct roots roots;

	(void)state;
	assert_true(take(path, &roots));
	assert_true(bytes_is(roots.text, PEM PEM "\n"));
	assert_int_equal(roots.bag_count, 2);
	assert_true(roots.bags.len > 0);
}

static void another_file_of_the_same_text_is_not_it(void **state)
{
	struct roots roots;

	(void)state;
	write_file(other, PEM PEM);
	assert_false(take(other, &roots));
	/* Also under its name. */
	assert_int_equal(rename(other, path), 0);
	assert_false(take(path, &roots));
}

static void one_that_was_written_to_since_is_not_it(void **state)
{
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
					  {.tv_sec = 1}};
	struct roots roots;

	(void)state;
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	assert_false(take(path, &roots));
	write_file(path, PEM);
	assert_false(take(path, &roots));
}

static void nothing_is_left_once_it_was_released(void **state)
{
	struct roots roots;

	assert_true(take(path, &roots));
	roots_release();
	assert_false(take(path, &roots));
	(void)prepare(state);
	assert_true(take(path, &roots));
}

static void what_holds_no_certificate_is_not_made_ready(void **state)
{
	static const char *const paths[] = {other};
	struct roots roots;

	(void)state;
	roots_release();
	write_file(other, "none\n");
	roots_prepare(paths, 1);
	assert_false(take(other, &roots));
	(void)unlink(other);
	roots_prepare(paths, 1);
	assert_false(take(path, &roots));
}

static int make_scratch(void **state)
{
	(void)state;
	scratch_make();
	(void)snprintf(path, sizeof(path), "%s", scratch_path("bundle"));
	(void)snprintf(other, sizeof(other), "%s", scratch_path("other"));
	return 0;
}

static int remove_scratch(void **state)
{
	(void)state;
	scratch_remove();
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare, release)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_was_made_is_of_the_first_file_that_exists),
		TEST(another_file_of_the_same_text_is_not_it),
		TEST(one_that_was_written_to_since_is_not_it),
		TEST(nothing_is_left_once_it_was_released),
		TEST(what_holds_no_certificate_is_not_made_ready),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
