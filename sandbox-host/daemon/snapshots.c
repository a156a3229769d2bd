#include "sandbox-host/daemon/snapshots_copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/digest.h"
#include "common/log.h"
#include "sandbox-host/mounts_overlay.h"
#include "sandbox-host/overlay.h"
#include "sandbox-host/session/changes.h"
#include "sandbox-host/tree.h"

#define DIR_FLAGS	   (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define SNAPSHOT_ARENA_MAX (64 * 1024)
#define ID_PREFIX	   "snap-"
#define REST_TIMEOUT_MS	   10000

/* ---- the record ---- */

int snapshot_open_dir(const struct snapshot *snapshot)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "snapshots/%s", snapshot->id);
	return openat(snapshot->daemon->store_dir, path, DIR_FLAGS);
}

static int write_record(const struct snapshot *snapshot)
{
	auto_type(buf_release) struct buf out;
	auto_fd int dir = snapshot_open_dir(snapshot);
	auto_fd int fd = -1;
	struct bytes text;

	buf_init(&out, RECORD_BYTES_MAX);
	if (dir < 0 || wire_encode(&host_snapshot_schema, &snapshot->shown,
				   &out, NULL) < 0)
		return -1;
	text = buf_view(&out);
	fd = openat(dir, "record.new",
		    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	return fd < 0 || write(fd, text.data, text.len) != (ssize_t)text.len ||
			       renameat(dir, "record.new", dir, "record") < 0
		       ? -1
		       : 0;
}

int snapshot_store(struct snapshot *snapshot, const struct host_snapshot *shown)
{
	auto_type(buf_release) struct buf out;
	struct arena arena, old = snapshot->arena;
	struct host_snapshot copy;
	struct bytes text;

	buf_init(&out, RECORD_BYTES_MAX);
	if (wire_encode(&host_snapshot_schema, shown, &out, NULL) < 0)
		return -1;
	arena_init(&arena, SNAPSHOT_ARENA_MAX);
	text = arena_copy(&arena, buf_view(&out));
	if (text.len != buf_len(&out) ||
	    wire_decode(&host_snapshot_schema, text, &arena, &copy, NULL) < 0) {
		arena_release(&arena);
		return -1;
	}
	snapshot->arena = arena;
	snapshot->shown = copy;
	arena_release(&old);
	return write_record(snapshot);
}

/* ---- the list ---- */

struct snapshot *snapshots_find(const struct daemon *daemon, struct bytes id)
{
	struct snapshot *snapshot;

	DL_FOREACH(daemon->snapshots, snapshot)
	if (bytes_is(id, snapshot->id))
		return snapshot;
	return NULL;
}

static struct snapshot *add(struct daemon *daemon, const char *id)
{
	struct snapshot *snapshot = calloc(1, sizeof(*snapshot));

	if (!snapshot)
		return NULL;
	snapshot->daemon = daemon;
	arena_init(&snapshot->arena, SNAPSHOT_ARENA_MAX);
	(void)snprintf(snapshot->id, sizeof(snapshot->id), "%s", id);
	DL_PREPEND(daemon->snapshots, snapshot);
	return snapshot;
}

static void drop(struct snapshot *snapshot)
{
	DL_DELETE(snapshot->daemon->snapshots, snapshot);
	snapshot_drop_readers(snapshot);
	arena_release(&snapshot->arena);
	free(snapshot);
}

static void sweep(const struct snapshot *snapshot)
{
	char path[PATH_MAX];
	pid_t child = fork();

	if (child != 0)
		return;
	(void)close_range(STDERR_FILENO + 1, ~0u, 0);
	(void)snprintf(path, sizeof(path), "%s/snapshots/%s",
		       snapshot->daemon->config.store.path, snapshot->id);
	(void)tree_remove(AT_FDCWD, path);
	_exit(0);
}

void snapshots_remove(struct snapshot *snapshot)
{
	struct host_snapshot shown = snapshot->shown;

	/* Should we end before it is gone, the next daemon goes on. */
	shown.state = SNAPSHOT_DELETING;
	(void)snapshot_store(snapshot, &shown);
	/* Whoever begins with it has all of it first. */
	if (snapshot->readers)
		return;
	sweep(snapshot);
	drop(snapshot);
}

/* ---- restarts ---- */

static int load(struct snapshot *snapshot)
{
	auto_free uint8_t *bytes = malloc(RECORD_BYTES_MAX);
	auto_type(arena_release) struct arena arena;
	auto_fd int dir = snapshot_open_dir(snapshot);
	auto_fd int fd = -1;
	struct host_snapshot shown;
	ssize_t len = -1;

	arena_init(&arena, SNAPSHOT_ARENA_MAX);
	if (dir >= 0)
		fd = openat(dir, "record", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0 && bytes)
		len = read(fd, bytes, RECORD_BYTES_MAX);
	if (len < 0 ||
	    wire_decode(&host_snapshot_schema, bytes_from(bytes, (size_t)len),
			&arena, &shown, NULL) < 0 ||
	    !bytes_is(shown.id, snapshot->id))
		return -1;
	return snapshot_store(snapshot, &shown);
}

static void fail(struct snapshot *snapshot, const char *message);

static void take_up(struct daemon *daemon, const char *name)
{
	struct snapshot *snapshot = add(daemon, name);

	if (!snapshot)
		return;
	if (load(snapshot) < 0) {
		log_warn("%s: it has no record: removed", name);
		sweep(snapshot);
		drop(snapshot);
	} else if (snapshot->shown.state == SNAPSHOT_DELETING) {
		snapshots_remove(snapshot);
	} else if (snapshot->shown.state == SNAPSHOT_CREATING) {
		fail(snapshot, "the daemon ended while it was made");
	}
}

static int by_age(const struct snapshot *one, const struct snapshot *other)
{
	if (one->shown.created_ms == other->shown.created_ms)
		return strcmp(one->id, other->id);
	return one->shown.created_ms > other->shown.created_ms ? -1 : 1;
}

int snapshots_open(struct daemon *daemon, struct err *err)
{
	DIR *dir;
	struct dirent *item;
	int fd;

	if (mkdirat(daemon->store_dir, "snapshots", 0700) < 0 &&
	    errno != EEXIST)
		return err_system(err, "make the store");
	fd = openat(daemon->store_dir, "snapshots", DIR_FLAGS);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		if (fd >= 0)
			(void)close(fd);
		return err_system(err, "list the snapshots");
	}
	while ((item = readdir(dir)))
		if (!strncmp(item->d_name, ID_PREFIX, strlen(ID_PREFIX)) &&
		    strlen(item->d_name) <= HOST_ID_MAX)
			take_up(daemon, item->d_name);
	(void)closedir(dir);
	DL_SORT(daemon->snapshots, by_age);
	return 0;
}

void snapshots_close(struct daemon *daemon)
{
	struct snapshot *snapshot, *next;

	DL_FOREACH_SAFE(daemon->snapshots, snapshot, next)
	{
		if (snapshot->has_ticket)
			rpc_refuse(snapshot->ticket, HOST_REFUSED_UNREACHABLE,
				   "the daemon ends");
		drop(snapshot);
	}
}

/* ---- making one ---- */

static void begin_next(void *owner);

static void become(struct snapshot *snapshot, enum snapshot_state state,
		   const char *message, uint64_t bytes)
{
	struct host_snapshot shown = snapshot->shown;

	snapshot->is_begun = snapshot->is_copied = snapshot->is_free = false;
	(void)io_loop_defer(snapshot->daemon->loop, begin_next,
			    snapshot->daemon);

	shown.state = (uint8_t)state;
	shown.message = bytes_str(message);
	shown.bytes = bytes;
	if (snapshot_store(snapshot, &shown) < 0)
		log_error("%s: its record can not be written", snapshot->id);
	log_info("%s: %s%s%s", snapshot->id, snapshot_state_name(state),
		 message[0] ? ": " : "", message);
	if (!snapshot->has_ticket)
		return;
	snapshot->has_ticket = false;
	if (state == SNAPSHOT_READY)
		rpc_reply(snapshot->ticket, &host_snapshot_schema,
			  &snapshot->shown, -1);
	else
		rpc_refuse(snapshot->ticket, HOST_REFUSED, "%s: %s",
			   snapshot->id, message);
}

static void tell_settled(struct snapshot *snapshot)
{
	become(snapshot, snapshot->end, snapshot->why, snapshot->bytes);
}

static void on_rests_again(struct rpc_outcome *outcome, void *owner)
{
	(void)outcome;
	tell_settled(owner);
}

/* Its supervisor is asked to let it rest, or go on. */
static int ask_rest(struct snapshot *snapshot, uint16_t type,
		    rpc_outcome_fn *on_outcome, struct err *err)
{
	const struct wire_empty empty = {0};
	const struct rpc_call call = {
		.type = type,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = REST_TIMEOUT_MS,
		.on_outcome = on_outcome,
		.owner = snapshot,
	};
	struct entry *entry =
		entry_find(snapshot->daemon, snapshot->shown.sandbox);

	if (!entry || !entry->rpc)
		return err_set(err, ERR_CLOSED, "the sandbox is gone");
	return rpc_ask(entry->rpc, &call, NULL, err);
}

static void on_resumed(struct rpc_outcome *outcome, void *owner)
{
	struct snapshot *snapshot = owner;
	struct err err;

	(void)outcome;
	snapshot->is_free = true;
	if (!snapshot->rests_again ||
	    ask_rest(snapshot, MSG_SUPERVISOR_PAUSE, on_rests_again, &err) < 0)
		tell_settled(snapshot);
}

/* One that rested for us only goes on, and then this is told. */
static void settle(struct snapshot *snapshot, enum snapshot_state state,
		   const char *message, uint64_t bytes)
{
	struct entry *entry =
		entry_find(snapshot->daemon, snapshot->shown.sandbox);
	struct err err = {0};

	snapshot->is_copied = true;
	snapshot->rests_again = snapshot->is_free = false;
	snapshot->end = state;
	snapshot->bytes = bytes;
	(void)snprintf(snapshot->why, sizeof(snapshot->why), "%s", message);
	if (!snapshot->shown.was_running || !entry || !entry->rpc) {
		tell_settled(snapshot);
	} else if (ask_rest(snapshot, MSG_SUPERVISOR_RESUME, on_resumed, &err) <
		   0) {
		log_error("%s: %s", entry->id, err.text);
		tell_settled(snapshot);
	}
}

bool snapshots_wish(const struct entry *entry, bool rests)
{
	struct snapshot *snapshot;
	struct host_snapshot shown;

	DL_FOREACH(entry->daemon->snapshots, snapshot)
	if (snapshot->is_begun && !snapshot->is_free &&
	    bytes_is(snapshot->shown.sandbox, entry->id))
		break;
	/* What rests for us alone is not told to by anybody else. */
	if (!snapshot || (rests && !snapshot->shown.was_running))
		return false;
	/* It is being told to go on. */
	if (snapshot->is_copied) {
		snapshot->rests_again = rests;
		return true;
	}
	shown = snapshot->shown;
	shown.was_running = !rests;
	return snapshot_store(snapshot, &shown) == 0;
}

static void fail(struct snapshot *snapshot, const char *message)
{
	snapshot_remove_parts(snapshot);
	settle(snapshot, SNAPSHOT_FAILED, message, 0);
}

/* What all others leave: one is made at a time. */
static uint64_t bytes_left(const struct daemon *daemon)
{
	const struct snapshot *snapshot;
	uint64_t used = 0;

	DL_FOREACH(daemon->snapshots, snapshot)
	used += snapshot->shown.bytes;
	return used < daemon->config.store.snapshot_bytes
		       ? daemon->config.store.snapshot_bytes - used
		       : 0;
}

static void on_copied(const struct job_result *result, void *owner)
{
	struct snapshot *snapshot = owner;

	if (result->is_done)
		settle(snapshot, SNAPSHOT_READY, "", result->bytes);
	else
		fail(snapshot, result->message);
}

static int begin_copy(struct snapshot *snapshot, struct err *err)
{
	return snapshot_copy(snapshot, bytes_left(snapshot->daemon), on_copied,
			     err);
}

static void on_rest(struct rpc_outcome *outcome, void *owner)
{
	struct snapshot *snapshot = owner;
	char message[JOB_MESSAGE_SIZE];
	struct bytes why = {0};
	struct err err;

	/* Unanswered it may rest yet: the next daemon, or we, resume it. */
	if (outcome->err && snapshot->daemon->is_draining)
		return;
	if (outcome->refusal || outcome->err) {
		why = outcome->refusal ? outcome->refusal->detail
				       : bytes_str(outcome->err->text);
		snapshot->shown.was_running = !outcome->refusal;
		(void)snprintf(message, sizeof(message),
			       "it does not rest: %.*s", BYTES_ARGS(why));
		fail(snapshot, message);
	} else if (begin_copy(snapshot, &err) < 0) {
		fail(snapshot, err.text);
	}
}

static int begin(struct snapshot *snapshot, struct err *err)
{
	const struct entry *entry =
		entry_find(snapshot->daemon, snapshot->shown.sandbox);
	struct host_snapshot shown = snapshot->shown;

	if (!entry || !entry->rpc)
		return err_set(err, ERR_CLOSED, "the sandbox is gone");
	if (entry->sandbox.state == HOST_PAUSED)
		return begin_copy(snapshot, err);
	if (entry->sandbox.state != HOST_RUNNING)
		return err_set(
			err, ERR_INVALID, "the sandbox is %s",
			host_state_name((enum host_state)entry->sandbox.state));
	/* From here on it is to be told to go on, by whomever. */
	shown.was_running = true;
	if (snapshot_store(snapshot, &shown) < 0)
		return err_system(err, "write the record");
	return ask_rest(snapshot, MSG_SUPERVISOR_PAUSE, on_rest, err);
}

/* The oldest that waits, while none is made. */
static void begin_next(void *owner)
{
	const struct daemon *daemon = owner;
	struct snapshot *snapshot, *oldest = NULL;
	struct err err;

	DL_FOREACH(daemon->snapshots, snapshot)
	{
		if (snapshot->is_begun)
			return;
		if (snapshot->shown.state == SNAPSHOT_CREATING)
			oldest = snapshot;
	}
	if (!oldest)
		return;
	oldest->is_begun = true;
	if (begin(oldest, &err) == 0)
		return;
	oldest->shown.was_running = false;
	fail(oldest, err.text);
}

static int make(struct snapshot *snapshot, const struct host_snapshot *shown,
		struct err *err)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "snapshots/%s", snapshot->id);
	if (mkdirat(snapshot->daemon->store_dir, path, 0700) < 0 ||
	    snapshot_store(snapshot, shown) < 0)
		return err_system(err, "make a snapshot");
	return 0;
}

void snapshots_begin(struct entry *entry,
		     const struct host_snapshot_request *request, uid_t owner,
		     struct rpc_ticket ticket)
{
	char id[HOST_ID_MAX + 1] = ID_PREFIX;
	struct snapshot *snapshot;
	struct host_snapshot shown = {
		.name = request->name,
		.sandbox = bytes_str(entry->id),
		.state = SNAPSHOT_CREATING,
		.created_ms = clock_wall_ms(),
		.image = entry->sandbox.image,
		.owner_uid = owner,
	};
	struct err err;

	random_id(id + strlen(id));
	shown.id = bytes_str(id);
	snapshot = add(entry->daemon, id);
	if (!snapshot) {
		rpc_refuse(ticket, HOST_REFUSED_FULL, "no memory");
		return;
	}
	if (make(snapshot, &shown, &err) < 0) {
		sweep(snapshot);
		drop(snapshot);
		rpc_refuse(ticket, HOST_REFUSED, "%s", err.text);
		return;
	}
	if (request->waits) {
		snapshot->ticket = ticket;
		snapshot->has_ticket = true;
		rpc_ticket_hold(ticket);
	} else {
		rpc_reply(ticket, &host_snapshot_schema, &snapshot->shown, -1);
	}
	begin_next(snapshot->daemon);
}
