#include "sandbox-host/daemon/images.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/digest.h"
#include "common/log.h"
#include "sandbox-host/daemon/claim.h"
#include "sandbox-host/daemon/jobs.h"
#include "sandbox-host/flow/image_settings.h"
#include "sandbox-host/tree.h"

#define DIR_FLAGS      (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define DIGEST	       "digest"
#define PULL_ARENA_MAX (64 * 1024)

/* One that is being unpacked, in tmp/NAME. */
struct pull {
	struct daemon *daemon;
	struct arena arena; /* of image: host.yaml may say another meanwhile */
	struct host_image_config image;
	struct rpc_ticket ticket;
	char place[NAME_MAX + 1];
};

static void free_pull(struct pull *pull)
{
	arena_release(&pull->arena);
	free(pull);
}

static const struct host_image_config *find(const struct daemon *daemon,
					    struct bytes name)
{
	const struct host_store_config *store = &daemon->config.store;

	for (size_t i = 0; i < store->image_count; i++)
		if (bytes_is(name, store->images[i].name))
			return &store->images[i];
	return NULL;
}

static bool is_directory(const struct host_image_config *image)
{
	struct stat info;

	return image->kind == IMAGE_PATH && stat(image->source, &info) == 0 &&
	       S_ISDIR(info.st_mode);
}

/* As snprintf() of the longer path. */
static int find_in_store(const struct daemon *daemon, const char *name,
			 struct image_root *root)
{
	const char *store = daemon->config.store.path;

	(void)snprintf(root->path, sizeof(root->path),
		       "%s/images/%s/" IMAGE_ROOT, store, name);
	return snprintf(root->settings, sizeof(root->settings),
			"%s/images/%s/" IMAGE_SETTINGS_NAME, store, name);
}

int images_find(const struct daemon *daemon, struct bytes name,
		struct image_root *root, struct err *err)
{
	const struct host_image_config *image;
	struct stat info;
	int len;

	*root = (struct image_root){0};
	if (name.len == 0)
		return 0;
	image = find(daemon, name);
	if (!image)
		return err_set(err, ERR_INVALID,
			       "image %.*s: host.yaml has none of that name",
			       BYTES_ARGS(name));
	root->is_read_only = image->is_read_only;
	if (is_directory(image))
		len = snprintf(root->path, sizeof(root->path), "%s",
			       image->source);
	else
		len = find_in_store(daemon, image->name, root);
	if (len < 0 || (size_t)len >= sizeof(root->path))
		return err_set(err, ERR_TOO_LARGE, "image: a long path");
	if (stat(root->path, &info) < 0 || !S_ISDIR(info.st_mode))
		return err_set(err, ERR_INVALID,
			       "image %s: it is not in the store: sallyport "
			       "image pull %s",
			       image->name, image->name);
	return 0;
}

/* ---- what there is ---- */

static void read_digest(const struct daemon *daemon, const char *name,
			char out[JOB_DIGEST_SIZE])
{
	char path[PATH_MAX];
	auto_fd int fd = -1;
	ssize_t len;

	(void)snprintf(path, sizeof(path), "images/%s/" DIGEST, name);
	fd = openat(daemon->store_dir, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	len = fd < 0 ? 0 : read(fd, out, JOB_DIGEST_SIZE - 1);
	out[len > 0 ? len : 0] = '\0';
}

static struct host_image show(const struct daemon *daemon,
			      const struct host_image_config *image,
			      char digest[JOB_DIGEST_SIZE])
{
	struct bytes source = bytes_str(image->source);
	struct image_root root;

	read_digest(daemon, image->name, digest);
	return (struct host_image){
		.name = bytes_str(image->name),
		.source = bytes_slice(source, 0,
				      source.len < HOST_SOURCE_MAX
					      ? source.len
					      : HOST_SOURCE_MAX),
		.digest = bytes_str(is_directory(image) ? "" : digest),
		.is_there = images_find(daemon, bytes_str(image->name), &root,
					NULL) == 0,
		.is_read_only = image->is_read_only,
	};
}

void answer_images(struct rpc_ticket ticket, const void *message, int *fd,
		   void *owner)
{
	const struct daemon *daemon = ((struct asker *)owner)->daemon;
	const struct host_store_config *store = &daemon->config.store;
	struct host_image shown[HOST_IMAGES_LISTED];
	char digests[HOST_IMAGES_LISTED][JOB_DIGEST_SIZE];
	struct host_images images = {.images = shown};

	(void)message;
	(void)fd;
	for (size_t i = 0; i < store->image_count; i++)
		shown[images.images_count++] =
			show(daemon, &store->images[i], digests[i]);
	rpc_reply(ticket, &host_images_schema, &images, -1);
}

/* ---- pulling one ---- */

static void remove_tmp(const struct daemon *daemon, const char *place)
{
	char path[PATH_MAX];
	pid_t child = fork();

	if (child != 0)
		return;
	(void)close_range(STDERR_FILENO + 1, ~0u, 0);
	(void)snprintf(path, sizeof(path), "%s/tmp/%s",
		       daemon->config.store.path, place);
	(void)tree_remove(AT_FDCWD, path);
	_exit(0);
}

static bool has_image(const struct entry *entry, const char *name)
{
	return !state_is_over((enum host_state)entry->sandbox.state) &&
	       bytes_is(entry->sandbox.image, name);
}

static bool is_nobodys(const struct entry *entry)
{
	return entry->is_pooled && !entry->is_claimed;
}

/* Live sandboxes see what is there. One that was built ahead is given to nobody
 * once the image is another (built.h): no one would know whom to ask. */
static bool is_in_use(const struct daemon *daemon, const char *name)
{
	for (const struct entry *entry = daemon->entries; entry;
	     entry = entry->next)
		if (has_image(entry, name) && !is_nobodys(entry))
			return true;
	return false;
}

static void end_nobodys(struct daemon *daemon, const char *name)
{
	struct entry *entry, *next;

	for (entry = daemon->entries; entry; entry = next) {
		next = entry->next;
		if (has_image(entry, name) && is_nobodys(entry))
			claim_end(entry);
	}
}

static int set_digest(int tmp, const char *place, const char *digest)
{
	char path[PATH_MAX];
	auto_fd int fd = -1;
	ssize_t len = (ssize_t)strlen(digest);

	(void)snprintf(path, sizeof(path), "%s/" DIGEST, place);
	fd = openat(tmp, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd < 0 || write(fd, digest, (size_t)len) != len ? -1 : 0;
}

/* Is it what host.yaml says by now? */
static int check_wanted(const struct pull *pull, const char *digest,
			struct err *err)
{
	const struct host_image_config *now =
		find(pull->daemon, bytes_str(pull->image.name));

	if (!now || strcmp(now->source, pull->image.source) != 0)
		return err_set(err, ERR_INVALID,
			       "host.yaml says another source by now");
	if (now->digest && strcmp(now->digest, digest) != 0)
		return err_set(err, ERR_INVALID,
			       "it is %s, and not %s as host.yaml says", digest,
			       now->digest);
	return 0;
}

/* In the place of the one that was there. */
static int put(struct pull *pull, const char *digest, struct err *err)
{
	struct daemon *daemon = pull->daemon;
	auto_fd int tmp = openat(daemon->store_dir, "tmp", DIR_FLAGS);
	auto_fd int images = openat(daemon->store_dir, "images", DIR_FLAGS);
	const char *name = pull->image.name;

	if (check_wanted(pull, digest, err) < 0)
		return -1;
	if (is_in_use(daemon, name))
		return err_set(err, ERR_INVALID, "sandboxes have it by now");
	if (set_digest(tmp, pull->place, digest) < 0)
		return err_system(err, "write the digest");
	end_nobodys(daemon, name);
	if (renameat2(tmp, pull->place, images, name, RENAME_EXCHANGE) == 0)
		return 0;
	return errno == ENOENT && renameat(tmp, pull->place, images, name) == 0
		       ? 0
		       : err_system(err, "put the image into the store");
}

static void on_pulled(const struct job_result *result, void *owner)
{
	struct pull *pull = owner;
	char digest[JOB_DIGEST_SIZE];
	struct host_image image;
	struct err err = {0};

	if (!result->is_done)
		err_set(&err, ERR_INVALID, "%s", result->message);
	else
		(void)put(pull, result->digest, &err);
	remove_tmp(pull->daemon, pull->place);
	log_info("image %s: %s", pull->image.name,
		 err.code ? err.text : result->digest);
	if (err.code) {
		rpc_refuse(pull->ticket, HOST_REFUSED, "image %s: %s",
			   pull->image.name, err.text);
	} else {
		image = show(pull->daemon, &pull->image, digest);
		rpc_reply(pull->ticket, &host_image_schema, &image, -1);
	}
	free_pull(pull);
}

/* tmp/PLACE, which becomes the image, with an empty root. */
static int make_place(struct pull *pull, int *place, int *root, struct err *err)
{
	auto_fd int tmp = openat(pull->daemon->store_dir, "tmp", DIR_FLAGS);

	if (tmp < 0 || mkdirat(tmp, pull->place, 0700) < 0)
		return err_system(err, "make a place for the image");
	*place = openat(tmp, pull->place, DIR_FLAGS);
	if (*place < 0)
		return err_system(err, "open the image's place");
	if (pull->image.kind == IMAGE_PATH &&
	    mkdirat(*place, IMAGE_ROOT, 0755) < 0)
		return err_system(err, "make the image's root");
	*root = pull->image.kind == IMAGE_PATH
			? openat(*place, IMAGE_ROOT, DIR_FLAGS)
			: fcntl(*place, F_DUPFD_CLOEXEC, 0);
	if (*root < 0 ||
	    (geteuid() == 0 && fchown(*root, STORE_UID, STORE_UID) < 0) ||
	    (pull->image.kind == IMAGE_PATH && fchmod(*root, 0755) < 0))
		return err_system(err, "make the image's root");
	return 0;
}

static int start(struct pull *pull, struct err *err)
{
	const struct host_image_config *image = &pull->image;
	bool is_tar = image->kind == IMAGE_PATH;
	struct job job = {
		.what = is_tar ? "unpack" : "pull",
		.bytes_max = pull->daemon->config.store.image_bytes,
		.time_max_ms =
			(unsigned)pull->daemon->config.store.image_time_ms,
		.time_name = "limits.image_time of host.yaml",
		.words = {image->source},
		.word_count = is_tar ? 0 : 1,
		.fd_count = 2,
		.on_end = on_pulled,
		.owner = pull};
	/* Whatever is there by now: a pipe would wait for somebody. */
	auto_fd int source = open(is_tar ? image->source : "/dev/null",
				  O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	auto_fd int place = -1;
	auto_fd int root = -1;
	struct stat info;

	if (source < 0 || fstat(source, &info) < 0)
		return err_system(err, "open %s", image->source);
	if (is_tar && !S_ISREG(info.st_mode))
		return err_set(err, ERR_INVALID,
			       "%s is neither a directory nor a tar",
			       image->source);
	if (make_place(pull, &place, &root, err) < 0)
		return -1;
	job.fds[0] = source;
	job.fds[1] = root;
	return job_start(pull->daemon->loop, &job, err);
}

static const struct host_image_config *
find_for(struct daemon *daemon, struct bytes name, struct rpc_ticket ticket)
{
	const struct host_image_config *image = find(daemon, name);

	if (!image)
		rpc_refuse(ticket, HOST_REFUSED_MISSING,
			   "host.yaml has no image %.*s", BYTES_ARGS(name));
	else if (is_directory(image))
		rpc_refuse(ticket, HOST_REFUSED_STATE,
			   "image %s is a directory, used where it stands",
			   image->name);
	else if (is_in_use(daemon, image->name))
		rpc_refuse(ticket, HOST_REFUSED_STATE,
			   "sandboxes have image %s", image->name);
	else
		return image;
	return NULL;
}

/* NULL: no memory. */
static struct pull *new_pull(struct daemon *daemon, struct rpc_ticket ticket,
			     const struct host_image_config *image)
{
	struct pull *pull = calloc(1, sizeof(*pull));

	if (!pull)
		return NULL;
	pull->daemon = daemon;
	pull->ticket = ticket;
	pull->image = *image;
	arena_init(&pull->arena, PULL_ARENA_MAX);
	pull->image.name = arena_str(&pull->arena, bytes_str(image->name));
	pull->image.source = arena_str(&pull->arena, bytes_str(image->source));
	/* What counts is what is said once it is there. */
	pull->image.digest = NULL;
	if (pull->image.name && pull->image.source)
		return pull;
	free_pull(pull);
	return NULL;
}

void answer_image_pull(struct rpc_ticket ticket, const void *message, int *fd,
		       void *owner)
{
	const struct host_name *wanted = message;
	struct daemon *daemon = ((struct asker *)owner)->daemon;
	const struct host_image_config *image =
		find_for(daemon, wanted->name, ticket);
	struct pull *pull = image ? new_pull(daemon, ticket, image) : NULL;
	struct err err;

	(void)fd;
	if (!image)
		return;
	if (!pull) {
		rpc_refuse(ticket, HOST_REFUSED_FULL, "no memory");
		return;
	}
	random_id(pull->place);
	if (start(pull, &err) == 0)
		return;
	rpc_refuse(ticket, HOST_REFUSED, "image %s: %s", image->name, err.text);
	remove_tmp(daemon, pull->place);
	free_pull(pull);
}

void answer_image_remove(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	const struct host_name *wanted = message;
	struct daemon *daemon = ((struct asker *)owner)->daemon;
	const struct host_image_config *image =
		find_for(daemon, wanted->name, ticket);
	const struct wire_empty empty = {0};
	auto_fd int tmp = openat(daemon->store_dir, "tmp", DIR_FLAGS);
	auto_fd int images = openat(daemon->store_dir, "images", DIR_FLAGS);
	char place[NAME_MAX + 1];

	(void)fd;
	if (!image)
		return;
	random_id(place);
	if (renameat(images, image->name, tmp, place) < 0) {
		rpc_refuse(ticket, HOST_REFUSED_MISSING,
			   "image %s is not in the store", image->name);
		return;
	}
	end_nobodys(daemon, image->name);
	remove_tmp(daemon, place);
	rpc_reply(ticket, &wire_empty_schema, &empty, -1);
}

int images_open(struct daemon *daemon, struct err *err)
{
	static const char *const names[] = {"tmp", "images"};
	char place[NAME_MAX + 1];

	/* What somebody before us did not finish. */
	random_id(place);
	if (mkdirat(daemon->store_dir, "images", 0700) < 0 && errno != EEXIST)
		return err_system(err, "make the store");
	if (tree_remove(daemon->store_dir, "tmp") < 0)
		return err_set(err, ERR_SYSTEM, "clear the store");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (mkdirat(daemon->store_dir, names[i], 0700) < 0 &&
		    errno != EEXIST)
			return err_system(err, "make the store");
	return 0;
}
