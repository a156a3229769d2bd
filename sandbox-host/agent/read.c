#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/agent/parts.h"

void answer_show(struct rpc_ticket ticket, const void *message, int *fd,
		 void *owner)
{
	const struct file_ref *ref = message;
	struct entry_text text;
	struct file_entry entry;
	char path[PATH_MAX] = "";

	(void)fd;
	if (path_copy(ref->path, path) < 0 ||
	    entry_read(AT_FDCWD, path, &text, &entry) < 0)
		agent_refuse(owner, ticket, ATTEMPT_READ, path);
	else
		rpc_reply(ticket, &file_entry_schema, &entry, -1);
}

/* Neither waits for a pipe's other end nor reads from a device. */
static int open_regular(const char *path)
{
	auto_fd int fd =
		open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (S_ISREG(st.st_mode))
		return take_fd(&fd);
	errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
	return -1;
}

void answer_open(struct rpc_ticket ticket, const void *message, int *fd,
		 void *owner)
{
	const struct file_ref *ref = message;
	struct agent *agent = owner;
	struct entry_text text;
	struct file_entry entry;
	char path[PATH_MAX] = "";
	auto_fd int opened = -1;

	(void)fd;
	if (path_copy(ref->path, path) == 0 &&
	    agent_may(agent, ATTEMPT_READ, path) == 0)
		opened = open_regular(path);
	if (opened < 0 || entry_read_open(opened, &text, &entry) < 0) {
		agent_refuse(agent, ticket, ATTEMPT_READ, path);
		return;
	}
	if (agent->reading >= 0)
		(void)close(agent->reading);
	agent->reading = take_fd(&opened);
	rpc_reply(ticket, &file_entry_schema, &entry, -1);
}

static ssize_t read_span(int fd, const struct file_span *span, uint8_t *out)
{
	size_t len = 0;

	while (len < span->len) {
		ssize_t got = pread(fd, out + len, span->len - len,
				    (off_t)(span->offset + len));

		if (got < 0)
			return -1;
		if (got == 0)
			break;
		len += (size_t)got;
	}
	return (ssize_t)len;
}

void answer_read(struct rpc_ticket ticket, const void *message, int *fd,
		 void *owner)
{
	static uint8_t bytes[FILE_PIECE_MAX];
	const struct file_span *span = message;
	const struct agent *agent = owner;
	struct file_piece piece;
	ssize_t len;

	(void)fd;
	if (agent->reading < 0 || span->offset > INT64_MAX - FILE_PIECE_MAX) {
		rpc_refuse(ticket, HOST_REFUSED_INVALID,
			   "there is nothing to read");
		return;
	}
	len = read_span(agent->reading, span, bytes);
	if (len < 0) {
		rpc_refuse(ticket, HOST_REFUSED, "the file can not be read");
		return;
	}
	piece.bytes = bytes_from(bytes, (size_t)len);
	rpc_reply(ticket, &file_piece_schema, &piece, -1);
}
