#include "sandbox-host/early.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox-host/control.h"
#include "sandbox-host/init.h"
#include "sandbox-host/namespaces.h"

static struct early waits = {.pid = -1, .pidfd = -1, .control = -1};
static char *waits_title;
static int mounts = -1; /* ours, as they were when it was made */

static void close_mounts(void)
{
	if (mounts >= 0)
		(void)close(mounts);
	mounts = -1;
}

static void forget(void)
{
	close_mounts();
	waits = (struct early){-1, -1, -1};
}

void early_make(sandbox_agent *agent, char *title)
{
	struct init init = {.agent = agent, .title = title, .lock = -1};
	struct err err;
	int ends[2];

	if (waits.pid > 0)
		return;
	/* First: what changes from here on is seen. */
	mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (mounts < 0 || control_pair(ends, &err) < 0) {
		close_mounts();
		return;
	}
	(void)sigprocmask(SIG_SETMASK, NULL, &init.mask);
	init.control = ends[1];
	waits_title = title;
	waits.control = ends[0];
	waits.pid = namespaces_fork(&waits.pidfd, &err);
	if (waits.pid == 0)
		init_run(&init);
	(void)close(ends[1]);
	if (waits.pid > 0)
		return;
	(void)close(ends[0]);
	forget();
}

int early_mounts(void)
{
	return mounts;
}

void early_drop(void)
{
	if (waits.pid <= 0)
		return;
	(void)kill(waits.pid, SIGKILL);
	(void)waitpid(waits.pid, NULL, 0);
	(void)close(waits.control);
	(void)close(waits.pidfd);
	forget();
}

bool early_take(struct early *early, char **title)
{
	struct pollfd news[] = {{.fd = waits.control, .events = POLLIN},
				{.fd = mounts, .events = POLLPRI}};

	if (waits.pid <= 0)
		return false;
	/* It has failed or was killed, or is of mounts that were changed. */
	if (poll(news, 2, 0) != 0) {
		early_drop();
		return false;
	}
	*early = waits;
	*title = waits_title;
	forget();
	return true;
}
