#include "sandbox-host/control.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/plain.h"

union control_buffer {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int) * CONTROL_FDS_MAX)];
};

int control_pair(int fds[2], struct err *err)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return err_system(err, "make a control channel");
	return 0;
}

int control_send(int fd, const struct control_message *message, const int *fds,
		 size_t fd_count, struct err *err)
{
	struct control_message copy = *message;
	struct iovec iov = {&copy, sizeof(copy)};
	union control_buffer buffer;
	struct msghdr header = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t len;

	assert(fd_count <= CONTROL_FDS_MAX);
	if (fd_count) {
		struct cmsghdr *cmsg = &buffer.header;

		header.msg_control = buffer.bytes;
		header.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
		memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * fd_count);
	}
	do {
		len = sendmsg(fd, &header, MSG_NOSIGNAL);
	} while (len < 0 && errno == EINTR);
	return len < 0 ? err_system(err, "send on the control channel") : 0;
}

static void take_fds(struct msghdr *header, int *fds, size_t *fd_count)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(header);
	size_t room = *fd_count;
	size_t count = 0;
	int got[CONTROL_FDS_MAX];

	*fd_count = 0;
	if (!cmsg || cmsg->cmsg_level != SOL_SOCKET ||
	    cmsg->cmsg_type != SCM_RIGHTS)
		return;
	count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(got, CMSG_DATA(cmsg), count * sizeof(int));
	for (size_t i = 0; i < count; i++) {
		if (i < room)
			fds[(*fd_count)++] = got[i];
		else
			(void)close(got[i]);
	}
}

int control_receive(int fd, struct control_message *message, int *fds,
		    size_t *fd_count, struct err *err)
{
	struct iovec iov = {message, sizeof(*message)};
	union control_buffer buffer;
	struct msghdr header = {.msg_iov = &iov,
				.msg_iovlen = 1,
				.msg_control = buffer.bytes,
				.msg_controllen = sizeof(buffer.bytes)};
	size_t none = 0;
	ssize_t len;

	do {
		len = recvmsg(fd, &header, MSG_CMSG_CLOEXEC);
	} while (len < 0 && errno == EINTR);
	if (len < 0)
		return err_system(err, "receive on the control channel");
	if (len == 0)
		return err_set(err, ERR_CLOSED,
			       "the sandbox ended without a word");
	take_fds(&header, fds, fd_count ? fd_count : &none);
	if (len != sizeof(*message) || message->kind >= CONTROL_KIND_MAX)
		return err_set(err, ERR_INVALID,
			       "a message of the wrong shape");
	message->err.text[ERR_TEXT_MAX - 1] = '\0';
	/* As plan.c says. */
	plain_text(message->err.text);
	return 0;
}

static void close_all(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		(void)close(fds[i]);
}

int control_expect(int fd, enum control_kind kind, int *fds, size_t *fd_count,
		   struct err *err)
{
	struct control_message message;

	if (control_receive(fd, &message, fds, fd_count, err) < 0)
		return -1;
	if (message.kind == kind)
		return 0;
	if (fd_count)
		close_all(fds, *fd_count);
	if (message.kind != CONTROL_FAILED)
		return err_set(err, ERR_INVALID, "an unexpected message");
	if (err)
		*err = message.err;
	return -1;
}
