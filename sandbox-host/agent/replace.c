/* One text in the place of another, wherever it stands in a file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/agent/parts.h"

#define READ_BYTES (64 * 1024)

static int read_all(const char *path, struct buf *out)
{
	auto_fd int fd =
		open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	ssize_t got;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (!S_ISREG(st.st_mode)) {
		errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
		return -1;
	}
	do {
		uint8_t *room = buf_reserve(out, READ_BYTES);

		if (!room) {
			errno = EFBIG;
			return -1;
		}
		got = read(fd, room, READ_BYTES);
		if (got > 0)
			buf_commit(out, (size_t)got);
	} while (got > 0);
	return got < 0 ? -1 : 0;
}

/* Write it with the replacements; each stands behind the one before. */
static int write_replaced(struct writing *writing, struct bytes text,
			  const struct file_replace *replace, uint64_t *count)
{
	size_t from = 0;
	ptrdiff_t at;

	while ((at = bytes_find_bytes(text, replace->old, from)) >= 0) {
		if (writing_add(writing, bytes_slice(text, from, (size_t)at)) <
			    0 ||
		    writing_add(writing, replace->new) < 0)
			return -1;
		if (writing->size > FILE_REPLACED_MAX) {
			errno = EFBIG;
			return -1;
		}
		from = (size_t)at + replace->old.len;
		(*count)++;
	}
	return writing_add(writing, bytes_slice(text, from, text.len));
}

static int replace_in(const char *path, const struct file_replace *replace,
		      uint64_t *count)
{
	auto_type(buf_release) struct buf text;
	struct writing writing;

	/* Room for the last read, which finds the end. */
	buf_init(&text, FILE_REPLACED_MAX + READ_BYTES);
	if (read_all(path, &text) < 0)
		return -1;
	if (bytes_find_bytes(buf_view(&text), replace->old, 0) < 0)
		return 0;
	if (writing_begin(&writing, path) < 0)
		return -1;
	if (write_replaced(&writing, buf_view(&text), replace, count) < 0) {
		int number = errno;

		writing_drop(&writing);
		errno = number;
		return -1;
	}
	return writing_commit(&writing, true);
}

void answer_replace(struct rpc_ticket ticket, const void *message, int *fd,
		    void *owner)
{
	struct file_replace replace;
	struct request_memory memory;
	struct file_count reply = {0};
	char path[PATH_MAX] = "";
	struct err err;

	(void)message;
	if (file_replace_open(*fd, &memory, &replace, &err) < 0) {
		rpc_refuse(ticket, HOST_REFUSED_INVALID, "%s", err.text);
		return;
	}
	if (path_copy(replace.path, path) < 0 ||
	    agent_may(owner, ATTEMPT_WRITE, path) < 0 ||
	    replace_in(path, &replace, &reply.count) < 0)
		agent_refuse(owner, ticket, ATTEMPT_WRITE, path);
	else
		rpc_reply(ticket, &file_count_schema, &reply, -1);
	request_release(&memory);
}
