#include "sandbox-host/outside.h"

#include <cap-ng.h>
#include <errno.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/seccomp.h"

/* Root's: over files of the users that sandboxes have; and to read what a
 * process of ours inside calls with before it execs, which nobody may trace
 * and whose memory is still of the host's user namespace. */
static const int kept[] = {CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH,
			   CAP_FOWNER, CAP_FSETID,	 CAP_SYS_PTRACE};

static int keep_capabilities(const int *list, size_t count,
			     capng_select_t which, struct err *err)
{
	capng_clear(CAPNG_SELECT_ALL);
	for (size_t i = 0; i < count; i++)
		if (capng_update(
			    CAPNG_ADD,
			    (capng_type_t)(CAPNG_EFFECTIVE | CAPNG_PERMITTED),
			    (unsigned)list[i]) < 0)
			return err_set(err, ERR_SYSTEM,
				       "confine: choose capabilities");
	if (capng_apply(which) != 0)
		return err_set(err, ERR_SYSTEM, "confine: drop capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_system(err, "confine: set no_new_privs");
	return 0;
}

#ifdef SP_UNCONFINED
static int filter_calls(struct err *err)
{
	(void)err;
	return 0;
}

void outside_prepare(void)
{
}
#else
/* The filter, once it was compiled. */
static struct seccomp_program prepared;

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
	/* the reporter: what a path in a program's memory says */
	"process_vm_readv",
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

static int compile(struct seccomp_program *program, struct err *err)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int rc = filter ? allow_fork(filter) : -1;

	if (rc == 0)
		rc = allow_sockets(filter);
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(calls); i++) {
		int call = seccomp_syscall_resolve_name(calls[i]);

		if (call != __NR_SCMP_ERROR)
			rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0);
	}
	if (rc < 0)
		err_set(err, ERR_LIBRARY, "confine: filter calls: %d", rc);
	else {
		(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
		rc = seccomp_export(filter, program, err);
	}
	if (filter)
		seccomp_release(filter);
	return rc;
}

static int filter_calls(struct err *err)
{
	if (!prepared.code && compile(&prepared, err) < 0)
		return -1;
	return seccomp_enter(&prepared, err);
}

void outside_prepare(void)
{
	struct err err;

	/* If it fails it is tried again, and said, when it is needed. */
	if (!prepared.code)
		(void)compile(&prepared, &err);
}
#endif

int outside_confine(struct err *err)
{
	const struct rlimit none = {0, 0};
	bool is_root = geteuid() == 0;

	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return err_system(err, "confine: no core dumps");
	if (keep_capabilities(kept, is_root ? ARRAY_SIZE(kept) : 0,
			      is_root ? CAPNG_SELECT_ALL : CAPNG_SELECT_CAPS,
			      err) < 0)
		return -1;
	return filter_calls(err);
}

int outside_confine_look(struct err *err)
{
	static const int looks[] = {CAP_DAC_READ_SEARCH};
	const struct rlimit none = {0, 0};

	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return err_system(err, "confine: no core dumps");
	/* Some have them all, over the sandbox's user namespace alone. */
	if (keep_capabilities(looks, ARRAY_SIZE(looks), CAPNG_SELECT_CAPS,
			      err) < 0)
		return -1;
	return filter_calls(err);
}
