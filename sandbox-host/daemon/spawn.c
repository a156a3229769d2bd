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
#include "sandbox-host/tree.h"

#define PROGRAM	 "sallyport-supervisor"
#define ARGS_MAX (29 + 2 * HOST_VOLUMES_MAX)
#define BORN_FDS (SUPERVISOR_DIR - SUPERVISOR_CHANNEL + 1)

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

/* Descriptors at their places, nothing else of ours. */
static int place(const int fds[BORN_FDS])
{
	int high[BORN_FDS];

	for (int i = 0; i < BORN_FDS; i++) {
		high[i] = fcntl(fds[i], F_DUPFD, SUPERVISOR_DIR + 1);
		if (high[i] < 0)
			return -1;
	}
	for (int i = 0; i < BORN_FDS; i++)
		if (dup2(high[i], SUPERVISOR_CHANNEL + i) < 0)
			return -1;
	return close_range(SUPERVISOR_DIR + 1, ~0u, 0);
}

/* What it may be made from, and where none of it may be. */
static size_t add_store(const struct host_config *config,
			const struct image_root *image, const char **argv,
			size_t count)
{
	const struct host_store_config *store = &config->store;
	const char *const private[] = {config->run, config->workspaces,
				       store->path};

	if (image->path[0]) {
		argv[count++] = "--image";
		argv[count++] = image->path;
		argv[count++] = "--image-mode";
		argv[count++] = image->is_read_only ? "read" : "write";
	}
	if (image->settings[0]) {
		argv[count++] = "--image-settings";
		argv[count++] = image->settings;
	}
	for (size_t i = 0; i < store->volume_count; i++) {
		argv[count++] = "--volumes";
		argv[count++] = store->volumes[i];
	}
	for (size_t i = 0; i < ARRAY_SIZE(private); i++) {
		argv[count++] = "--private";
		argv[count++] = private[i];
	}
	if (config->api.key) {
		argv[count++] = "--secret";
		argv[count++] = config->api.key;
	}
	return count;
}

_Noreturn static void become_supervisor(const struct entry *entry,
					const struct image_root *image,
					const int fds[BORN_FDS])
{
	const struct daemon *daemon = entry->daemon;
	const struct host_config *config = &daemon->config;
	char program[PATH_MAX], uids[32];
	const char *argv[ARGS_MAX] = {PROGRAM, "--id", entry->id,
				      "--workspaces", config->workspaces};
	size_t count = 5;
	ssize_t len;

	len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	if (len <= 0)
		_exit(126);
	program[len] = '\0';
	(void)snprintf(strrchr(program, '/'),
		       sizeof(program) -
			       (size_t)(strrchr(program, '/') - program),
		       "/" PROGRAM);
	if (config->default_policy) {
		argv[count++] = "--default-policy";
		argv[count++] = config->default_policy;
	}
	if (config->uids.count) {
		(void)snprintf(uids, sizeof(uids), "%u-%u",
			       (unsigned)config->uids.first,
			       (unsigned)config->uids.first +
				       config->uids.count - 1);
		argv[count++] = "--uids";
		argv[count++] = uids;
	}
	count = add_store(config, image, argv, count);
	if (entry->is_bounded)
		argv[count++] = "--bounded";
	if (entry->is_ahead)
		argv[count++] = "--ahead";
	else if (entry->is_pooled)
		argv[count++] = "--pooled";
	/* It finds the gateway as the command line does. */
	if (config->gateway)
		(void)setenv("SALLYPORT_RUN", config->gateway, 1);
	/* Commands have the limit that was made for them. */
	(void)setrlimit(RLIMIT_NOFILE, &daemon->files);
	/* Its own session: what ends us does not end it. */
	if (setsid() < 0 || place(fds) < 0)
		_exit(126);
	(void)execv(program, (char *const *)(uintptr_t)argv);
	_exit(127);
}

static int start(struct entry *entry, const struct image_root *image,
		 int request_fd, struct err *err)
{
	int fds[BORN_FDS] = {-1, request_fd, -1, entry->dir};
	auto_fd int listener = bind_socket(entry->dir, err);
	auto_fd int theirs = -1;
	auto_fd int ours = -1;
	int ends[2];

	if (listener < 0 || io_message_pair(ends, err) < 0)
		return -1;
	ours = ends[0];
	theirs = ends[1];
	fds[0] = theirs;
	fds[2] = listener;
	entry->pid = fork();
	if (entry->pid < 0)
		return err_system(err, "start a supervisor");
	if (entry->pid == 0)
		become_supervisor(entry, image, fds);
	entry->start = record_start_of(entry->pid);
	return keep_open(entry, take_fd(&ours), err);
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
	return entry_store(entry, &sandbox, err);
}

/* ---- one that begins with files ---- */

static void on_restored(const struct job_result *result, void *owner)
{
	struct entry *entry = owner;
	struct image_root image;
	struct err err = {0};

	if (!result->is_done)
		err_set(&err, ERR_INVALID, "the snapshot: %s", result->message);
	else if (images_find(entry->daemon, entry->sandbox.image, &image,
			     &err) == 0 &&
		 start(entry, &image, entry->request, &err) == 0 &&
		 entry_store(entry, &entry->sandbox, &err) < 0)
		log_error("%s: %s", entry->id, err.text);
	(void)close(entry->request);
	entry->request = -1;
	if (entry->rpc)
		return;
	keep_sweep(entry);
	entry_become(entry, HOST_FAILED, "not_built", err.text);
}

static int restore(struct entry *entry, const struct snapshot *snapshot,
		   int request_fd, struct err *err)
{
	entry->request = fcntl(request_fd, F_DUPFD_CLOEXEC, 0);
	if (entry->request < 0)
		return err_system(err, "keep a request");
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
	const struct snapshot *snapshot = NULL;
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
	/* With its process in it. */
	if (entry_store(entry, &entry->sandbox, err) < 0)
		log_error("%s: %s", id, err->text);
	return entry;
}
