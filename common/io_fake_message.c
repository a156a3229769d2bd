#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/io_fake_core.h"

static int fail(struct err *err, int number, const char *what)
{
	errno = number;
	return err_system(err, "%s", what);
}

static struct fake_file *messages_of(int fd)
{
	struct fake_file *file = fake_file(fd);

	return file && file->kind == FAKE_MESSAGES ? file : NULL;
}

ssize_t io_message_receive(int socket, uint8_t *out, size_t size, int *fd,
			   struct err *err)
{
	struct fake_file *file = messages_of(socket);
	struct fake_message *message;
	size_t len;

	*fd = -1;
	if (!file)
		return fail(err, EBADF, "receive a message");
	message = TAILQ_FIRST(&file->messages);
	if (!message)
		return file->is_ended ? 0
				      : fail(err, EAGAIN, "receive a message");
	TAILQ_REMOVE(&file->messages, message, link);
	file->message_count--;
	len = message->len;
	*fd = message->fd;
	if (len > 0 && len <= size)
		memcpy(out, message->data, len);
	free(message);
	if (len <= size)
		return (ssize_t)len;
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
	return err_set(err, ERR_TOO_LARGE,
		       "receive a message: it is larger than %zu bytes", size);
}

int io_message_send(int socket, struct bytes bytes, int fd, struct err *err)
{
	struct fake_file *file = messages_of(socket);
	struct fake_message *message;

	if (!file)
		return fail(err, EBADF, "send a message");
	if (file->peer->refs == 0)
		return fail(err, EPIPE, "send a message");
	if (bytes.len > FAKE_MESSAGE_MAX)
		return fail(err, EMSGSIZE, "send a message");
	if (file->peer->message_count == FAKE_MESSAGES_MAX)
		return fail(err, EAGAIN, "send a message");
	message = malloc(sizeof(*message) + bytes.len);
	assert(message);
	message->fd = -1;
	message->len = bytes.len;
	if (bytes.len > 0)
		memcpy(message->data, bytes.data, bytes.len);
	if (fd >= 0) {
		message->fd = dup(fd);
		if (message->fd < 0) {
			free(message);
			return fail(err, EBADF, "send a message");
		}
	}
	TAILQ_INSERT_TAIL(&file->peer->messages, message, link);
	file->peer->message_count++;
	return 0;
}

/* Which of the two ends is the test's is not known: neither must close. */
int io_message_pair(int fds[2], struct err *err)
{
	(void)err;
	for (int i = 0; i < 2; i++) {
		fds[i] = fake_file_new(FAKE_MESSAGES);
		fake_file(fds[i])->is_of_test = true;
	}
	fake_join(fds[0], fds[1]);
	return 0;
}
