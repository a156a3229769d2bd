#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/agent/parts.h"

#define MODE_NEW  0644
#define NAMES_MAX 1000 /* that are tried for a temporary one */

/* ---- where ---- */

/* A file without a name; one with a name where there are none. */
static int open_temporary(struct writing *writing)
{
	char parent[PATH_MAX];
	int fd;

	path_parent(writing->target, parent);
	fd = open(parent, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd;
	for (unsigned i = 0; i < NAMES_MAX; i++) {
		if (snprintf(writing->temporary, PATH_MAX, "%s/.%d.%u.part",
			     parent, getpid(), i) >= PATH_MAX)
			break;
		fd = open(writing->temporary,
			  O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST)
			break;
	}
	if (fd < 0)
		writing->temporary[0] = '\0';
	return fd;
}

/* Another file can not be put in the place of a mount. */
static bool is_mount(const char *path)
{
	struct statx st;

	return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, 0, &st) == 0 &&
	       (st.stx_attributes_mask & st.stx_attributes &
		STATX_ATTR_MOUNT_ROOT);
}

static int open_in_place(struct writing *writing)
{
	writing->is_in_place = true;
	return open(writing->target, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
}

static int open_target(struct writing *writing, const struct stat *st)
{
	int fd;

	if (writing->exists && is_mount(writing->target))
		return open_in_place(writing);
	fd = open_temporary(writing);
	if (fd < 0 && writing->exists && (errno == EACCES || errno == EPERM))
		return open_in_place(writing);
	if (fd >= 0)
		(void)fchmod(fd,
			     writing->exists ? st->st_mode & 0777 : MODE_NEW);
	return fd;
}

/* May what is there be written? To put another file in its place does not
 * ask for that. A program that runs could be, if it did not: it goes on as it
 * is, with the file that it has. */
static int check_existing(const char *target, const struct stat *st)
{
	auto_fd int fd = -1;

	if (!S_ISREG(st->st_mode)) {
		errno = S_ISDIR(st->st_mode) ? EISDIR : EINVAL;
		return -1;
	}
	fd = open(target, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 && errno != ETXTBSY ? -1 : 0;
}

int writing_begin(struct writing *writing, const char *path)
{
	struct stat st = {0};

	*writing = (struct writing){.fd = -1};
	if (path_follow(path, writing->target) < 0 ||
	    path_make_parents(writing->target) < 0)
		return -1;
	writing->exists = lstat(writing->target, &st) == 0;
	if (writing->exists && check_existing(writing->target, &st) < 0)
		return -1;
	writing->fd = open_target(writing, &st);
	return writing->fd < 0 ? -1 : 0;
}

int writing_add(struct writing *writing, struct bytes bytes)
{
	while (bytes.len > 0) {
		ssize_t put = pwrite(writing->fd, bytes.data, bytes.len,
				     (off_t)writing->size);

		if (put < 0)
			return -1;
		writing->size += (uint64_t)put;
		bytes = bytes_slice(bytes, (size_t)put, bytes.len);
	}
	return 0;
}

/* ---- its place ---- */

static int give_name(const struct writing *writing, const char *name)
{
	char self[64];

	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", writing->fd);
	return linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

/* What is to replace another needs a name before. */
static int make_temporary_name(struct writing *writing)
{
	char parent[PATH_MAX];
	int result = -1;

	path_parent(writing->target, parent);
	for (unsigned i = 0; i < NAMES_MAX && result < 0; i++) {
		if (snprintf(writing->temporary, PATH_MAX, "%s/.%d.%u.part",
			     parent, getpid(), i) >= PATH_MAX)
			break;
		result = give_name(writing, writing->temporary);
		if (result < 0 && errno != EEXIST)
			break;
	}
	if (result < 0)
		writing->temporary[0] = '\0';
	return result;
}

static int put_in_place(struct writing *writing, bool may_replace)
{
	int result;

	if (writing->is_in_place)
		return ftruncate(writing->fd, (off_t)writing->size);
	if (!writing->temporary[0]) {
		result = give_name(writing, writing->target);
		if (result == 0 || errno != EEXIST || !may_replace)
			return result;
		if (make_temporary_name(writing) < 0)
			return -1;
	}
	result = renameat2(AT_FDCWD, writing->temporary, AT_FDCWD,
			   writing->target, may_replace ? 0 : RENAME_NOREPLACE);
	if (result == 0)
		writing->temporary[0] = '\0';
	return result;
}

int writing_commit(struct writing *writing, bool may_replace)
{
	int result = put_in_place(writing, may_replace);
	int number = errno;

	writing_drop(writing);
	errno = number;
	return result;
}

void writing_drop(struct writing *writing)
{
	if (writing->fd >= 0)
		(void)close(writing->fd);
	if (writing->temporary[0])
		(void)unlink(writing->temporary);
	*writing = (struct writing){.fd = -1};
}

/* ---- access ---- */

int write_set_access(int fd, const struct file_access *access)
{
	uid_t uid;
	gid_t gid;

	owner_of(access, &uid, &gid);
	if ((uid != (uid_t)-1 || gid != (gid_t)-1) && fchown(fd, uid, gid) < 0)
		return -1;
	return access->has_mode ? fchmod(fd, access->mode) : 0;
}

/* ---- answers ---- */

void answer_create(struct rpc_ticket ticket, const void *message, int *fd,
		   void *owner)
{
	const struct file_access *access = message;
	struct agent *agent = owner;
	char path[PATH_MAX] = "";

	(void)fd;
	writing_drop(&agent->writing);
	if (owner_check(access) < 0) {
		owner_refuse(ticket);
		return;
	}
	if (path_copy(access->path, path) < 0 ||
	    agent_may(agent, ATTEMPT_WRITE, path) < 0 ||
	    writing_begin(&agent->writing, path) < 0) {
		agent_refuse(agent, ticket, ATTEMPT_WRITE, path);
		writing_drop(&agent->writing);
	} else if (write_set_access(agent->writing.fd, access) < 0) {
		agent_refuse(agent, ticket, ATTEMPT_ACCESS, path);
		writing_drop(&agent->writing);
	} else {
		agent_reply_empty(ticket);
	}
}

static bool is_writing(const struct agent *agent, struct rpc_ticket ticket)
{
	if (agent->writing.fd < 0)
		rpc_refuse(ticket, HOST_REFUSED_INVALID,
			   "there is nothing to write to");
	return agent->writing.fd >= 0;
}

void answer_write(struct rpc_ticket ticket, const void *message, int *fd,
		  void *owner)
{
	const struct file_piece *piece = message;
	struct agent *agent = owner;

	(void)fd;
	if (!is_writing(agent, ticket))
		return;
	if (writing_add(&agent->writing, piece->bytes) == 0) {
		agent_reply_empty(ticket);
		return;
	}
	agent_refuse(agent, ticket, ATTEMPT_WRITE, agent->writing.target);
	writing_drop(&agent->writing);
}

void answer_commit(struct rpc_ticket ticket, const void *message, int *fd,
		   void *owner)
{
	struct agent *agent = owner;
	char target[PATH_MAX];

	(void)message;
	(void)fd;
	if (!is_writing(agent, ticket))
		return;
	memcpy(target, agent->writing.target, sizeof(target));
	if (writing_commit(&agent->writing, true) == 0)
		agent_reply_empty(ticket);
	else
		agent_refuse(agent, ticket, ATTEMPT_WRITE, target);
}
