/* What differs between the user's directory and the layer over it, as
 * overlayfs keeps it with `userxattr`: a removed name is a character device
 * 0:0 (or an empty file with user.overlay.whiteout), a directory that hides
 * all below it has user.overlay.opaque. Redirects are off in that mode. */
#include "sandbox-host/overlay_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/cleanup.h"

#define OPAQUE	     "user.overlay.opaque"
#define WHITEOUT     "user.overlay.whiteout"
#define COMPARE_SIZE 65536

typedef enum overlay_answer
on_change_fn(void *owner, const struct overlay_change *change, struct err *err);

struct overlay_walk {
	on_change_fn *on_change;
	void *owner;
	size_t budget; /* names that may still be looked at */
	char path[PATH_MAX];
	struct err *err;
};

/* The two sides of one directory. */
struct sides {
	int before, after; /* before -1: the user has no such directory */
	bool is_opaque;
	unsigned depth;
};

static int open_file(int dir, const char *name)
{
	auto_fd int fd = openat(dir, name,
				O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
					O_CLOEXEC | O_NOATIME);
	struct stat st;

	/* Not ours to read without a trace: as whoever else reads it. */
	if (fd < 0 && errno == EPERM)
		fd = openat(dir, name,
			    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
				    O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (S_ISREG(st.st_mode))
		return take_fd(&fd);
	errno = EINVAL;
	return -1;
}

int overlay_open_before(const struct overlay_change *change)
{
	return open_file(change->before_dir, change->name);
}

int overlay_open_after(const struct overlay_change *change)
{
	return open_file(change->after_dir, change->name);
}

static enum overlay_type type_of(const struct stat *st)
{
	if (S_ISREG(st->st_mode))
		return OVERLAY_FILE;
	if (S_ISDIR(st->st_mode))
		return OVERLAY_DIRECTORY;
	return S_ISLNK(st->st_mode) ? OVERLAY_LINK : OVERLAY_OTHER;
}

static bool is_opaque(int fd)
{
	char value[1];

	return fgetxattr(fd, OPAQUE, value, sizeof(value)) == 1 &&
	       value[0] == 'y';
}

static bool is_whiteout(int dir, const char *name, const struct stat *st)
{
	auto_fd int fd = -1;

	if (S_ISCHR(st->st_mode))
		return st->st_rdev == makedev(0, 0);
	if (!S_ISREG(st->st_mode) || st->st_size)
		return false;
	fd = open_file(dir, name);
	return fd >= 0 && fgetxattr(fd, WHITEOUT, NULL, 0) >= 0;
}

/* Where the next bytes are that are no hole. */
static off_t next_data(int fd, off_t at, off_t end)
{
	off_t data = lseek(fd, at, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? end : at;
	return data < end ? data : end;
}

/* What can not be read is taken to differ. */
static bool has_same_text(const struct overlay_change *change)
{
	static char one[COMPARE_SIZE], two[COMPARE_SIZE];
	auto_fd int before = overlay_open_before(change);
	auto_fd int after = overlay_open_after(change);
	off_t end = change->after->st_size;
	off_t at = 0;

	if (before < 0 || after < 0)
		return false;
	for (;;) {
		off_t here = next_data(before, at, end);
		off_t there = next_data(after, at, end);
		ssize_t len;

		at = here < there ? here : there;
		if (at >= end)
			return true;
		len = pread(before, one, sizeof(one), at);
		if (len <= 0 || pread(after, two, sizeof(two), at) != len ||
		    memcmp(one, two, (size_t)len) != 0)
			return false;
		at += len;
	}
}

static bool has_same_target(const struct overlay_change *change)
{
	char one[PATH_MAX], two[PATH_MAX];
	ssize_t len =
		readlinkat(change->before_dir, change->name, one, sizeof(one));

	return len >= 0 &&
	       readlinkat(change->after_dir, change->name, two, sizeof(two)) ==
		       len &&
	       !memcmp(one, two, (size_t)len);
}

/* Both are there, and of one type. */
static bool is_same(const struct overlay_change *change)
{
	const struct stat *before = change->before;
	const struct stat *after = change->after;

	if (change->type == OVERLAY_LINK)
		return has_same_target(change);
	if ((before->st_mode & 0777) != (after->st_mode & 0777))
		return false;
	if (change->type == OVERLAY_DIRECTORY)
		return true;
	return before->st_size == after->st_size && has_same_text(change);
}

static enum overlay_answer tell(struct overlay_walk *walk,
				struct overlay_change *change,
				enum overlay_kind kind)
{
	change->kind = kind;
	return walk->on_change(walk->owner, change, walk->err);
}

/* What was there goes, as the first half of what becomes another type. */
static enum overlay_answer tell_deleted(struct overlay_walk *walk,
					const struct overlay_change *change)
{
	struct overlay_change deleted = *change;

	deleted.type = type_of(change->before);
	deleted.after = NULL;
	return tell(walk, &deleted, OVERLAY_DELETED);
}

/* A directory that whoever was inside closed to its owner, us. */
static bool is_closed(const struct overlay_change *change)
{
	return faccessat(change->after_dir, change->name, R_OK | X_OK,
			 AT_EACCESS | AT_SYMLINK_NOFOLLOW) < 0;
}

/* Tell of one name that the layer has. */
static enum overlay_answer look(struct overlay_walk *walk,
				struct overlay_change *change)
{
	enum overlay_answer answer;

	if (!change->after)
		return change->before ? tell_deleted(walk, change)
				      : OVERLAY_GO_ON;
	change->type = type_of(change->after);
	if (change->type == OVERLAY_DIRECTORY && is_closed(change)) {
		change->type = OVERLAY_OTHER;
		return tell(walk, change,
			    change->before ? OVERLAY_CHANGED : OVERLAY_ADDED);
	}
	if (!change->before)
		return tell(walk, change, OVERLAY_ADDED);
	if (type_of(change->before) == change->type)
		return is_same(change) ? OVERLAY_GO_ON
				       : tell(walk, change, OVERLAY_CHANGED);
	answer = tell_deleted(walk, change);
	if (answer != OVERLAY_GO_ON)
		return answer;
	change->before = NULL;
	return tell(walk, change, OVERLAY_ADDED);
}

static int walk_sides(struct overlay_walk *walk, const struct sides *sides);

/* Go into a directory of the layer. The user's is opened now: it may have
 * been made by whoever was just told. */
static int go_below(struct overlay_walk *walk, const struct sides *sides,
		    const char *name, bool had_directory)
{
	auto_fd int after = overlay_open_dir(sides->after, name);
	auto_fd int before =
		sides->before < 0 ? -1 : overlay_open_dir(sides->before, name);
	struct sides below = {
		.before = before, .after = after, .depth = sides->depth + 1};

	if (after < 0)
		return err_system(walk->err, "overlay: open %s", walk->path);
	below.is_opaque =
		had_directory && (sides->is_opaque || is_opaque(after));
	if (below.depth > OVERLAY_DEPTH_MAX)
		return err_set(walk->err, ERR_TOO_LARGE,
			       "overlay: directories too deep in each other");
	return walk_sides(walk, &below);
}

static int visit(struct overlay_walk *walk, const struct sides *sides,
		 const char *name)
{
	struct stat before, after;
	struct overlay_change change = {
		.path = walk->path,
		.name = name,
		.before_dir = sides->before,
		.after_dir = sides->after,
		.after = &after,
	};
	bool was_directory = false;
	enum overlay_answer answer;

	if (fstatat(sides->after, name, &after, AT_SYMLINK_NOFOLLOW) < 0)
		return err_system(walk->err, "overlay: look at %s", walk->path);
	if (sides->before >= 0 &&
	    fstatat(sides->before, name, &before, AT_SYMLINK_NOFOLLOW) == 0) {
		change.before = &before;
		was_directory = S_ISDIR(before.st_mode);
	}
	if (is_whiteout(sides->after, name, &after))
		change.after = NULL;
	answer = look(walk, &change);
	if (answer == OVERLAY_FAIL)
		return -1;
	if (answer == OVERLAY_SKIP_BELOW || !change.after ||
	    change.type != OVERLAY_DIRECTORY)
		return 0;
	return go_below(walk, sides, name, was_directory);
}

/* What only the user has, below a directory that hides it. */
static int visit_hidden(struct overlay_walk *walk, const struct sides *sides,
			const char *name)
{
	struct stat before;
	const struct overlay_change change = {
		.path = walk->path,
		.name = name,
		.before_dir = sides->before,
		.after_dir = sides->after,
		.before = &before,
	};

	if (fstatat(sides->before, name, &before, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return tell_deleted(walk, &change) == OVERLAY_FAIL ? -1 : 0;
}

static int visit_named(struct overlay_walk *walk, const struct sides *sides,
		       const char *name, bool is_hidden)
{
	size_t len = strlen(walk->path);
	int added = snprintf(walk->path + len, sizeof(walk->path) - len, "%s%s",
			     len ? "/" : "", name);
	int rc;

	if (added < 0 || (size_t)added >= sizeof(walk->path) - len) {
		walk->path[len] = '\0';
		return err_set(walk->err, ERR_TOO_LARGE,
			       "overlay: a path is too long");
	}
	rc = is_hidden ? visit_hidden(walk, sides, name)
		       : visit(walk, sides, name);
	walk->path[len] = '\0';
	return rc;
}

static int walk_hidden(struct overlay_walk *walk, const struct sides *sides,
		       const struct overlay_names *shown)
{
	struct overlay_names names;
	int rc = overlay_names_read(sides->before, &walk->budget, &names,
				    walk->err);

	for (size_t i = 0; rc == 0 && i < names.count; i++)
		if (!overlay_names_has(shown, names.items[i]))
			rc = visit_named(walk, sides, names.items[i], true);
	overlay_names_release(&names);
	return rc;
}

static int walk_sides(struct overlay_walk *walk, const struct sides *sides)
{
	struct overlay_names names;
	int rc = overlay_names_read(sides->after, &walk->budget, &names,
				    walk->err);

	for (size_t i = 0; rc == 0 && i < names.count; i++)
		rc = visit_named(walk, sides, names.items[i], false);
	if (rc == 0 && sides->is_opaque && sides->before >= 0)
		rc = walk_hidden(walk, sides, &names);
	overlay_names_release(&names);
	return rc;
}

int overlay_each(struct overlay *overlay,
		 enum overlay_answer (*on_change)(
			 void *owner, const struct overlay_change *change,
			 struct err *err),
		 void *owner, struct err *err)
{
	struct overlay_walk walk = {.on_change = on_change,
				    .owner = owner,
				    .budget = OVERLAY_ENTRIES_MAX,
				    .err = err};
	struct sides sides = {.before = overlay->lower,
			      .after = overlay->upper};

	sides.is_opaque = is_opaque(overlay->upper);
	return walk_sides(&walk, &sides);
}
