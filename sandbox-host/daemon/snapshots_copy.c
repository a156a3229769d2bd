#include "sandbox-host/daemon/snapshots_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "sandbox-host/mounts_overlay.h"
#include "sandbox-host/overlay.h"
#include "sandbox-host/session/changes.h"
#include "sandbox-host/tree.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define PARTS	  3

/* What there may be of a sandbox, and of a snapshot of it. */
static const struct part {
	const char *name; /* in the snapshot */
	const char *kind; /* sallyport-store copy */
} parts[PARTS] = {
	{"root", "layer"}, {"workspace", "tree"}, {"changes", "layer"}};

void snapshot_remove_parts(const struct snapshot *snapshot)
{
	auto_fd int dir = snapshot_open_dir(snapshot);

	for (size_t i = 0; dir >= 0 && i < PARTS; i++)
		(void)tree_remove(dir, parts[i].name);
}

/* ---- making one ---- */

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

/* The two ends of one part: what is copied, and where to, made. 0: it has
 * none, 1, or -1. */
static int open_part(struct job *job, int from_at, const char *from, int to_at,
		     const char *to, const char *kind)
{
	/* What copies it opens it for that time (store/copy.c). */
	int source = tree_open(from_at, from);
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

int snapshot_copy(struct snapshot *snapshot, uint64_t bytes_max,
		  void (*on_end)(const struct job_result *result, void *owner),
		  struct err *err)
{
	const struct daemon *daemon = snapshot->daemon;
	struct entry *entry = entry_find(daemon, snapshot->shown.sandbox);
	struct host_snapshot shown = snapshot->shown;
	auto_fd int dir = snapshot_open_dir(snapshot);
	struct job job = {.what = "copy",
			  .bytes_max = bytes_max,
			  .on_end = on_end,
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
	if (rc == 0 && snapshot_store(snapshot, &shown) < 0)
		rc = err_system(err, "write the record");
	if (rc == 0)
		rc = job_start(daemon->loop, &job, err);
	close_parts(&job);
	return rc;
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

/* One that begins with it. */
struct snapshot_reader {
	struct snapshot *snapshot;
	void (*on_end)(const struct job_result *result, void *owner);
	void *owner;
	struct snapshot_reader *next, *prev;
};

void snapshot_drop_readers(struct snapshot *snapshot)
{
	struct snapshot_reader *reader, *next;

	DL_FOREACH_SAFE(snapshot->readers, reader, next)
	free(reader);
	snapshot->readers = NULL;
}

static void on_read(const struct job_result *result, void *owner)
{
	struct snapshot_reader *reader = owner;
	struct snapshot_reader was = *reader;

	DL_DELETE(was.snapshot->readers, reader);
	free(reader);
	/* It was removed meanwhile. */
	if (was.snapshot->shown.state == SNAPSHOT_DELETING)
		snapshots_remove(was.snapshot);
	was.on_end(result, was.owner);
}

void snapshots_break_off(const struct daemon *daemon, const void *owner)
{
	const struct snapshot *snapshot;
	const struct snapshot_reader *reader;

	DL_FOREACH(daemon->snapshots, snapshot)
	DL_FOREACH(snapshot->readers, reader)
	if (reader->owner == owner)
		job_break_off(reader);
}

int snapshots_restore(struct snapshot *snapshot, const char *id,
		      void (*on_end)(const struct job_result *result,
				     void *owner),
		      void *owner, struct err *err)
{
	const struct daemon *daemon = snapshot->daemon;
	auto_free struct snapshot_reader *reader = calloc(1, sizeof(*reader));
	struct job job = {.what = "copy",
			  .bytes_max = JOB_BYTES_MAX,
			  .on_end = on_read,
			  .owner = reader};
	auto_fd int dir = snapshot_open_dir(snapshot);
	char path[PATH_MAX];
	int rc = dir < 0 ? err_system(err, "open the snapshot") : 0;

	if (!reader)
		return err_set(err, ERR_TOO_LARGE, "no memory");
	*reader = (struct snapshot_reader){snapshot, on_end, owner, NULL, NULL};
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
	if (rc < 0)
		return -1;
	DL_APPEND(snapshot->readers, reader);
	(void)take_ptr(&reader);
	return 0;
}
