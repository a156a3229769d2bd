#include "common/confine_parts.h"

#include <errno.h>
#include <seccomp.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>

#include "common/cleanup.h"

/* Faster than a chain from three dozen calls on (libseccomp: a binary tree). */
#define OPTIMIZE_TREE 2

/* What every process does: its loop, its channels, its memory, its log. */
static const char *const base_calls[] = {
	"read",
	"write",
	"close",
	"fcntl",
#ifdef SYS_epoll_wait
	"epoll_wait",
#else
	"epoll_pwait",
#endif
	"epoll_ctl",
	"sendmsg",
	"recvmsg",
	"sendto",
	"recvfrom",
	"mmap",
	"munmap",
	"mremap",
	"madvise",
	"brk",
	"futex",
	"clock_gettime",
	/* libevent's. Where the clock is no TSC, as in some virtual machines,
	 * the kernel itself is asked for both. */
	"gettimeofday",
	"getrandom",
	"getpid", /* OpenSSL asks it whether it was forked */
	"rt_sigreturn",
	"restart_syscall",
	"exit_group",
	"lseek", /* the length of a sealed memfd */
	NULL,
};

static int failed(int number, struct err *err, const char *name)
{
	errno = -number;
	return err_system(err, "filter system calls: %s", name);
}

static int allow_ioctl(scmp_filter_ctx filter, struct err *err)
{
	static const scmp_datum_t requests[] = {TIOCSWINSZ, FIONREAD};
	int done = 0;

	for (size_t i = 0; done == 0 && i < ARRAY_SIZE(requests); i++)
		done = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SYS_ioctl, 1,
					SCMP_A1(SCMP_CMP_EQ, requests[i], 0));
	return done < 0 ? failed(done, err, "ioctl") : 0;
}

static int allow(scmp_filter_ctx filter, const char *name, struct err *err)
{
	const struct scmp_arg_cmp not_executable =
		SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
	int call = seccomp_syscall_resolve_name(name);
	const struct scmp_arg_cmp *only = NULL;
	int done;

	if (call == __NR_SCMP_ERROR)
		return err_set(err, ERR_INVALID,
			       "filter system calls: no call is named %s",
			       name);
	/* Another architecture has it: nothing to allow here. */
	if (call < 0)
		return 0;
	if (call == SYS_mmap || call == SYS_mprotect)
		only = &not_executable;
	else if (call == SYS_ioctl)
		return allow_ioctl(filter, err);
	done = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call,
				      only != NULL, only);
	return done < 0 ? failed(done, err, name) : 0;
}

static int allow_all(scmp_filter_ctx filter, const char *const *names,
		     struct err *err)
{
	for (; names && *names; names++)
		if (allow(filter, *names, err) < 0)
			return -1;
	return 0;
}

static int set_attributes(scmp_filter_ctx filter, struct err *err)
{
	static const struct {
		enum scmp_filter_attr attribute;
		uint32_t value;
	} wanted[] = {
		{SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS},
		{SCMP_FLTATR_CTL_TSYNC, 1},
		{SCMP_FLTATR_CTL_OPTIMIZE, OPTIMIZE_TREE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		int done = seccomp_attr_set(filter, wanted[i].attribute,
					    wanted[i].value);

		if (done < 0)
			return failed(done, err, "attribute");
	}
	return 0;
}

/* From 2.41 on glibc keeps random state in memory for each thread, which its
 * first call makes with calls that nobody needs later. */
static int make_random_state(struct err *err)
{
	uint8_t byte;

	if (getrandom(&byte, sizeof(byte), 0) < 0)
		return err_system(err, "read random bytes");
	return 0;
}

static int compare_ints(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

/* glibc's qsort() asks once how much memory the host has (sysinfo(2)), when
 * it first sorts more than 1 KiB: before the call is gone. */
static void prime_library(void)
{
	int numbers[1024] = {1};

	qsort(numbers, ARRAY_SIZE(numbers), sizeof(numbers[0]), compare_ints);
}

int confine_seccomp(const struct confine_spec *spec, struct err *err)
{
	scmp_filter_ctx filter;
	int done = -1, loaded;

	if (make_random_state(err) < 0)
		return -1;
	filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	if (!filter)
		return err_set(err, ERR_SYSTEM,
			       "filter system calls: no memory");
	prime_library();
	if (set_attributes(filter, err) == 0 &&
	    allow_all(filter, base_calls, err) == 0 &&
	    allow_all(filter, spec->syscalls, err) == 0) {
		loaded = seccomp_load(filter);
		done = loaded < 0 ? failed(loaded, err, "load") : 0;
	}
	seccomp_release(filter);
	return done;
}

int confine_deny_calls(const char *const *names, struct err *err)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int done = 0;

	if (!filter)
		return err_set(err, ERR_SYSTEM,
			       "filter system calls: no memory");
	for (; *names && done == 0; names++) {
		int call = seccomp_syscall_resolve_name(*names);

		if (call != __NR_SCMP_ERROR)
			done = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM),
						call, 0);
	}
	if (done == 0)
		done = seccomp_load(filter);
	seccomp_release(filter);
	return done < 0 ? failed(done, err, "deny") : 0;
}
