#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/io_backend.h"

/* SO_ORIGINAL_DST and IP6T_SO_ORIGINAL_DST; the kernel's headers for them
 * cannot be included next to netinet/in.h. */
#define ORIGINAL_DST 80

int io_sys_prepare(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -1;
	if (flags & O_NONBLOCK)
		return 0;
	return fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

/* Nearly all are sockets, and theirs are the shorter ways into the kernel. */
ssize_t io_sys_read(int fd, void *out, size_t size)
{
	ssize_t n = recv(fd, out, size, 0);

	return n < 0 && errno == ENOTSOCK ? read(fd, out, size) : n;
}

static ssize_t send_both(int fd, struct bytes bytes, struct bytes then,
			 int flags)
{
	struct iovec parts[2] = {{.iov_len = bytes.len}, {.iov_len = then.len}};
	const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

	memcpy(&parts[0].iov_base, &bytes.data, sizeof(bytes.data));
	memcpy(&parts[1].iov_base, &then.data, sizeof(then.data));
	return sendmsg(fd, &message, flags);
}

ssize_t io_sys_write(int fd, struct bytes bytes, struct bytes then,
		     bool has_more)
{
	int flags = MSG_NOSIGNAL | (has_more ? MSG_MORE : 0);
	ssize_t n = then.len ? send_both(fd, bytes, then, flags)
			     : send(fd, bytes.data, bytes.len, flags);

	return n < 0 && errno == ENOTSOCK ? write(fd, bytes.data, bytes.len)
					  : n;
}

int io_sys_shutdown(int fd)
{
	return shutdown(fd, SHUT_WR);
}

void io_sys_close(int fd)
{
	(void)close(fd);
}

/* ---- accepting ---- */

static bool is_same_address(const struct sockaddr_storage *a,
			    const struct sockaddr_storage *b)
{
	const struct sockaddr_in *a4 = (const struct sockaddr_in *)a;
	const struct sockaddr_in *b4 = (const struct sockaddr_in *)b;
	const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)a;
	const struct sockaddr_in6 *b6 = (const struct sockaddr_in6 *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return a4->sin_port == b4->sin_port &&
		       a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return a6->sin6_port == b6->sin6_port &&
	       !memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr));
}

/* Where the client wanted to go before netfilter redirected it. */
static int original_of(int fd, int family, struct sockaddr_storage *original)
{
	socklen_t size = sizeof(*original);

	*original = (struct sockaddr_storage){0};
	if (family == AF_INET)
		return getsockopt(fd, SOL_IP, ORIGINAL_DST, original, &size);
	if (family == AF_INET6)
		return getsockopt(fd, SOL_IPV6, ORIGINAL_DST, original, &size);
	return -1;
}

int io_sys_accept(int listener, struct io_accepted *out)
{
	struct sockaddr_storage local = {0};
	socklen_t size = sizeof(out->peer);
	auto_fd int fd = -1;

	*out = (struct io_accepted){.fd = -1};
	fd = accept4(listener, (struct sockaddr *)&out->peer, &size,
		     SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0)
		return -1;
	size = sizeof(local);
	if (getsockname(fd, (struct sockaddr *)&local, &size) < 0)
		return -1;
	out->was_redirected =
		original_of(fd, local.ss_family, &out->original) == 0 &&
		!is_same_address(&out->original, &local);
	if (!out->was_redirected)
		out->original = local;
	out->fd = take_fd(&fd);
	return 0;
}

/* ---- message sockets ---- */

/* The descriptors of a control message: the first into *fd when it is the
 * only one, else all are closed and -1. */
static int take_descriptors(struct msghdr *message, int *fd)
{
	size_t count = 0;

	for (struct cmsghdr *control = CMSG_FIRSTHDR(message); control;
	     control = CMSG_NXTHDR(message, control)) {
		size_t len = control->cmsg_len - CMSG_LEN(0);

		if (control->cmsg_level != SOL_SOCKET ||
		    control->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; at + sizeof(int) <= len;
		     at += sizeof(int)) {
			int got;

			memcpy(&got, CMSG_DATA(control) + at, sizeof(got));
			if (count++ == 0)
				*fd = got;
			else
				(void)close(got);
		}
	}
	if (count <= 1 && !(message->msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return 0;
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
	return -1;
}

/* The kernel tells first, and once, that the peer ended with some of ours
 * unread: what it had said before comes after that. */
static ssize_t receive(int socket, struct msghdr *message)
{
	bool was_told = false;

	for (;;) {
		ssize_t n = recvmsg(socket, message,
				    MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

		if (n >= 0 ||
		    (errno != EINTR && (errno != ECONNRESET || was_told)))
			return n;
		was_told |= errno == ECONNRESET;
	}
}

ssize_t io_message_receive(int socket, uint8_t *out, size_t size, int *fd,
			   struct err *err)
{
	union {
		struct cmsghdr align;
		uint8_t bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = {.iov_base = out, .iov_len = size};
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n;

	*fd = -1;
	n = receive(socket, &message);
	if (n < 0)
		return err_system(err, "receive a message");
	if (take_descriptors(&message, fd) < 0)
		return err_set(err, ERR_TOO_LARGE,
			       "receive a message: it is larger than %zu "
			       "bytes or carries more than one descriptor",
			       size);
	return n;
}

int io_message_send(int socket, struct bytes bytes, int fd, struct err *err)
{
	union {
		struct cmsghdr align;
		uint8_t bytes[CMSG_SPACE(sizeof(int))];
	} control = {.bytes = {0}};
	struct iovec part = {.iov_len = bytes.len};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t n;

	memcpy(&part.iov_base, &bytes.data, sizeof(part.iov_base));
	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
	}
	do {
		n = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? err_system(err, "send a message") : 0;
}

static int pair(int type, int fds[2], struct err *err)
{
	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) <
	    0)
		return err_system(err, "make a socket pair");
	return 0;
}

int io_message_pair(int fds[2], struct err *err)
{
	return pair(SOCK_SEQPACKET, fds, err);
}

int io_stream_pair(int fds[2], struct err *err)
{
	return pair(SOCK_STREAM, fds, err);
}
