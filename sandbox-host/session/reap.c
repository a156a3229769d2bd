#include "sandbox-host/session/reap.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"

void reap_within(pid_t child, int ms)
{
	auto_fd int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	struct pollfd end = {.fd = pidfd, .events = POLLIN};

	if (pidfd < 0 || poll(&end, 1, ms) != 1)
		(void)kill(child, SIGKILL);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}
