#include "sandbox-host/daemon/snapshots.h"

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
#define PARTS		   3
#define REST_TIMEOUT_MS	   10000

/* What there may be of a sandbox, and of a snapshot of it. */
static const struct part {
	const char *name; /* in the snapshot */
	const char *kind; /* sallyport-store copy */
} parts[PARTS] = {
	{"root", "layer"}, {"workspace", "tree"}, {"changes", "layer"}};

/* ---- the record ---- */

static int open_dir(const struct snapshot *snapshot)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "snapshots/%s", snapshot->id);
	return openat(snapshot->daemon->store_dir, path, DIR_FLAGS);
}

static int write_record(const struct snapshot *snapshot)
{
	auto_type(buf_release) struct buf out;
	auto_fd int dir = open_dir(snapshot);
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

/* Become a copy of *shown, here and in the record. 0, or -1. */
static int store(struct snapshot *snapshot, const struct host_snapshot *shown)
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
	(void)store(snapshot, &shown);
	sweep(snapshot);
	drop(snapshot);
}

/* ---- restarts ---- */

static int load(struct snapshot *snapshot)
{
	auto_free uint8_t *bytes = malloc(RECORD_BYTES_MAX);
	auto_type(arena_release) struct arena arena;
	auto_fd int dir = open_dir(snapshot);
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
	return store(snapshot, &shown);
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

static void become(struct snapshot *snapshot, enum snapshot_state state,
		   const char *message, uint64_t bytes)
{
	struct host_snapshot shown = snapshot->shown;

	shown.state = (uint8_t)state;
	shown.message = bytes_str(message);
	shown.bytes = bytes;
	if (store(snapshot, &shown) < 0)
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

static void on_resumed(struct rpc_outcome *outcome, void *owner)
{
	struct snapshot *snapshot = owner;

	(void)outcome;
	become(snapshot, snapshot->end, snapshot->why, snapshot->bytes);
}

/* One that rested for us only goes on, and then this is told. */
static void settle(struct snapshot *snapshot, enum snapshot_state state,
		   const char *message, uint64_t bytes)
{
	const struct wire_empty empty = {0};
	const struct rpc_call call = {
		.type = MSG_SUPERVISOR_RESUME,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = REST_TIMEOUT_MS,
		.on_outcome = on_resumed,
		.owner = snapshot,
	};
	struct entry *entry =
		entry_find(snapshot->daemon, snapshot->shown.sandbox);
	struct err err = {0};

	snapshot->end = state;
	snapshot->bytes = bytes;
	(void)snprintf(snapshot->why, sizeof(snapshot->why), "%s", message);
	if (!snapshot->shown.was_running || !entry || !entry->rpc) {
		become(snapshot, state, message, bytes);
	} else if (rpc_ask(entry->rpc, &call, NULL, &err) < 0) {
		log_error("%s: %s", entry->id, err.text);
		become(snapshot, state, message, bytes);
	}
}

static void remove_parts(const struct snapshot *snapshot)
{
	auto_fd int dir = open_dir(snapshot);

	for (size_t i = 0; dir >= 0 && i < PARTS; i++)
		(void)tree_remove(dir, parts[i].name);
}

static void fail(struct snapshot *snapshot, const char *message)
{
	remove_parts(snapshot);
	settle(snapshot, SNAPSHOT_FAILED, message, 0);
}

static void on_copied(const struct job_result *result, void *owner)
{
	struct snapshot *snapshot = owner;

	if (result->is_done)
		settle(snapshot, SNAPSHOT_READY, "", result->bytes);
	else
		fail(snapshot, result->message);
}

/* Where part number i of a sandbox is. False: it has none. */
static bool place_of(const struct daemon *daemon, const char *id, size_t i,
		     char out[PATH_MAX])
{
	const char *works = daemon->config.workspaces;
	char changes[PATH_MAX];
	struct err err;
	int len;

	if (i == 2) {
		if (changes_path(id, changes, &err) < 0)
			return false;
		len = snprintf(out, PATH_MAX,
			       "%s/" OVERLAY_LAYERS "/" MOUNTS_UPPER, changes);
	} else {
		len = snprintf(out, PATH_MAX, i == 0 ? "%s/%s%s" : "%s/%s",
			       works, id, LAYERS_SUFFIX "/" MOUNTS_UPPER);
	}
	return len > 0 && len < PATH_MAX;
}

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

/* The two ends of one part: what is copied, and where to, made. 0: it has
 * none, 1, or -1. */
static int open_part(struct job *job, int from_at, const char *from, int to_at,
		     const char *to, const char *kind)
{
	int source = openat(from_at, from, DIR_FLAGS);
	struct stat st;
	int target;

	if (source < 0)
		return errno == ENOENT ? 0 : -1;
	if (mkdirat(to_at, to, 0700) < 0 && errno != EEXIST) {
		(void)close(source);
		return -1;
	}
	target = openat(to_at, to, DIR_FLAGS);
	if (target < 0 || fstat(source, &st) < 0 ||
	    (geteuid() == 0 && fchown(target, st.st_uid, st.st_gid) < 0) ||
	    fchmod(target, (st.st_mode & 0777) | 0700) < 0) {
		(void)close(source);
		if (target >= 0)
			(void)close(target);
		return -1;
	}
	job->fds[job->fd_count++] = source;
	job->fds[job->fd_count++] = target;
	job->words[job->word_count++] = kind;
	return 1;
}

static void close_parts(const struct job *job)
{
	for (size_t i = 0; i < job->fd_count; i++)
		(void)close(job->fds[i]);
}

static int begin_copy(struct snapshot *snapshot, struct err *err)
{
	const struct daemon *daemon = snapshot->daemon;
	struct entry *entry = entry_find(daemon, snapshot->shown.sandbox);
	struct host_snapshot shown = snapshot->shown;
	auto_fd int dir = open_dir(snapshot);
	struct job job = {.what = "copy",
			  .bytes_max = bytes_left(daemon),
			  .on_end = on_copied,
			  .owner = snapshot};
	char path[PATH_MAX];
	bool has[PARTS] = {false};
	int rc = 0;

	if (!entry || dir < 0)
		return err_set(err, ERR_CLOSED, "the sandbox is gone");
	for (size_t i = 0; rc == 0 && i < PARTS; i++) {
		int got = (i == 1 && !entry->owns_workspace) ||
					  !place_of(daemon, entry->id, i, path)
				  ? 0
				  : open_part(&job, AT_FDCWD, path, dir,
					      parts[i].name, parts[i].kind);

		has[i] = got == 1;
		rc = got < 0 ? err_system(err, "open %s", path) : 0;
	}
	shown.has_workspace = has[1];
	shown.has_changes = has[2];
	if (rc == 0 && job.word_count == 0)
		rc = err_set(err, ERR_INVALID,
			     "there is nothing of its own in it: no image, no "
			     "workspace and no overlay");
	if (rc == 0 && store(snapshot, &shown) < 0)
		rc = err_system(err, "write the record");
	if (rc == 0)
		rc = job_start(daemon->loop, &job, err);
	close_parts(&job);
	return rc;
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

static int begin(struct snapshot *snapshot, struct entry *entry,
		 struct err *err)
{
	const struct wire_empty empty = {0};
	const struct rpc_call call = {
		.type = MSG_SUPERVISOR_PAUSE,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = REST_TIMEOUT_MS,
		.on_outcome = on_rest,
		.owner = snapshot,
	};

	if (!snapshot->shown.was_running)
		return begin_copy(snapshot, err);
	return rpc_ask(entry->rpc, &call, NULL, err);
}

static int make(struct snapshot *snapshot, const struct host_snapshot *shown,
		struct err *err)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "snapshots/%s", snapshot->id);
	if (mkdirat(snapshot->daemon->store_dir, path, 0700) < 0 ||
	    store(snapshot, shown) < 0)
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
		.was_running = entry->sandbox.state == HOST_RUNNING,
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
	if (begin(snapshot, entry, &err) < 0) {
		snapshot->shown.was_running = false;
		fail(snapshot, err.text);
	}
}

/* ---- beginning with one ---- */

int snapshots_check(const struct snapshot *snapshot,
		    const struct sandbox_request *request, struct err *err)
{
	const struct host_snapshot *shown = &snapshot->shown;

	if (shown->state != SNAPSHOT_READY)
		return err_set(
			err, ERR_INVALID, "snapshot %s is %s", snapshot->id,
			snapshot_state_name((enum snapshot_state)shown->state));
	if (request->image.len && !bytes_equal(request->image, shown->image))
		return err_set(err, ERR_INVALID,
			       "snapshot %s is of another image", snapshot->id);
	if (shown->has_workspace && request->workspace.len)
		return err_set(err, ERR_INVALID,
			       "snapshot %s brings a workspace along",
			       snapshot->id);
	if (shown->has_changes && !request->workspace.len)
		return err_set(err, ERR_INVALID,
			       "snapshot %s is of changes in a workspace: name "
			       "it",
			       snapshot->id);
	return 0;
}

/* The directories above a part, which are ours; ownership of the part itself
 * is the copy's. */
static int make_above(const char *path, struct err *err)
{
	char above[PATH_MAX];
	char *end;

	(void)snprintf(above, sizeof(above), "%s", path);
	end = strrchr(above, '/');
	*end = '\0';
	if (mkdir(above, 0700) == 0 || errno == EEXIST)
		return 0;
	if (errno != ENOENT || make_above(above, err) < 0 ||
	    mkdir(above, 0700) < 0)
		return err_system(err, "make %s", above);
	return 0;
}

int snapshots_restore(const struct snapshot *snapshot, const char *id,
		      void (*on_end)(const struct job_result *result,
				     void *owner),
		      void *owner, struct err *err)
{
	const struct daemon *daemon = snapshot->daemon;
	struct job job = {.what = "copy",
			  .bytes_max = JOB_BYTES_MAX,
			  .on_end = on_end,
			  .owner = owner};
	auto_fd int dir = open_dir(snapshot);
	char path[PATH_MAX];
	int rc = dir < 0 ? err_system(err, "open the snapshot") : 0;

	for (size_t i = 0; rc == 0 && i < PARTS; i++) {
		if (faccessat(dir, parts[i].name, F_OK, AT_SYMLINK_NOFOLLOW) <
		    0)
			continue;
		if (!place_of(daemon, id, i, path) ||
		    make_above(path, err) < 0 ||
		    open_part(&job, dir, parts[i].name, AT_FDCWD, path,
			      parts[i].kind) < 0)
			rc = err_system(err, "make %s", path);
	}
	if (rc == 0)
		rc = job_start(daemon->loop, &job, err);
	close_parts(&job);
	return rc;
}
