#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/agent/parts.h"

#define COPY_BYTES (64 * 1024)

static void finish(struct agent *agent, struct rpc_ticket ticket, int result,
		   enum attempt attempt, const char *path)
{
	if (result == 0)
		agent_reply_empty(ticket);
	else
		agent_refuse(agent, ticket, attempt, path);
}

/* ---- remove ---- */

/* A read-only file system says so even of what is not there. */
static int remove_path(const struct agent *agent, char path[PATH_MAX],
		       bool is_directory)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return -1;
	if (!is_directory)
		return unlink(path);
	if (S_ISDIR(st.st_mode))
		return path_remove_tree(agent, path);
	errno = ENOTDIR;
	return -1;
}

void answer_remove(struct rpc_ticket ticket, const void *message, int *fd,
		   void *owner)
{
	const struct file_remove *wanted = message;
	char path[PATH_MAX] = "";
	int result = path_copy(wanted->path, path) < 0 ||
				     agent_may(owner, ATTEMPT_REMOVE, path) < 0
			     ? -1
			     : 0;

	(void)fd;
	if (result == 0)
		result = remove_path(owner, path, wanted->is_directory);
	finish(owner, ticket, result, ATTEMPT_REMOVE, path);
}

/* ---- move ---- */

static int copy_bytes(int from, struct writing *to)
{
	static uint8_t bytes[COPY_BYTES];
	ssize_t got;

	while ((got = read(from, bytes, sizeof(bytes))) > 0)
		if (writing_add(to, bytes_from(bytes, (size_t)got)) < 0)
			return -1;
	return got < 0 ? -1 : 0;
}

/* To another file system: a file alone. */
static int move_far(const char *from, const char *to)
{
	auto_fd int fd = open(from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
					    O_NOCTTY | O_CLOEXEC);
	struct writing writing;
	struct stat st;
	int result;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (!S_ISREG(st.st_mode)) {
		errno = EXDEV;
		return -1;
	}
	result = writing_begin(&writing, to);
	if (result == 0 && (copy_bytes(fd, &writing) < 0 ||
			    fchmod(writing.fd, st.st_mode & 0777) < 0)) {
		int number = errno;

		writing_drop(&writing);
		errno = number;
		return -1;
	}
	return result < 0 || writing_commit(&writing, false) < 0 ? -1
								 : unlink(from);
}

static int move(const char *from, const char *to)
{
	struct stat st;

	/* Nothing is made for what is not there. */
	if (lstat(from, &st) < 0)
		return -1;
	if (lstat(to, &st) == 0) {
		errno = EEXIST;
		return -1;
	}
	if (path_make_parents(to) < 0)
		return -1;
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	return errno == EXDEV ? move_far(from, to) : -1;
}

void answer_move(struct rpc_ticket ticket, const void *message, int *fd,
		 void *owner)
{
	const struct file_pair *pair = message;
	char from[PATH_MAX] = "", to[PATH_MAX] = "";
	int result = path_copy(pair->from, from) < 0 ||
				     path_copy(pair->to, to) < 0 ||
				     agent_may(owner, ATTEMPT_MOVE, from) < 0 ||
				     agent_may(owner, ATTEMPT_MOVE, to) < 0 ||
				     agent_may_move(owner, from, to) < 0 ||
				     move(from, to) < 0
			     ? -1
			     : 0;
	/* Which of the two it was about. */
	const char *about = errno == ENOENT ? from : to;

	(void)fd;
	finish(owner, ticket, result, ATTEMPT_MOVE, about);
}

/* ---- make ---- */

static int set_access(const char *path, const struct file_access *access)
{
	uid_t uid;
	gid_t gid;

	owner_of(access, &uid, &gid);
	if ((uid != (uid_t)-1 || gid != (gid_t)-1) && chown(path, uid, gid) < 0)
		return -1;
	return access->has_mode ? chmod(path, access->mode) : 0;
}

void answer_mkdir(struct rpc_ticket ticket, const void *message, int *fd,
		  void *owner)
{
	const struct file_access *access = message;
	char path[PATH_MAX] = "";

	(void)fd;
	if (owner_check(access) < 0)
		owner_refuse(ticket);
	else if (path_copy(access->path, path) < 0 ||
		 agent_may(owner, ATTEMPT_MAKE, path) < 0 ||
		 path_make(path) < 0)
		finish(owner, ticket, -1, ATTEMPT_MAKE, path);
	else
		finish(owner, ticket, set_access(path, access), ATTEMPT_ACCESS,
		       path);
}

void answer_link(struct rpc_ticket ticket, const void *message, int *fd,
		 void *owner)
{
	const struct file_pair *pair = message;
	char from[PATH_MAX] = "", to[PATH_MAX] = "";
	int result = path_copy(pair->from, from) < 0 ||
				     path_copy(pair->to, to) < 0 ||
				     agent_may(owner, ATTEMPT_LINK, to) < 0 ||
				     path_make_parents(to) < 0 ||
				     symlink(from, to) < 0
			     ? -1
			     : 0;

	(void)fd;
	finish(owner, ticket, result, ATTEMPT_LINK, to);
}

void answer_set_access(struct rpc_ticket ticket, const void *message, int *fd,
		       void *owner)
{
	const struct file_access *access = message;
	char path[PATH_MAX] = "";

	(void)fd;
	if (owner_check(access) < 0)
		owner_refuse(ticket);
	else if (path_copy(access->path, path) < 0 ||
		 agent_may(owner, ATTEMPT_ACCESS, path) < 0)
		finish(owner, ticket, -1, ATTEMPT_ACCESS, path);
	else
		finish(owner, ticket, set_access(path, access), ATTEMPT_ACCESS,
		       path);
}
