#include "sandbox-host/outside.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/capabilities.h"
#include "sandbox-host/landlock.h"
#include "sandbox-host/seccomp.h"

/* Kernel 6.6. */
#define NOTIF_SET_FLAGS SECCOMP_IOW(4, uint64_t)

/* Root's: over files of the users that sandboxes have. */
static const int kept[] = {CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH,
			   CAP_FOWNER, CAP_FSETID};

/* has_all: of the host's root, and the sets that an exec takes from go too. */
static int keep_capabilities(const int *list, size_t count, bool has_all,
			     struct err *err)
{
	if (has_all && capabilities_drop_bounds(err) < 0)
		return -1;
	capng_clear(CAPNG_SELECT_ALL);
	for (size_t i = 0; i < count; i++)
		if (capng_update(
			    CAPNG_ADD,
			    (capng_type_t)(CAPNG_EFFECTIVE | CAPNG_PERMITTED),
			    (unsigned)list[i]) < 0)
			return err_set(err, ERR_SYSTEM,
				       "confine: choose capabilities");
	if (capng_apply(has_all ? CAPNG_SELECT_CAPS | CAPNG_SELECT_AMBIENT
				: CAPNG_SELECT_CAPS) != 0)
		return err_set(err, ERR_SYSTEM, "confine: drop capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_system(err, "confine: set no_new_privs");
	return 0;
}

#ifdef SP_UNCONFINED
void outside_prepare(void)
{
}

static int filter_calls(struct err *err)
{
	(void)err;
	return 0;
}

static int leave_files(const struct outside_place *places, size_t count,
		       struct err *err)
{
	(void)places;
	(void)count;
	(void)err;
	return 0;
}
#else
/* The filters, once they were compiled. */
static struct seccomp_program prepared;
static struct seccomp_program prepared_reporter;

static const char *const calls[] = {
	/* the loop, time, signals, its own processes */
	"epoll_create1",
	"epoll_ctl",
	"epoll_wait",
	"epoll_pwait",
	"epoll_pwait2",
	"poll",
	"ppoll",
	"select",
	"pselect6",
	"eventfd2",
	"timerfd_create",
	"timerfd_settime",
	"timerfd_gettime",
	"signalfd4",
	"clock_gettime",
	"clock_getres",
	"clock_nanosleep",
	"nanosleep",
	"gettimeofday",
	"time",
	"setitimer",
	"alarm",
	"rt_sigaction",
	"rt_sigprocmask",
	"rt_sigreturn",
	"rt_sigtimedwait",
	"sigaltstack",
	"restart_syscall",
	"pause",
	"kill",
	"tgkill",
	"pidfd_open",
	"pidfd_send_signal",
	"wait4",
	"waitid",
	"fork",
	"vfork",
	"exit",
	"exit_group",
	"getpid",
	"getppid",
	"gettid",
	"getpgid",
	"getsid",
	"setsid",
	"setpgid",
	"getuid",
	"geteuid",
	"getgid",
	"getegid",
	"getgroups",
	"getresuid",
	"getresgid",
	"getrlimit",
	"prlimit64",
	"getrusage",
	"sched_yield",
	"sched_getaffinity",
	"set_tid_address",
	"set_robust_list",
	"get_robust_list",
	"rseq",
	"futex",
	"membarrier",
	"prctl",
	"arch_prctl",
	"uname",
	"sysinfo",
	"getrandom",
	"umask",
	"getcpu",
	"times",
	"capget",
	/* memory */
	"brk",
	"mmap",
	"munmap",
	"mremap",
	"mprotect",
	"madvise",
	"mlock",
	"munlock",
	"memfd_create",
	"msync",
	"mincore",
	/* files */
	"read",
	"readv",
	"pread64",
	"preadv",
	"preadv2",
	"write",
	"writev",
	"pwrite64",
	"pwritev",
	"pwritev2",
	"lseek",
	"open",
	"openat",
	"openat2",
	"creat",
	"close",
	"close_range",
	"dup",
	"dup2",
	"dup3",
	"fcntl",
	"flock",
	"pipe",
	"pipe2",
	"stat",
	"fstat",
	"lstat",
	"newfstatat",
	"statx",
	"statfs",
	"fstatfs",
	"access",
	"faccessat",
	"faccessat2",
	"readlink",
	"readlinkat",
	"getdents64",
	"getcwd",
	"chdir",
	"fchdir",
	"mkdir",
	"mkdirat",
	"rmdir",
	"unlink",
	"unlinkat",
	"rename",
	"renameat",
	"renameat2",
	"link",
	"linkat",
	"symlink",
	"symlinkat",
	"chmod",
	"fchmod",
	"fchmodat",
	"fchmodat2",
	"chown",
	"fchown",
	"lchown",
	"fchownat",
	"utimensat",
	"truncate",
	"ftruncate",
	"fallocate",
	"fadvise64",
	"fsync",
	"fdatasync",
	"syncfs",
	"sync_file_range",
	"copy_file_range",
	"sendfile",
	"getxattr",
	"lgetxattr",
	"fgetxattr",
	"listxattr",
	"llistxattr",
	"flistxattr",
	"setxattr",
	"lsetxattr",
	"fsetxattr",
	"removexattr",
	"lremovexattr",
	"fremovexattr",
	"inotify_init1",
	"inotify_add_watch",
	"inotify_rm_watch",
	"ioctl",
	/* sockets */
	"socketpair",
	"bind",
	"listen",
	"accept",
	"accept4",
	"connect",
	"shutdown",
	"getsockname",
	"getpeername",
	"getsockopt",
	"setsockopt",
	"sendto",
	"recvfrom",
	"sendmsg",
	"recvmsg",
	"sendmmsg",
	"recvmmsg",
};

static int allow_sockets(scmp_filter_ctx filter)
{
	static const scmp_datum_t families[] = {AF_UNIX, AF_INET, AF_INET6};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(families); i++)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket),
				      1, SCMP_A0(SCMP_CMP_EQ, families[i], 0));
	return rc;
}

/* No namespace: neither by clone, nor (ENOSYS) by clone3, without which the
 * C library uses clone. */
static int allow_fork(scmp_filter_ctx filter)
{
	const uint64_t namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
				    CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
				    CLONE_NEWCGROUP;

	if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3),
			     0) < 0)
		return -1;
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces, 0));
}

static int allow_calls(scmp_filter_ctx filter, const char *const *names,
		       size_t count)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		int call = seccomp_syscall_resolve_name(names[i]);

		if (call != __NR_SCMP_ERROR)
			rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0);
	}
	return rc;
}

/* Unless something failed (rc) before. */
static int export(scmp_filter_ctx filter, int rc,
		  struct seccomp_program *program, struct err *err)
{
	if (rc < 0) {
		err_set(err, ERR_LIBRARY, "confine: filter calls: %d", rc);
	} else {
		(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
		rc = seccomp_export(filter, program, err);
	}
	if (filter)
		seccomp_release(filter);
	return rc;
}

static int compile(struct seccomp_program *program, struct err *err)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int rc = filter ? allow_fork(filter) : -1;

	if (rc == 0)
		rc = allow_sockets(filter);
	if (rc == 0)
		rc = allow_calls(filter, calls, ARRAY_SIZE(calls));
	return export(filter, rc, program, err);
}

static int filter_calls(struct err *err)
{
	if (!prepared.code && compile(&prepared, err) < 0)
		return -1;
	return seccomp_enter(&prepared, err);
}

static int allow_place(int ruleset, const struct outside_place *place,
		       struct err *err)
{
	if (!place->path[0])
		return 0;
	if (place->right == OUTSIDE_REMOVE &&
	    landlock_allow_removal(ruleset, place->path, err) < 0)
		return -1;
	return landlock_allow(ruleset, place->path,
			      place->right != OUTSIDE_READ, err);
}

static int leave_files(const struct outside_place *places, size_t count,
		       struct err *err)
{
	int ruleset = landlock_begin_outside(err);
	int result = ruleset < 0 ? -1 : 0;

	if (ruleset == -2)
		return 0; /* doctor says so */
	for (size_t i = 0; result == 0 && i < count; i++)
		result = allow_place(ruleset, &places[i], err);
	if (result == 0)
		result = landlock_enter(ruleset, err);
	if (ruleset >= 0)
		(void)close(ruleset);
	return result;
}
#endif

/* ---- the reporter ---- */

#ifndef SP_UNCONFINED
/* No write but to its channel: what it opens it can only look at. No signal,
 * to itself neither: who it is when this is compiled nobody knows, and abort()
 * ends it without one. */
static const char *const reporter_calls[] = {
	"poll",
	"ppoll",
	"sendto",
	"sendmsg",
	"recvmsg",
	"recvfrom",
	"close",
	/* what a path in a program's memory says, and where it leads */
	"process_vm_readv",
	"openat2",
	"readlink",
	"readlinkat",
	"read",
	"fstat",
	"stat",
	"lstat",
	"newfstatat",
	"statx",
	"fstatfs",
	"statfs",
	/* memory, time, its end */
	"brk",
	"munmap",
	"mremap",
	"madvise",
	"futex",
	"clock_gettime",
	"gettimeofday",
	"getrandom",
	"getpid",
	"gettid",
	"rt_sigprocmask",
	"rt_sigreturn",
	"restart_syscall",
	"exit",
	"exit_group",
};

static int allow_with(scmp_filter_ctx filter, int call,
		      struct scmp_arg_cmp wanted)
{
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1, wanted);
}

static int allow_looks(scmp_filter_ctx filter)
{
	static const scmp_datum_t questions[] = {
		SECCOMP_IOCTL_NOTIF_RECV, SECCOMP_IOCTL_NOTIF_SEND,
		SECCOMP_IOCTL_NOTIF_ID_VALID, NOTIF_SET_FLAGS};
	const scmp_datum_t writes =
		O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(questions); i++)
		rc = allow_with(filter, SCMP_SYS(ioctl),
				SCMP_A1(SCMP_CMP_EQ, questions[i], 0));
	if (rc == 0)
		rc = allow_with(filter, SCMP_SYS(openat),
				SCMP_A2(SCMP_CMP_MASKED_EQ, writes, O_RDONLY));
	if (rc == 0)
		rc = allow_with(filter, SCMP_SYS(mmap),
				SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_SHARED, 0));
	if (rc == 0)
		rc = allow_with(filter, SCMP_SYS(prctl),
				SCMP_A0(SCMP_CMP_EQ, PR_SET_PDEATHSIG, 0));
	if (rc == 0)
		rc = allow_with(
			filter, SCMP_SYS(seccomp),
			SCMP_A0(SCMP_CMP_EQ, SECCOMP_GET_NOTIF_SIZES, 0));
	return rc;
}

static int compile_reporter(struct seccomp_program *program, struct err *err)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int rc = filter ? allow_looks(filter) : -1;

	if (rc == 0)
		rc = allow_calls(filter, reporter_calls,
				 ARRAY_SIZE(reporter_calls));
	return export(filter, rc, program, err);
}

static int filter_reporter(struct err *err)
{
	if (!prepared_reporter.code &&
	    compile_reporter(&prepared_reporter, err) < 0)
		return -1;
	return seccomp_enter(&prepared_reporter, err);
}

void outside_prepare(void)
{
	struct err err;

	/* If it fails it is tried again, and said, when it is needed. */
	if (!prepared.code)
		(void)compile(&prepared, &err);
	if (!prepared_reporter.code)
		(void)compile_reporter(&prepared_reporter, &err);
}
#else
static int filter_reporter(struct err *err)
{
	(void)err;
	return 0;
}
#endif

int outside_confine_reporter(uid_t uid, gid_t gid, struct err *err)
{
	static const int looks[] = {CAP_DAC_READ_SEARCH};
	const struct rlimit none = {0, 0};
	bool is_root = geteuid() == 0;

	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return err_system(err, "confine: no core dumps");
	/* Files are as the sandbox's user has them; that user's memory is
	 * ours to read as the maker of its namespace. Neither says whether it
	 * failed: the capabilities go in any case. */
	(void)setfsgid(gid);
	(void)setfsuid(uid);
	if (keep_capabilities(looks, is_root ? ARRAY_SIZE(looks) : 0, is_root,
			      err) < 0)
		return -1;
	return filter_reporter(err);
}

/* ---- the rest ---- */

int outside_confine(const struct outside_place *places, size_t count,
		    struct err *err)
{
	const struct rlimit none = {0, 0};
	bool is_root = geteuid() == 0;

	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return err_system(err, "confine: no core dumps");
	if (keep_capabilities(kept, is_root ? ARRAY_SIZE(kept) : 0, is_root,
			      err) < 0)
		return -1;
	return leave_files(places, count, err) < 0 ? -1 : filter_calls(err);
}

int outside_confine_look(struct err *err)
{
	static const int looks[] = {CAP_DAC_READ_SEARCH};
	const struct rlimit none = {0, 0};

	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return err_system(err, "confine: no core dumps");
	/* Some have them all, over the sandbox's user namespace alone. */
	if (keep_capabilities(looks, ARRAY_SIZE(looks), false, err) < 0)
		return -1;
	return filter_calls(err);
}
