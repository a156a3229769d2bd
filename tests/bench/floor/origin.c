#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "floor.h"

#define TLS_HANDSHAKE_BYTE 22

struct client {
	struct side side; /* first: events point at it */
	bool is_known;	  /* what it speaks */
	bool is_echo;
	long long left; /* of a body */
};

static char answer[256];
static size_t answer_len;

static bool look(struct client *client)
{
	uint8_t byte;

	if (recv(client->side.fd, &byte, 1, MSG_PEEK) != 1)
		return false;
	client->is_known = true;
	client->is_echo = byte == 'p';
	if (byte != TLS_HANDSHAKE_BYTE)
		return true;
	client->side.ssl = tls_server(NULL);
	client->side.is_shaking = true;
	SSL_set_fd(client->side.ssl, client->side.fd);
	return true;
}

/* False: a broken client. */
static bool take(struct client *client, size_t len)
{
	if (client->is_echo)
		return side_write(&client->side, chunk, len);
	if (client->left == 0) {
		ssize_t head = message_head(chunk, len, &client->left);

		if (head < 0)
			return false;
		client->left += head;
	}
	client->left -= (long long)len;
	if (client->left > 0)
		return true;
	client->left = 0;
	return side_write(&client->side, (const uint8_t *)answer, answer_len);
}

/* False: it is gone. */
static bool serve(struct client *client)
{
	struct side *side = &client->side;
	int ready;

	if (!client->is_known && !look(client))
		return true;
	ready = side_prepare(side);
	if (ready <= 0)
		return ready == 0;
	if (!side_flush(side))
		return false;
	for (;;) {
		ssize_t got = side_read(side, chunk, sizeof(chunk));

		if (got == SIDE_AGAIN)
			return true;
		if (got <= 0 || !take(client, (size_t)got))
			return false;
	}
}

void origin_run(int listener)
{
	struct epoll_event events[256];

	answer_len = (size_t)snprintf(answer, sizeof(answer),
				      "HTTP/1.1 200 OK\r\n"
				      "Content-Type: text/plain\r\n"
				      "Content-Length: 128\r\n\r\n%127s\n",
				      "x");
	for (;;) {
		int ready = epoll_wait(poller, events, 256, -1);

		for (int i = 0; i < ready; i++) {
			struct client *client = events[i].data.ptr;
			int fd = 0;

			if (client && !serve(client)) {
				side_close(&client->side);
				free(client);
			}
			while (!client && (fd = accept4(listener, NULL, NULL,
							SOCK_NONBLOCK)) >= 0) {
				struct client *one = calloc(1, sizeof(*one));

				side_open(&one->side, fd);
			}
		}
	}
}
