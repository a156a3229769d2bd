/*
 * Children for the tests of confine(): each tries one thing, confined or
 * not, and is asked how it ended.
 */
#ifndef TESTS_UNIT_COMMON_CONFINE_CHILD_H
#define TESTS_UNIT_COMMON_CONFINE_CHILD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/confine_parts.h"

enum {
	CONFINE_FAILED = 99, /* how a child says so */
	KILLED = 1000,	     /* what run() returns for SIGSYS */
};

typedef int action_fn(void);

/* All layers that this build has. */
static inline int apply(const struct confine_spec *spec)
{
	struct err err;
#ifdef SP_UNCONFINED
	/* confine() applies little here; these two layers work all the same
	 * as long as the child only does what it is tested for. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	    confine_landlock(spec, &err) == 0 &&
	    confine_seccomp(spec, &err) == 0)
		return 0;
#else
	if (confine(spec, &err) == 0)
		return 0;
#endif
	(void)dprintf(STDERR_FILENO, "%s\n", err.text);
	return -1;
}

/* _exit() of a sanitizer's runtime, and any call of a function known not to
 * return, first makes system calls that the child no longer has. */
static inline void leave(int status)
{
	(void)syscall(SYS_exit_group, status);
}

/* Run action in a child, confined unless spec is NULL: its exit status, or
 * KILLED when a system call killed it. */
static inline int run(const struct confine_spec *spec, action_fn *action)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		leave(spec && apply(spec) < 0 ? CONFINE_FAILED : action());
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGSYS ? KILLED : -WTERMSIG(status);
	return WEXITSTATUS(status);
}

static inline int open_file(void)
{
	return open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0 ? errno : 0;
}

static const char *const no_calls[] = {NULL};

static const struct confine_spec bare = {.name = "test", .syscalls = no_calls};

#endif
