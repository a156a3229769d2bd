/* Sandboxes that an earlier daemon left: those whose supervisor still answers
 * go on, the others are over. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "sandbox-host/daemon/daemon.h"
#include "sandbox-host/tree.h"

#define READ_ARENA_MAX (1024 * 1024)

/* To the supervisor: whoever else listens there is not it. Where the record is
 * lost, its process is the one that does. */
static int connect_to(struct entry *entry)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct ucred who = {0};
	socklen_t size = sizeof(who);
	auto_fd int fd = socket(
		AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path),
		       "/proc/self/fd/%d/" FILE_SOCKET, entry->dir);
	if (fd < 0 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0 ||
	    who.uid != geteuid() || (entry->pid > 0 && who.pid != entry->pid))
		return -1;
	if (entry->pid == 0) {
		entry->pid = who.pid;
		entry->start = record_start_of(who.pid);
	}
	return take_fd(&fd);
}

static void on_shown(struct rpc_outcome *outcome, void *owner)
{
	struct entry *entry = owner;
	const struct supervisor_state *state = outcome->message;

	if (outcome->err || !entry->rpc)
		return;
	/* Much may have happened while nobody listened; an end is reached as
	 * ends are. */
	if (entry->sandbox.state != state->state &&
	    !state_is_over((enum host_state)entry->sandbox.state))
		entry->sandbox.state =
			state_is_over((enum host_state)state->state)
				? HOST_STOPPING
				: state->state;
	(void)entry_follow(entry, state);
}

static int ask_show(struct entry *entry, struct err *err)
{
	const struct wire_empty empty = {0};
	const struct rpc_call call = {
		.type = MSG_SUPERVISOR_SHOW,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = -1,
		.reply_schema = &supervisor_state_schema,
		.timeout_ms = SUPERVISOR_TIMEOUT_MS,
		.on_outcome = on_shown,
		.owner = entry,
	};

	return rpc_ask(entry->rpc, &call, NULL, err);
}

/* ---- one ---- */

/* It ended while there was no daemon: as it says, or as it could not. */
static void conclude(struct entry *entry)
{
	auto_type(arena_release) struct arena arena;
	struct supervisor_state state;
	struct err err;

	arena_init(&arena, READ_ARENA_MAX);
	if (record_read_end(entry->dir, &arena, &state, &err) == 0 &&
	    state_is_over((enum host_state)state.state)) {
		/* It went through this, unseen. */
		entry->sandbox.state = HOST_STOPPING;
		if (entry_follow(entry, &state))
			return;
	}
	keep_lost(entry, "it ended while no daemon was there");
}

static int take_record(struct entry *entry, struct err *err)
{
	auto_type(arena_release) struct arena arena;
	struct host_sandbox unknown = {
		.id = bytes_str(entry->id),
		.state = HOST_RUNNING,
		.reason = bytes_str("record_damaged"),
	};
	struct record record;

	arena_init(&arena, READ_ARENA_MAX);
	if (record_read(entry->dir, &arena, &record, err) == 0 &&
	    bytes_is(record.sandbox->id, entry->id)) {
		entry->pid = (pid_t)record.supervisor_pid;
		entry->start = record.supervisor_start;
		entry->owns_workspace = record.owns_workspace;
		entry->is_pooled = record.is_pooled;
		entry->is_bounded = record.is_bounded;
		entry->pool = POOL_UNKNOWN;
		return entry_store(entry, record.sandbox, err);
	}
	log_warn("%s: its record is lost: %s", entry->id, err->text);
	entry->owns_workspace = true;
	/* Nobody knows who asked for it. */
	entry->is_bounded = true;
	return entry_store(entry, &unknown, err);
}

static void reach(struct entry *entry)
{
	int fd = connect_to(entry);
	struct err err;

	if (fd < 0 || keep_open(entry, fd, &err) < 0 ||
	    ask_show(entry, &err) < 0) {
		if (entry->rpc)
			rpc_close(entry->rpc);
		entry->rpc = NULL;
		conclude(entry);
		return;
	}
	log_info("%s: found, %s", entry->id,
		 host_state_name((enum host_state)entry->sandbox.state));
}

static void adopt(struct daemon *daemon, const char *id)
{
	int dir = openat(daemon->sandboxes_dir, id,
			 O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct entry *entry = dir < 0 ? NULL : entry_new(daemon, id, dir);
	struct err err = {0};

	if (!entry) {
		log_warn("%s: it is no sandbox's directory", id);
		return;
	}
	if (take_record(entry, &err) < 0) {
		log_error("%s: %s", id, err.text);
		entry_free(entry);
		return;
	}
	entry_insert(entry);
	if (!state_is_over((enum host_state)entry->sandbox.state))
		reach(entry);
}

/* ---- all ---- */

static bool is_id(const char *name)
{
	size_t len = strlen(name);

	return len > 3 && len <= HOST_ID_MAX && !strncmp(name, "sb-", 3) &&
	       strspn(name + 3, "abcdefghijklmnopqrstuvwxyz234567") == len - 3;
}

static int by_age(const struct entry *one, const struct entry *other)
{
	if (one->sandbox.created_ms == other->sandbox.created_ms)
		return strcmp(one->id, other->id);
	return one->sandbox.created_ms > other->sandbox.created_ms ? -1 : 1;
}

int adopt_all(struct daemon *daemon, struct err *err)
{
	int fd = openat(daemon->sandboxes_dir, ".",
			O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *item;

	if (!dir) {
		if (fd >= 0)
			(void)close(fd);
		return err_system(err, "list the sandboxes");
	}
	while ((item = readdir(dir)))
		if (is_id(item->d_name))
			adopt(daemon, item->d_name);
	(void)closedir(dir);
	DL_SORT(daemon->entries, by_age);
	return 0;
}
