#include "sandbox-host/namespaces.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Linux 5.5; a header that has it clashes with the C library's sched.h. */
#ifndef CLONE_CLEAR_SIGHAND
#define CLONE_CLEAR_SIGHAND 0x100000000ull
#endif

static int refuse(struct err *err)
{
	if (errno == EPERM || errno == ENOSPC || errno == EUSERS)
		return err_system(err,
				  "namespaces: this host does not let this "
				  "user make them (sallyport doctor says what "
				  "to change)");
	return err_system(err, "namespaces: make them");
}

pid_t namespaces_fork(int *pidfd, struct err *err)
{
	struct clone_args args = {
		.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
			 CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
			 CLONE_PIDFD | CLONE_CLEAR_SIGHAND,
		.pidfd = (uint64_t)(uintptr_t)pidfd,
		.exit_signal = SIGCHLD,
	};
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	return pid >= 0 ? pid : refuse(err);
}

int namespaces_enter_network(struct err *err)
{
	return syscall(SYS_unshare, CLONE_NEWNET) < 0 ? refuse(err) : 0;
}
