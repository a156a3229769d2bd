#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "floor.h"

int poller;
uint8_t chunk[CHUNK];

void fail(const char *what)
{
	perror(what);
	exit(1);
}

void side_open(struct side *side, int fd)
{
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
		.data.ptr = side,
	};
	int on = 1;

	side->fd = fd;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (epoll_ctl(poller, EPOLL_CTL_ADD, side->fd, &event) < 0)
		fail("epoll_ctl");
}

static int tls_result(struct side *side, int result)
{
	int error = SSL_get_error(side->ssl, result);

	if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
		return SIDE_AGAIN;
	/* Else the next connection's error would be this one. */
	ERR_clear_error();
	return SIDE_ENDED;
}

ssize_t side_read(struct side *side, uint8_t *out, size_t size)
{
	ssize_t got;

	if (side->ssl) {
		got = SSL_read(side->ssl, out, (int)size);
		return got > 0 ? got : tls_result(side, (int)got);
	}
	got = recv(side->fd, out, size, 0);
	if (got < 0)
		return errno == EAGAIN ? SIDE_AGAIN : SIDE_ENDED;
	return got;
}

/* How much went; -1: broken. */
static ssize_t side_send(struct side *side, const uint8_t *data, size_t len)
{
	size_t sent = 0;

	while (sent < len) {
		ssize_t n;

		if (side->ssl) {
			n = SSL_write(side->ssl, data + sent,
				      (int)(len - sent));
			if (n <= 0 && tls_result(side, (int)n) == SIDE_AGAIN)
				break;
		} else {
			n = send(side->fd, data + sent, len - sent,
				 MSG_NOSIGNAL);
			if (n < 0 && errno == EAGAIN)
				break;
		}
		if (n <= 0)
			return -1;
		sent += (size_t)n;
	}
	return (ssize_t)sent;
}

bool side_write(struct side *side, const uint8_t *data, size_t len)
{
	bool waits = side->out || side->is_connecting || side->is_shaking;
	ssize_t sent = waits ? 0 : side_send(side, data, len);

	if (sent < 0)
		return false;
	if ((size_t)sent == len)
		return true;
	side->out = realloc(side->out, side->out_len + len - (size_t)sent);
	if (!side->out)
		fail("realloc");
	memcpy(side->out + side->out_len, data + sent, len - (size_t)sent);
	side->out_len += len - (size_t)sent;
	return true;
}

bool side_flush(struct side *side)
{
	ssize_t sent;

	if (!side->out || side->is_connecting || side->is_shaking)
		return true;
	sent = side_send(side, side->out, side->out_len);
	if (sent < 0)
		return false;
	side->out_len -= (size_t)sent;
	if (side->out_len > 0) {
		memmove(side->out, side->out + sent, side->out_len);
		return true;
	}
	free(side->out);
	side->out = NULL;
	return true;
}

int side_prepare(struct side *side)
{
	int error = 0;
	socklen_t size = sizeof(error);
	int result;

	if (side->is_connecting) {
		struct sockaddr_storage peer;
		socklen_t peer_size = sizeof(peer);

		if (getpeername(side->fd, (struct sockaddr *)&peer,
				&peer_size) < 0) {
			getsockopt(side->fd, SOL_SOCKET, SO_ERROR, &error,
				   &size);
			return error ? -1 : 0;
		}
		side->is_connecting = false;
	}
	if (!side->is_shaking)
		return 1;
	result = SSL_do_handshake(side->ssl);
	if (result <= 0)
		return tls_result(side, result) == SIDE_AGAIN ? 0 : -1;
	side->is_shaking = false;
	return 1;
}

void side_close(struct side *side)
{
	if (side->ssl) {
		SSL_set_shutdown(side->ssl,
				 SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
		SSL_free(side->ssl);
	}
	if (side->fd >= 0)
		close(side->fd);
	free(side->out);
	free(side->name);
	side->ssl = NULL;
	side->out = NULL;
	side->name = NULL;
	side->fd = -1;
	side->is_dead = true;
}
