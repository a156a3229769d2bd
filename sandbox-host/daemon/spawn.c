#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/digest.h"
#include "common/log.h"
#include "sandbox-host/daemon/images.h"
#include "sandbox-host/daemon/jobs.h"
#include "sandbox-host/daemon/snapshots.h"
#include "sandbox-host/daemon/spare.h"
#include "sandbox-host/tree.h"

/* ---- its directory ---- */

static int make_dir(struct daemon *daemon, const char *id, struct err *err)
{
	int dir;

	if (mkdirat(daemon->sandboxes_dir, id, 0700) < 0)
		return err_system(err, "make the directory of a sandbox");
	dir = openat(daemon->sandboxes_dir, id,
		     O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return dir < 0 ? err_system(err, "open the directory of a sandbox")
		       : dir;
}

/* By its descriptor: the path may be longer than a socket's address. */
static int bind_socket(int dir, struct err *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	auto_fd int fd = socket(
		AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path),
		       "/proc/self/fd/%d/" FILE_SOCKET, dir);
	if (fd < 0 ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return err_system(err, "make the socket of a sandbox");
	return take_fd(&fd);
}

/* ---- its process ---- */

static int start(struct entry *entry, const struct image_root *image,
		 int request_fd, struct err *err)
{
	const struct birth birth = {
		.id = bytes_str(entry->id),
		.image = bytes_str(image->path),
		.image_settings = bytes_str(image->settings),
		.image_is_read_only = image->is_read_only,
		.is_bounded = entry->is_bounded,
		.is_pooled = entry->is_pooled && !entry->is_ahead,
		.is_ahead = entry->is_ahead,
	};
	auto_fd int listener = bind_socket(entry->dir, err);
	const int fds[BIRTH_FDS] = {[BIRTH_REQUEST] = request_fd,
				    [BIRTH_SOCKET] = listener,
				    [BIRTH_DIR] = entry->dir};
	int channel;

	if (listener < 0)
		return -1;
	channel = spare_give(entry->daemon, &birth, fds, &entry->pid, err);
	if (channel < 0)
		return -1;
	entry->start = record_start_of(entry->pid);
	return keep_open(entry, channel, err);
}

/* ---- what is known of it at first ---- */

size_t spawn_shown(const struct sandbox_request *request,
		   struct text_item shown[SHOWN_ARGS_MAX])
{
	size_t count = 0;

	while (count < SHOWN_ARGS_MAX && count < request->entrypoint_count) {
		struct bytes word = request->entrypoint[count].text;

		shown[count++].text = bytes_slice(
			word, 0,
			word.len < SHOWN_ARG_MAX ? word.len : SHOWN_ARG_MAX);
	}
	return count;
}

static int describe(struct entry *entry, const struct sandbox_request *request,
		    struct bytes image, uid_t owner, struct err *err)
{
	struct text_item shown[SHOWN_ARGS_MAX];
	struct host_sandbox sandbox = {
		.id = bytes_str(entry->id),
		.name = request->name,
		.state = HOST_PENDING,
		.created_ms = clock_wall_ms(),
		.expires_ms = request->expires_ms,
		.owner_uid = owner,
		.workspace = request->workspace,
		.note = request->note,
		.image = image,
		.entrypoint = shown,
		.metadata = request->metadata,
		.metadata_count = request->metadata_count,
	};

	sandbox.changed_ms = sandbox.created_ms;
	sandbox.entrypoint_count = spawn_shown(request, shown);
	return entry_take(entry, &sandbox, err);
}

/* ---- one that begins with files ---- */

static void on_restored(const struct job_result *result, void *owner)
{
	struct entry *entry = owner;
	bool is_wanted = entry->sandbox.state == HOST_PENDING;
	struct image_root image;
	struct err err = {0};

	if (!is_wanted)
		err_set(&err, ERR_CLOSED, "it was ended before it began");
	else if (!result->is_done)
		err_set(&err, ERR_INVALID, "the snapshot: %s", result->message);
	else if (images_find(entry->daemon, entry->sandbox.image, &image,
			     &err) == 0 &&
		 start(entry, &image, entry->request, &err) == 0)
		entry_record(entry);
	(void)close(entry->request);
	entry->request = -1;
	if (entry->rpc)
		return;
	keep_sweep(entry);
	if (is_wanted)
		entry_become(entry, HOST_FAILED, "not_built", err.text);
	else
		entry_become(entry, HOST_TERMINATED, "killed", err.text);
}

static int restore(struct entry *entry, struct snapshot *snapshot,
		   int request_fd, struct err *err)
{
	entry->request = fcntl(request_fd, F_DUPFD_CLOEXEC, 0);
	if (entry->request < 0)
		return err_system(err, "keep a request");
	entry_record(entry);
	if (snapshots_restore(snapshot, entry->id, on_restored, entry, err) ==
	    0)
		return 0;
	keep_sweep(entry);
	return -1;
}

struct entry *spawn(struct daemon *daemon, int request_fd,
		    const struct sandbox_request *request,
		    const struct spawn_for *asker, struct err *err)
{
	char id[HOST_ID_MAX + 1] = "sb-";
	struct snapshot *snapshot = NULL;
	struct bytes name = request->image;
	struct image_root image;
	struct entry *entry;
	int dir;

	if (request->snapshot.len) {
		snapshot = snapshots_find(daemon, request->snapshot);
		if (!snapshot) {
			err_set(err, ERR_INVALID, "there is no snapshot %.*s",
				BYTES_ARGS(request->snapshot));
			return NULL;
		}
		if (snapshots_check(snapshot, request, err) < 0)
			return NULL;
		name = snapshot->shown.image;
	}
	if (images_find(daemon, name, &image, err) < 0)
		return NULL;
	random_id(id + strlen(id));
	dir = make_dir(daemon, id, err);
	entry = dir < 0 ? NULL : entry_new(daemon, id, dir);
	if (!entry) {
		(void)tree_remove(daemon->sandboxes_dir, id);
		return NULL;
	}
	entry->is_bounded = asker->is_bounded;
	entry->is_pooled = asker->is_pooled;
	entry->is_ahead = asker->is_ahead;
	entry->owns_workspace = request->workspace.len == 0;
	entry_insert(entry);
	if (describe(entry, request, name, asker->uid, err) < 0 ||
	    (snapshot ? restore(entry, snapshot, request_fd, err)
		      : start(entry, &image, request_fd, err)) < 0) {
		daemon->live_count -= entry->sandbox.state == HOST_PENDING;
		entry_forget(entry);
		return NULL;
	}
	/* With its process in it, which is at work meanwhile. One that nobody
	 * has on record yet ends when it finds us dead. */
	entry_record(entry);
	return entry;
}
