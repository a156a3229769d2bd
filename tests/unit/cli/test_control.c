#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/control.h"
#include "common/clock.h"

static char lock_path[] = "/tmp/sp-control-XXXXXX";

static int setup(void **state)
{
	int fd = mkstemp(lock_path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	(void)state;
	return unlink(lock_path);
}

/* Another process: one's own locks are no locks to oneself. */
static pid_t hold(void)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int ends[2];
	char held;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		int fd = open(lock_path, O_RDWR);

		if (fd < 0 || fcntl(fd, F_SETLK, &lock) < 0 ||
		    write(ends[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			(void)pause();
	}
	assert_true(pid > 0);
	assert_int_equal(read(ends[0], &held, 1), 1);
	(void)close(ends[0]);
	(void)close(ends[1]);
	return pid;
}

static void let_go(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static bool waits(struct control_patience *patience)
{
	struct err err = {0};

	(void)err_set(&err, ERR_CLOSED, "nobody");
	return control_wait(patience, lock_path, &err);
}

static void what_stops_leaves_a_moment_for_the_next(void **state)
{
	struct control_patience patience = {0};
	pid_t pid = hold();

	(void)state;
	do
		assert_true(waits(&patience));
	while (patience.held_ms - patience.begin_ms <=
	       (uint64_t)2 * CONTROL_BEGIN_MS);
	let_go(pid);
	while (waits(&patience))
		;
	assert_true(patience.held_ms - patience.begin_ms >= CONTROL_BEGIN_MS);
	assert_true(clock_monotonic_ms() - patience.held_ms >=
		    CONTROL_BEGIN_MS);
}

static void nobody_is_waited_for_but_a_moment(void **state)
{
	struct control_patience patience = {0};

	(void)state;
	assert_true(waits(&patience));
	while (waits(&patience))
		;
	assert_int_equal(patience.held_ms, patience.begin_ms);
}

static void another_error_is_not_waited_for(void **state)
{
	struct control_patience patience = {0};
	struct err err = {0};

	(void)state;
	(void)err_set(&err, ERR_INVALID, "no");
	assert_false(control_wait(&patience, lock_path, &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_stops_leaves_a_moment_for_the_next),
		cmocka_unit_test(nobody_is_waited_for_but_a_moment),
		cmocka_unit_test(another_error_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
