#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zlib.h>

#include "common/cleanup.h"
#include "sandbox-host/store/store.h"
#include "sandbox-host/store/tar.h"

#define BLOCK	    (64 * 1024)
#define WINDOW_GZIP (15 + 16) /* zlib.h, inflateInit2: gzip only */

/* The file: hashed as it is read, inflated where it is a gzip. */
struct source {
	int fd;
	struct digest_stream *digest;
	bool is_gzip, has_ended;
	z_stream zip;
	uint8_t in[BLOCK];
	size_t at, len;
};

struct unpack {
	int into;
	struct store_budget *budget;
	struct tar tar;
	struct tar_entry entry;
	uint8_t block[BLOCK];
};

/* ---- reading ---- */

static ssize_t fill(struct source *source)
{
	ssize_t len = read(source->fd, source->in, sizeof(source->in));

	if (len > 0)
		digest_feed(source->digest,
			    bytes_from(source->in, (size_t)len));
	source->at = 0;
	source->len = len > 0 ? (size_t)len : 0;
	return len;
}

static ssize_t read_plain(struct source *source, void *out, size_t size)
{
	size_t len;

	if (source->at == source->len) {
		ssize_t got = fill(source);

		if (got <= 0)
			return got;
	}
	len = source->len - source->at;
	if (len > size)
		len = size;
	memcpy(out, source->in + source->at, len);
	source->at += len;
	return (ssize_t)len;
}

/* One member after the other, as gzip(1) does. */
static ssize_t read_gzip(struct source *source, void *out, size_t size)
{
	source->zip.next_out = out;
	source->zip.avail_out = (unsigned)size;
	while (source->zip.avail_out == size && !source->has_ended) {
		int result;

		if (source->at == source->len) {
			ssize_t got = fill(source);

			if (got <= 0)
				return -1;
		}
		source->zip.next_in = source->in + source->at;
		source->zip.avail_in = (unsigned)(source->len - source->at);
		result = inflate(&source->zip, Z_NO_FLUSH);
		source->at = source->len - source->zip.avail_in;
		if (result == Z_STREAM_END) {
			if (source->at == source->len && fill(source) < 0)
				return -1;
			source->has_ended = source->len == 0 ||
					    source->in[source->at] != 0x1f;
			(void)inflateReset(&source->zip);
		} else if (result != Z_OK) {
			return -1;
		}
	}
	return (ssize_t)(size - source->zip.avail_out);
}

static ssize_t read_source(void *owner, void *out, size_t size)
{
	struct source *source = owner;

	return source->is_gzip ? read_gzip(source, out, size)
			       : read_plain(source, out, size);
}

static int begin(struct source *source, int from, struct err *err)
{
	source->fd = from;
	source->digest = digest_open();
	if (!source->digest || fill(source) < 0)
		return err_system(err, "read the tar");
	source->is_gzip = source->len > 1 && source->in[0] == 0x1f &&
			  source->in[1] == 0x8b;
	if (source->is_gzip && inflateInit2(&source->zip, WINDOW_GZIP) != Z_OK)
		return err_set(err, ERR_TOO_LARGE, "tar: no memory");
	return 0;
}

/* The digest is of all that is in the file. */
static int end(struct source *source, uint8_t digest[DIGEST_LEN],
	       struct err *err)
{
	ssize_t len;

	do {
		len = fill(source);
	} while (len > 0);
	digest_close(source->digest, digest);
	source->digest = NULL;
	return len < 0 ? err_system(err, "read the tar") : 0;
}

/* ---- places ---- */

static int refuse(const struct unpack *unpack, const char *why, struct err *err)
{
	return err_set(err, ERR_INVALID, "%.200s: %s", unpack->entry.path, why);
}

static int count_entry(const struct unpack *unpack, struct err *err)
{
	if (unpack->budget->entries == 0)
		return err_set(err, ERR_TOO_LARGE, "it has too many entries");
	unpack->budget->entries--;
	return 0;
}

/* A directory that no entry is of costs as much as one of an entry. */
static int make_above(const struct unpack *unpack, int dir, const char *name,
		      struct err *err)
{
	if (mkdirat(dir, name, 0755) == 0)
		return count_entry(unpack, err);
	return errno == EEXIST ? 0 : err_system(err, "make %.200s", name);
}

static int open_below(int dir, const char *name)
{
	return openat(dir, name,
		      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* The directory that path is to stand in, made where it is not there, and
 * its last name. path is changed. -1: it is refused. */
static int open_parent(struct unpack *unpack, char *path, const char **name,
		       bool makes, struct err *err)
{
	auto_fd int at = fcntl(unpack->into, F_DUPFD_CLOEXEC, 0);
	char *rest = path, *part;
	unsigned depth = 0;

	*name = NULL;
	while ((part = strsep(&rest, "/"))) {
		int next;

		if (!*part || !strcmp(part, "."))
			continue;
		if (!strcmp(part, ".."))
			return refuse(unpack, "\"..\" leads out", err);
		if (!*name) {
			*name = part;
			continue;
		}
		if (++depth > STORE_DEPTH_MAX)
			return refuse(unpack, "too deep", err);
		if (makes && make_above(unpack, at, *name, err) < 0)
			return -1;
		next = open_below(at, *name);
		if (next < 0)
			return refuse(unpack,
				      "it is below what is no directory", err);
		(void)close(at);
		at = next;
		*name = part;
	}
	if (at < 0)
		return err_system(err, "open a directory");
	return take_fd(&at);
}

/* What has the name already goes, unless it is a directory. */
static int make_room(const struct unpack *unpack, int dir, const char *name,
		     struct err *err)
{
	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	return refuse(unpack, "a directory is there already", err);
}

/* ---- entries ---- */

static int make_directory(const struct unpack *unpack, int dir,
			  const char *name, struct err *err)
{
	auto_fd int fd = -1;

	if (mkdirat(dir, name, 0700) < 0 && errno != EEXIST)
		return err_system(err, "make a directory");
	fd = open_below(dir, name);
	if (fd < 0)
		return refuse(unpack, "something else is there already", err);
	return fchmod(fd, (unpack->entry.mode & 0777) | 0700) < 0
		       ? err_system(err, "make a directory")
		       : 0;
}

static int write_all(int fd, const uint8_t *data, size_t len)
{
	while (len > 0) {
		ssize_t done = write(fd, data, len);

		if (done < 0)
			return -1;
		data += done;
		len -= (size_t)done;
	}
	return 0;
}

static int make_file(struct unpack *unpack, int dir, const char *name,
		     struct err *err)
{
	const struct timespec times[2] = {{.tv_nsec = UTIME_NOW},
					  {.tv_sec = unpack->entry.time}};
	auto_fd int fd = -1;
	ssize_t len;

	if (unpack->entry.size > unpack->budget->bytes)
		return err_set(err, ERR_TOO_LARGE, "it is larger than allowed");
	unpack->budget->bytes -= unpack->entry.size;
	if (make_room(unpack, dir, name, err) < 0)
		return -1;
	fd = openat(dir, name,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_system(err, "make %.200s", unpack->entry.path);
	while ((len = tar_content(&unpack->tar, unpack->block,
				  sizeof(unpack->block), err)) > 0)
		if (write_all(fd, unpack->block, (size_t)len) < 0)
			return err_system(err, "write %.200s",
					  unpack->entry.path);
	if (len < 0)
		return -1;
	(void)futimens(fd, times);
	return fchmod(fd, unpack->entry.mode & 0777) < 0
		       ? err_system(err, "make a file")
		       : 0;
}

/* Of a file that was unpacked before, found as names are. */
static int make_link(struct unpack *unpack, int dir, const char *name,
		     struct err *err)
{
	const char *other;
	auto_fd int there =
		open_parent(unpack, unpack->entry.link, &other, false, err);
	struct stat st;

	if (there < 0)
		return -1;
	if (!other || fstatat(there, other, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode))
		return refuse(unpack, "a link to what is no file of the tar",
			      err);
	if (make_room(unpack, dir, name, err) < 0)
		return -1;
	/* Itself, perhaps: then it is gone. */
	if (linkat(there, other, dir, name, 0) < 0)
		return refuse(unpack, "a link that can not be made", err);
	return 0;
}

static int make_symlink(const struct unpack *unpack, int dir, const char *name,
			struct err *err)
{
	if (make_room(unpack, dir, name, err) < 0)
		return -1;
	if (symlinkat(unpack->entry.link, dir, name) < 0)
		return refuse(unpack, "a link that can not be made", err);
	return 0;
}

static int make_entry(struct unpack *unpack, struct err *err)
{
	char path[TAR_NAME_MAX];
	const char *name;
	auto_fd int dir = -1;

	memcpy(path, unpack->entry.path, sizeof(path));
	if (count_entry(unpack, err) < 0)
		return -1;
	dir = open_parent(unpack, path, &name, true, err);
	if (dir < 0)
		return -1;
	/* The top itself. */
	if (!name)
		return unpack->entry.kind == TAR_DIRECTORY
			       ? 0
			       : refuse(unpack, "it has no name", err);
	switch (unpack->entry.kind) {
	case TAR_FILE:
		return make_file(unpack, dir, name, err);
	case TAR_DIRECTORY:
		return make_directory(unpack, dir, name, err);
	case TAR_SYMLINK:
		return make_symlink(unpack, dir, name, err);
	case TAR_HARD_LINK:
		return make_link(unpack, dir, name, err);
	case TAR_OTHER:
	default:
		return 0;
	}
}

static int unpack_all(struct unpack *unpack, struct err *err)
{
	int got;

	while ((got = tar_next(&unpack->tar, &unpack->entry, err)) == 1)
		if (make_entry(unpack, err) < 0)
			return -1;
	return got;
}

int unpack_tar(int from, int into, struct store_budget *budget,
	       uint8_t digest[DIGEST_LEN], struct err *err)
{
	auto_free struct source *source = calloc(1, sizeof(*source));
	auto_free struct unpack *unpack = calloc(1, sizeof(*unpack));
	int rc;

	if (!source || !unpack)
		return err_set(err, ERR_TOO_LARGE, "no memory");
	unpack->into = into;
	unpack->budget = budget;
	unpack->tar = (struct tar){.read = read_source, .owner = source};
	rc = begin(source, from, err);
	if (rc == 0)
		rc = unpack_all(unpack, err);
	if (rc == 0)
		rc = end(source, digest, err);
	digest_close(source->digest, NULL);
	if (source->is_gzip)
		(void)inflateEnd(&source->zip);
	return rc;
}
