#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/bytes.h"
#include "sandbox-host/disk.h"
#include "tests/unit/sandbox-host/scratch.h"

#define MIB	  (1024 * 1024)
#define LIMIT	  (4 * MIB)
#define SEEN_MS	  30000 /* a busy machine */
#define UNSEEN_MS (3 * DISK_PAUSE_MS)

static int make(void **state)
{
	(void)state;
	scratch_make();
	return 0;
}

static int drop(void **state)
{
	(void)state;
	scratch_remove();
	return 0;
}

static void add_file(const char *name, off_t bytes)
{
	char path[PATH_MAX];
	int fd;

	if (bytes == 0)
		return;
	(void)snprintf(path, sizeof(path), "%s/%s", scratch, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(posix_fallocate(fd, 0, bytes), 0);
	(void)close(fd);
}

/* Is it too much, when so much was there before and so much is written at
 * once? */
static bool is_ended(off_t before, off_t after, struct err *words)
{
	struct disk_watch watch = {.bytes_max = LIMIT,
				   .has_workspace = true,
				   .users = -1,
				   .fd = -1};
	const struct plan plan = {.workspace = scratch};
	struct pollfd too_much = {.events = POLLIN};
	struct report report;
	bool is_much;

	report_open(&report, NULL, NULL);
	add_file("before", before);
	assert_int_equal(disk_watch_begin(&watch, &plan, words), 0);
	add_file("after", after);
	too_much.fd = watch.fd;
	is_much = poll(&too_much, 1, after > LIMIT ? SEEN_MS : UNSEEN_MS) == 1;
	if (is_much)
		disk_watch_take(&watch, &report, words);
	disk_watch_end(&watch);
	return is_much;
}

static void what_is_written_at_once_counts_where_nothing_was(void **state)
{
	struct err words = {0};

	(void)state;
	assert_true(is_ended(0, 4 * LIMIT, &words));
	assert_non_null(strstr(words.text, "is used up"));
}

static void what_is_written_at_once_counts_beside_what_was(void **state)
{
	struct err words = {0};

	(void)state;
	assert_true(is_ended(4096, 4 * LIMIT, &words));
	assert_non_null(strstr(words.text, "is used up"));
}

static void what_was_there_before_does_not_count(void **state)
{
	struct err words = {0};

	(void)state;
	assert_false(is_ended(4 * LIMIT, MIB, &words));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			what_is_written_at_once_counts_where_nothing_was, make,
			drop),
		cmocka_unit_test_setup_teardown(
			what_is_written_at_once_counts_beside_what_was, make,
			drop),
		cmocka_unit_test_setup_teardown(
			what_was_there_before_does_not_count, make, drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
