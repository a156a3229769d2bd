#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "sandbox-host/daemon/daemon.h"
#include "sandbox-host/daemon/isolate.h"
#include "sandbox-host/daemon/spare.h"
#include "sandbox-host/overlay.h"
#include "sandbox-host/session/changes.h"
#include "sandbox-host/tree.h"

/* ---- what it says ---- */

static void break_off(struct entry *entry, const char *why)
{
	if (entry->rpc)
		rpc_close(entry->rpc);
	entry->rpc = NULL;
	keep_lost(entry, why);
}

static void answer_state(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	(void)ticket;
	(void)fd;
	if (!entry_follow(owner, message))
		break_off(owner, "it says what can not be");
}

static void answer_events(struct rpc_ticket ticket, const void *message,
			  int *fd, void *owner)
{
	const struct host_events *events = message;

	(void)ticket;
	(void)fd;
	for (size_t i = 0; i < events->events_count; i++)
		entry_add_event(owner, &events->events[i]);
}

static void answer_changed(struct rpc_ticket ticket, const void *message,
			   int *fd, void *owner)
{
	const struct wire_empty empty = {0};

	(void)message;
	(void)fd;
	isolate_change(owner);
	rpc_reply(ticket, &wire_empty_schema, &empty, -1);
}

static void answer_base(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct entry *entry = owner;

	(void)ticket;
	(void)fd;
	spare_expect(entry->daemon, message);
}

static const struct rpc_permit permits[] = {
	{MSG_SUPERVISOR_STATE, &supervisor_state_schema, answer_state, false,
	 0},
	{MSG_SUPERVISOR_EVENTS, &host_events_schema, answer_events, false, 0},
	{MSG_SUPERVISOR_CHANGED, &wire_empty_schema, answer_changed, false, 0},
	{MSG_SUPERVISOR_BASE, &supervisor_base_schema, answer_base, false, 0},
};

static void on_closed(struct rpc *rpc, const char *why, void *owner)
{
	struct entry *entry = owner;

	(void)rpc;
	entry->rpc = NULL;
	if (!state_is_over((enum host_state)entry->sandbox.state))
		keep_lost(entry, why);
}

int keep_open(struct entry *entry, int fd, struct err *err)
{
	const struct rpc_config config = {
		.permits = permits,
		.permit_count = ARRAY_SIZE(permits),
		.owner = entry,
		.on_closed = on_closed,
	};

	entry->rpc = rpc_new(entry->daemon->loop, fd, &config, err);
	return entry->rpc ? 0 : -1;
}

/* ---- its loss ---- */

/* The process that is meant, not one that has its number now. */
static int open_process(const struct entry *entry)
{
	int pidfd;

	if (entry->pid <= 0)
		return -1;
	pidfd = (int)syscall(SYS_pidfd_open, entry->pid, 0);
	if (pidfd >= 0 && record_start_of(entry->pid) == entry->start)
		return pidfd;
	if (pidfd >= 0)
		(void)close(pidfd);
	return -1;
}

void keep_kill(struct entry *entry)
{
	auto_fd int pidfd = open_process(entry);

	if (pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

/* Nobody may commit what is left of an isolated session. */
static void drop_changes(const struct entry *entry)
{
	char path[PATH_MAX];
	struct overlay *overlay;
	struct err err;

	if (changes_path(entry->id, path, &err) < 0)
		return;
	overlay = overlay_open(path, OVERLAY_DROP, &err);
	if (overlay)
		(void)overlay_discard(overlay, &err);
}

static void remove_workspace(const struct entry *entry)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s",
		       entry->daemon->config.workspaces, entry->id);
	if (entry->owns_workspace)
		(void)tree_remove(AT_FDCWD, path);
}

void keep_drop_workspace(const struct entry *entry)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s",
		       entry->daemon->config.workspaces, entry->id);
	if (!entry->owns_workspace || access(path, F_OK) < 0 || fork() != 0)
		return;
	(void)close_range(STDERR_FILENO + 1, ~0u, 0);
	remove_workspace(entry);
	_exit(0);
}

/* It takes a while until the kernel has taken all away: so a child does it. */
void keep_sweep(const struct entry *entry)
{
	char path[PATH_MAX];
	pid_t child = fork();

	if (child < 0)
		log_error("%s: what it left is not swept", entry->id);
	if (child != 0)
		return;
	/* Whoever waits for the end of a channel waits for that of all its
	 * copies. */
	(void)close_range(STDERR_FILENO + 1, ~0u, 0);
	if (entry->pid > 0)
		sandbox_sweep(entry->pid);
	remove_workspace(entry);
	(void)snprintf(path, sizeof(path), "%s/%s" LAYERS_SUFFIX,
		       entry->daemon->config.workspaces, entry->id);
	(void)tree_remove(AT_FDCWD, path);
	if (isolate_is(entry))
		drop_changes(entry);
	_exit(0);
}

/* Somebody wanted its end, and has it: what is left to remove of a workspace
 * that was its own is nobody's. One that was somebody's may lack changes. */
static void end_late(struct entry *entry)
{
	char reason[HOST_REASON_MAX + 1];

	(void)snprintf(reason, sizeof(reason), "%.*s",
		       BYTES_ARGS(entry->sandbox.reason));
	entry_become(entry, HOST_TERMINATED, reason,
		     "what it left is removed now");
}

void keep_lost(struct entry *entry, const char *why)
{
	char message[HOST_MESSAGE_MAX];

	if (state_is_over((enum host_state)entry->sandbox.state))
		return;
	(void)snprintf(message, sizeof(message),
		       "its supervisor is gone, and all inside with it: %s",
		       why);
	keep_kill(entry);
	keep_sweep(entry);
	if (entry->is_late && entry->owns_workspace)
		end_late(entry);
	else
		entry_become(entry, HOST_FAILED, "supervisor_lost", message);
}
