#include "sandbox-host/flow/birth.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/wire.h"
#include "sandbox-host/flow/messages.h"

static const struct wire_field birth_fields[] = {
	WIRE_TEXT(struct birth, id, HOST_ID_MAX),
	WIRE_BYTES(struct birth, image, BIRTH_PATH_MAX),
	WIRE_BYTES(struct birth, image_settings, BIRTH_PATH_MAX),
	WIRE_BOOL(struct birth, image_is_read_only),
	WIRE_BOOL(struct birth, is_bounded),
	WIRE_BOOL(struct birth, is_pooled),
	WIRE_BOOL(struct birth, is_ahead),
};
static const struct wire_schema birth_schema =
	WIRE_SCHEMA("birth", struct birth, birth_fields);

union birth_buffer {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int) * BIRTH_FDS)];
};

int birth_send(int channel, const struct birth *birth, const int fds[BIRTH_FDS],
	       struct err *err)
{
	auto_type(buf_release) struct buf out;
	union birth_buffer buffer = {0};
	struct iovec iov;
	struct msghdr header = {.msg_iov = &iov,
				.msg_iovlen = 1,
				.msg_control = buffer.bytes,
				.msg_controllen = sizeof(buffer.bytes)};
	struct bytes text;

	buf_init(&out, WIRE_MESSAGE_MAX);
	if (wire_encode(&birth_schema, birth, &out, err) < 0)
		return -1;
	text = buf_view(&out);
	iov = (struct iovec){(void *)(uintptr_t)text.data, text.len};
	buffer.header.cmsg_level = SOL_SOCKET;
	buffer.header.cmsg_type = SCM_RIGHTS;
	buffer.header.cmsg_len = CMSG_LEN(sizeof(int) * BIRTH_FDS);
	memcpy(CMSG_DATA(&buffer.header), fds, sizeof(int) * BIRTH_FDS);
	if (sendmsg(channel, &header, MSG_NOSIGNAL) != (ssize_t)text.len)
		return err_system(err, "give a supervisor its sandbox");
	return 0;
}

/* All of them, or none. */
static int take_fds(struct msghdr *header, int fds[BIRTH_FDS])
{
	const struct cmsghdr *cmsg = CMSG_FIRSTHDR(header);
	size_t count = 0;

	if (cmsg && cmsg->cmsg_level == SOL_SOCKET &&
	    cmsg->cmsg_type == SCM_RIGHTS)
		count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	if (count > 0)
		memcpy(fds, CMSG_DATA(cmsg), count * sizeof(int));
	if (count == BIRTH_FDS)
		return 0;
	for (size_t i = 0; i < count; i++)
		(void)close(fds[i]);
	return -1;
}

static void wait_for(int channel)
{
	struct pollfd fd = {.fd = channel, .events = POLLIN};

	while (poll(&fd, 1, -1) < 0 && errno == EINTR)
		;
}

int birth_receive(int channel, struct arena *arena, struct birth *birth,
		  int fds[BIRTH_FDS], struct err *err)
{
	auto_free uint8_t *bytes = malloc(WIRE_MESSAGE_MAX);
	struct iovec iov = {bytes, WIRE_MESSAGE_MAX};
	union birth_buffer buffer;
	struct msghdr header = {.msg_iov = &iov,
				.msg_iovlen = 1,
				.msg_control = buffer.bytes,
				.msg_controllen = sizeof(buffer.bytes)};
	struct bytes text;
	ssize_t len;

	if (!bytes)
		return err_set(err, ERR_TOO_LARGE, "no memory");
	wait_for(channel);
	len = recvmsg(channel, &header, MSG_CMSG_CLOEXEC);
	if (len < 0)
		return err_system(err, "wait for a sandbox");
	if (len == 0)
		return err_set(err, ERR_CLOSED, "the daemon has gone");
	if (take_fds(&header, fds) < 0)
		return err_set(err, ERR_INVALID,
			       "a sandbox that is not whole was given");
	text = arena_copy(arena, bytes_from(bytes, (size_t)len));
	if (text.len == (size_t)len &&
	    wire_decode(&birth_schema, text, arena, birth, err) == 0)
		return 0;
	for (size_t i = 0; i < BIRTH_FDS; i++)
		(void)close(fds[i]);
	return -1;
}
