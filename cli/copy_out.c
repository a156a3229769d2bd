#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/copy.h"
#include "common/cleanup.h"

#define ENTRIES_MAX 1000000

struct copying {
	struct files *files;
	const char *path; /* of the tree, inside */
	int top;	  /* where it goes */
	struct file_page page;
	size_t count;
	bool is_whole;
	struct err *err;
};

/* The directory that an entry goes to, made by one of the entries before;
 * *name: its last name. -1: there is none, or it is a link by now. */
static int open_parent(const struct copying *copying, struct bytes path,
		       char name[NAME_MAX + 1])
{
	auto_fd int at = fcntl(copying->top, F_DUPFD_CLOEXEC, 0);
	struct bytes head;

	while (at >= 0) {
		bool is_last = !bytes_split(&path, '/', &head);
		int next = -1;

		if (head.len > NAME_MAX)
			return -1;
		(void)snprintf(name, NAME_MAX + 1, "%.*s", BYTES_ARGS(head));
		if (is_last)
			return take_fd(&at);
		next = openat(at, name,
			      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		(void)close(at);
		at = next;
	}
	return -1;
}

/* May a link that stands at path lead out, by names alone? What is above a
 * name is known for the directories that it stands in, but not behind a name
 * of its own: that may be another link, which leads up. */
static bool leads_out(struct bytes path, struct bytes target)
{
	struct bytes head;
	long depth = 0;
	bool has_more = true, is_down = false;

	for (size_t i = 0; i < path.len; i++)
		depth += path.data[i] == '/';
	if (target.data[0] == '/')
		return true;
	while (has_more && depth >= 0) {
		has_more = bytes_split(&target, '/', &head);
		if (bytes_is(head, ".."))
			depth = is_down ? -1 : depth - 1;
		else if (head.len > 0 && !bytes_is(head, "."))
			is_down = true;
	}
	return depth < 0;
}

static int make_directory(int directory, const char *name, unsigned mode)
{
	struct stat st;

	if (mkdirat(directory, name, mode | S_IRWXU) == 0)
		return 0;
	return errno == EEXIST &&
			       fstatat(directory, name, &st,
				       AT_SYMLINK_NOFOLLOW) == 0 &&
			       S_ISDIR(st.st_mode)
		       ? 0
		       : -1;
}

static int make_link(int directory, const char *name, struct bytes target)
{
	auto_free char *text = bytes_dup(target);

	return text ? symlinkat(text, directory, name) : -1;
}

static int read_to(struct copying *copying, const char *path, int directory,
		   const char *name, unsigned mode)
{
	auto_fd int fd = openat(directory, name,
				O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW |
					O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
				mode);
	struct stat st;

	if (fd < 0)
		return err_system(copying->err, "write %s", name);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(copying->err, ERR_INVALID,
			       "%s is there, and no file", name);
	return files_read(copying->files, path, fd, copying->err);
}

static void leave_out(struct copying *copying, struct bytes path,
		      const char *why)
{
	auto_free char *text = bytes_dup(path);

	copying->is_whole = false;
	if (text)
		copy_say(text, why);
}

static int copy_file(struct copying *copying, const struct file_entry *entry,
		     int directory, const char *name)
{
	char path[2 * REQUEST_PATH_MAX];
	struct err *err = copying->err;

	(void)snprintf(path, sizeof(path), "%s/%.*s", copying->path,
		       BYTES_ARGS(entry->path));
	if (strlen(path) > REQUEST_PATH_MAX) {
		leave_out(copying, entry->path, "its path is too long");
		return 0;
	}
	if (read_to(copying, path, directory, name, entry->mode & 0777) == 0)
		return 0;
	/* Hidden in the sandbox, or gone meanwhile. */
	if (err->code != ERR_DENIED && err->code != ERR_MISSING)
		return -1;
	(void)unlinkat(directory, name, 0);
	leave_out(copying, entry->path, err->text);
	return 0;
}

static int copy_entry(struct copying *copying, const struct file_entry *entry)
{
	char name[NAME_MAX + 1];
	auto_fd int directory = open_parent(copying, entry->path, name);
	int result = 0;

	if (directory < 0) {
		leave_out(copying, entry->path,
			  "its directory is no directory here");
		return 0;
	}
	switch ((enum file_type)entry->type) {
	case FILE_REGULAR:
		return copy_file(copying, entry, directory, name);
	case FILE_DIRECTORY:
		result = make_directory(directory, name, entry->mode & 0777);
		break;
	case FILE_SYMLINK:
		if (leads_out(entry->path, entry->target))
			leave_out(copying, entry->path,
				  "a link that leads out of what is copied");
		else
			result = make_link(directory, name, entry->target);
		break;
	case FILE_OTHER:
	case FILE_TYPE_MAX:
		leave_out(copying, entry->path,
			  "neither a file nor a directory");
	}
	return result < 0 ? err_system(copying->err, "make %s", name) : 0;
}

static int copy_page(struct copying *copying)
{
	int result = 0;

	copying->count += copying->page.entries_count;
	if (copying->count > ENTRIES_MAX)
		return err_set(copying->err, ERR_TOO_LARGE,
			       "more than %d files", ENTRIES_MAX);
	for (size_t i = 0; result == 0 && i < copying->page.entries_count; i++)
		result = copy_entry(copying, &copying->page.entries[i]);
	return result;
}

static int copy_tree(struct copying *copying)
{
	int result = files_walk(copying->files, copying->path, &copying->page,
				copying->err);

	if (result == 0)
		result = copy_page(copying);
	while (result == 0 && copying->page.more) {
		result = files_walk_on(copying->files, &copying->page,
				       copying->err);
		if (result == 0)
			result = copy_page(copying);
	}
	return result;
}

int copy_out(struct files *files, const char *path, const char *to,
	     bool *is_whole, struct err *err)
{
	struct copying copying = {
		.files = files, .path = path, .is_whole = true, .err = err};
	struct file_shown shown;
	auto_fd int top = -1;
	int result;

	*is_whole = true;
	if (files_show(files, path, &shown, err) < 0)
		return -1;
	if (shown.type != FILE_DIRECTORY)
		return read_to(&copying, path, AT_FDCWD, to, shown.mode);
	if (make_directory(AT_FDCWD, to, shown.mode) < 0)
		return err_system(err, "make %s", to);
	top = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (top < 0)
		return err_system(err, "open %s", to);
	copying.top = top;
	result = copy_tree(&copying);
	*is_whole = copying.is_whole;
	return result;
}
