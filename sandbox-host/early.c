#include "sandbox-host/early.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox-host/control.h"
#include "sandbox-host/init.h"
#include "sandbox-host/namespaces.h"

#define NONE                                                                   \
	{                                                                      \
		.pid = -1,                                                     \
		.pidfd = -1,                                                   \
		.control = -1,                                                 \
		.users = -1,                                                   \
		.identity = {.lock = -1},                                      \
	}

static struct early waits = NONE;
/* It was begun for another kind, and waits for its end. */
static struct early aside = NONE;
static char *waits_title;
static int mounts = -1; /* ours, as they were when it was made */

/* What it began with. */
static struct {
	struct plan plan;
	struct base_shown *shown;
	uint64_t tmpfs_bytes;
} begun;

static void close_one(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

/* It is somebody's, or nobody's. */
static void forget(void)
{
	close_one(&mounts);
	plan_release(&begun.plan);
	waits = (struct early)NONE;
}

static void close_of(struct early *early)
{
	close_one(&early->control);
	close_one(&early->pidfd);
	close_one(&early->users);
	identity_give_back(&early->identity);
}

static void close_all(void)
{
	close_of(&waits);
	forget();
}

/* ---- what it begins with ---- */

static int plan_begin(const struct base *base, struct err *err)
{
	if (sandbox_plan_base(base, &begun.plan, err) < 0)
		return -1;
	begun.shown = arena_array(&begun.plan.arena, begun.plan.step_count,
				  sizeof(*begun.shown));
	if (!begun.shown)
		return err_set(err, ERR_TOO_LARGE, "base: no memory");
	begun.tmpfs_bytes = base->tmpfs_bytes;
	base_look(&begun.plan, begun.shown);
	return 0;
}

/* The next sandbox may need the last of few ids. */
static bool has_enough(struct sandbox_uids uids)
{
	return uids.count == 0 || uids.count >= EARLY_UIDS_MIN;
}

/* Before it is born. False: it begins with nothing. */
static bool begin(const struct early_wish *wish)
{
	struct err err;

	if (!wish->has_base || plan_begin(&wish->base, &err) < 0)
		return false;
	if ((begun.plan.identity.is_privileged && !has_enough(wish->uids)) ||
	    identity_take(&waits.identity, &begun.plan.identity, wish->uids,
			  &err) < 0) {
		identity_give_back(&waits.identity);
		plan_release(&begun.plan);
		return false;
	}
	return true;
}

/* Once it is born; later nobody may look at it. */
static int let_begin(struct err *err)
{
	const struct control_message message = {.kind = CONTROL_MAPPED};

	if (!waits.has_base)
		return 0;
	waits.users = identity_open_namespace(waits.pid, err);
	if (waits.users < 0 ||
	    identity_map(&waits.identity, &begun.plan.identity, waits.pid,
			 err) < 0)
		return -1;
	return control_send(waits.control, &message, NULL, 0, err);
}

/* ---- it ---- */

static int give_birth(const struct early_wish *wish, struct err *err)
{
	struct init init = {
		.agent = wish->agent,
		.title = wish->title,
		.lock = waits.identity.lock,
		.base = waits.has_base ? &begun.plan : NULL,
		.base_tmpfs = begun.tmpfs_bytes,
	};
	int ends[2];

	if (control_pair(ends, err) < 0)
		return -1;
	(void)sigprocmask(SIG_SETMASK, NULL, &init.mask);
	init.control = ends[1];
	waits.control = ends[0];
	waits.pid = namespaces_fork(&waits.pidfd, err);
	if (waits.pid == 0)
		init_run(&init);
	(void)close(ends[1]);
	return waits.pid < 0 ? -1 : 0;
}

void early_make(const struct early_wish *wish)
{
	struct err err;

	if (waits.pid > 0)
		return;
	/* First: what changes from here on is seen. */
	mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	waits_title = wish->title;
	waits.has_base = mounts >= 0 && begin(wish);
	if (mounts < 0 || give_birth(wish, &err) < 0)
		close_all();
	else if (let_begin(&err) < 0)
		early_drop();
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
	close_all();
}

/* What ends takes the kernel some milliseconds, of the same processors and
 * locks that whoever comes instead needs now: so it waits. */
static void put_aside(void)
{
	aside = waits;
	forget();
}

int early_end_aside(void)
{
	if (aside.pid > 0)
		(void)kill(aside.pid, SIGKILL);
	return aside.pidfd;
}

void early_bury_aside(void)
{
	if (aside.pid <= 0)
		return;
	(void)waitpid(aside.pid, NULL, 0);
	close_of(&aside);
	aside = (struct early)NONE;
}

/* Would it have been begun so for this one, now? What ignore files say is in no
 * orders. */
static bool fits(const struct plan *plan, uint64_t tmpfs_bytes)
{
	if (plan->ignore)
		return false;
	return !waits.has_base || (begun.tmpfs_bytes == tmpfs_bytes &&
				   base_begins(&begun.plan, plan) &&
				   base_is_shown(&begun.plan, begun.shown));
}

bool early_take(const struct plan *plan, uint64_t tmpfs_bytes,
		struct early *early, char **title)
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
	if (!fits(plan, tmpfs_bytes)) {
		put_aside();
		return false;
	}
	*early = waits;
	*title = waits_title;
	forget();
	return true;
}
