#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "floor.h"

#define TELL(side, text)                                                       \
	side_write(side, (const uint8_t *)(text), sizeof(text) - 1)
#define REFUSAL                                                                \
	"HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\n"               \
	"Content-Length: 8\r\n\r\nrefused\n"

enum state { FIRST, TUNNEL, REQUESTS, OVER };

struct conn {
	struct side client;
	struct side *server; /* NULL: none needed now */
	enum state state;
	bool is_asking;	     /* a response is due */
	long long up_left;   /* of the request's body */
	long long down_left; /* of the response */
	uint16_t port;
	char *name;	   /* behind CONNECT */
	struct conn *next; /* among the dead */
};

static struct in_addr address;
static bool is_inspecting;
/* An end was announced: read until it is there. */
static bool is_ending;
static struct side *pool, *dead_sides;
static struct conn *dead_conns;

/* ---- ends ---- */

static void drop_server(struct side *server)
{
	side_close(server);
	server->next = dead_sides;
	dead_sides = server;
}

/* Its memory goes when no event of this turn can mean it. */
static void drop_conn(struct conn *conn)
{
	if (conn->server)
		drop_server(conn->server);
	side_close(&conn->client);
	conn->state = OVER;
	conn->next = dead_conns;
	dead_conns = conn;
}

static void bury(void)
{
	while (dead_sides) {
		struct side *side = dead_sides;

		dead_sides = side->next;
		free(side);
	}
	while (dead_conns) {
		struct conn *conn = dead_conns;

		dead_conns = conn->next;
		free(conn->name);
		free(conn);
	}
}

/* ---- upstream ---- */

static struct side *take_pooled(const char *name, uint16_t port)
{
	for (struct side **at = &pool; *at; at = &(*at)->next) {
		struct side *side = *at;

		if (side->port != port || strcmp(side->name, name) != 0)
			continue;
		*at = side->next;
		return side;
	}
	return NULL;
}

static struct side *connect_to(const char *name, uint16_t port, bool is_tls)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr = address,
	};
	struct side *side = calloc(1, sizeof(*side));
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	if (!side || fd < 0)
		fail("socket");
	side->port = port;
	side->name = strdup(name);
	side->is_connecting = true;
	if (is_tls) {
		side->ssl = tls_client(name);
		SSL_set_fd(side->ssl, fd);
		side->is_shaking = true;
	}
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 &&
	    errno != EINPROGRESS)
		fail("connect");
	side_open(side, fd);
	return side;
}

static void want_server(struct conn *conn, const char *name)
{
	bool is_tls = conn->state == REQUESTS && conn->client.ssl;

	if (conn->state == REQUESTS)
		conn->server = take_pooled(name, conn->port);
	if (!conn->server)
		conn->server = connect_to(name, conn->port, is_tls);
	conn->server->conn = conn;
}

static void put_back(struct conn *conn)
{
	struct side *server = conn->server;

	conn->server = NULL;
	server->conn = NULL;
	server->next = pool;
	pool = server;
}

static void drop_pooled(struct side *server)
{
	struct side **at = &pool;

	while (*at != server)
		at = &(*at)->next;
	*at = server->next;
	drop_server(server);
}

/* ---- the head of a connection ---- */

/* "host:port" of text into the conn; its host. */
static bool take_target(struct conn *conn, const char *text)
{
	char name[NAME_SIZE];
	unsigned port;

	if (sscanf(text, "%255[^:/ ]:%u", name, &port) != 2)
		return false;
	free(conn->name);
	conn->name = strdup(name);
	conn->port = (uint16_t)port;
	return true;
}

static bool begin_connect(struct conn *conn)
{
	if (!strncmp(conn->name, "denied.", 7))
		return TELL(&conn->client, REFUSAL);
	if (!TELL(&conn->client, "HTTP/1.1 200 Connection established\r\n\r\n"))
		return false;
	conn->state = is_inspecting ? REQUESTS : TUNNEL;
	if (is_inspecting) {
		conn->client.ssl = tls_server(conn->name);
		SSL_set_fd(conn->client.ssl, conn->client.fd);
		conn->client.is_shaking = true;
	} else {
		want_server(conn, conn->name);
	}
	return true;
}

/* ---- requests ---- */

/* "GET http://host:port/path" becomes "GET /path": the new length. */
static size_t cut_url(struct conn *conn, uint8_t *text, size_t len)
{
	uint8_t *url = memmem(text, len, "http://", 7);
	uint8_t *path = url ? memchr(url + 7, '/', 255) : NULL;

	if (!path || !take_target(conn, (const char *)url + 7))
		return len;
	memmove(url, path, len - (size_t)(path - text));
	return len - (size_t)(path - url);
}

static bool begin_request(struct conn *conn, size_t len)
{
	ssize_t head = message_head(chunk, len, &conn->up_left);
	const uint8_t *path = memchr(chunk, ' ', len);

	if (head < 0)
		return false;
	if (path && !strncmp((const char *)path, " /denied", 8))
		return TELL(&conn->client, REFUSAL);
	conn->up_left -= (long long)len - head;
	if (!conn->client.ssl)
		len = cut_url(conn, chunk, len);
	conn->is_asking = true;
	conn->down_left = 0;
	want_server(conn, conn->name);
	return side_write(conn->server, chunk, len);
}

static bool take_up(struct conn *conn, size_t len)
{
	switch (conn->state) {
	case FIRST:
		if (!strncmp((const char *)chunk, "CONNECT ", 8))
			return take_target(conn, (const char *)chunk + 8) &&
			       begin_connect(conn);
		conn->state = REQUESTS;
		return begin_request(conn, len);
	case TUNNEL:
		return side_write(conn->server, chunk, len);
	case REQUESTS:
		if (!conn->is_asking)
			return begin_request(conn, len);
		conn->up_left -= (long long)len;
		return side_write(conn->server, chunk, len);
	case OVER:
	default:
		return false;
	}
}

static bool take_down(struct conn *conn, size_t len)
{
	if (conn->state == REQUESTS && conn->down_left == 0) {
		ssize_t head = message_head(chunk, len, &conn->down_left);

		if (head < 0)
			return false;
		conn->down_left += head;
	}
	conn->down_left -= (long long)len;
	return side_write(&conn->client, chunk, len);
}

static bool is_answered(const struct conn *conn)
{
	return conn->state == REQUESTS && conn->down_left <= 0 &&
	       conn->up_left <= 0;
}

/* ---- moving ---- */

/* Move what there is. False: an end is there. */
static bool move_up(struct conn *conn)
{
	struct side *client = &conn->client;

	while (!client->is_shaking && !(conn->server && conn->server->out)) {
		ssize_t got = side_read(client, chunk, sizeof(chunk) - 1);

		if (got == SIDE_AGAIN)
			return true;
		if (got <= 0)
			return false;
		chunk[got] = '\0';
		if (!take_up(conn, (size_t)got))
			return false;
		/* A short read emptied the socket. */
		if (is_ending)
			continue;
		if ((client->ssl ? !SSL_has_pending(client->ssl)
				 : (size_t)got < sizeof(chunk) - 1) &&
		    conn->up_left <= 0)
			return true;
	}
	return true;
}

static bool move_down(struct conn *conn)
{
	while (conn->server && !conn->client.out) {
		struct side *server = conn->server;
		ssize_t got = side_read(server, chunk, sizeof(chunk) - 1);

		if (got == SIDE_AGAIN)
			return true;
		if (got <= 0)
			return false;
		chunk[got] = '\0';
		if (!take_down(conn, (size_t)got))
			return false;
		if (is_answered(conn)) {
			conn->is_asking = false;
			put_back(conn);
		} else if (!server->ssl && !is_ending &&
			   (size_t)got < sizeof(chunk) - 1) {
			return true;
		}
	}
	return true;
}

/* -1: broken. */
static int prepare(struct side *side)
{
	int ready = side_prepare(side);

	return ready > 0 && !side_flush(side) ? -1 : ready;
}

static void on_event(struct side *side, unsigned events)
{
	struct conn *conn = side->is_client ? (struct conn *)side : side->conn;

	if (side->is_dead)
		return;
	is_ending = events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR);
	if (!conn) {
		/* A ticket may come to the pool; an end is an end. */
		if (is_ending)
			drop_pooled(side);
		return;
	}
	if (prepare(side) < 0) {
		drop_conn(conn);
		return;
	}
	if ((conn->server && !conn->server->is_connecting &&
	     !conn->server->is_shaking && !move_down(conn)) ||
	    !move_up(conn))
		drop_conn(conn);
}

/* ---- the process ---- */

int listen_on(const char *where, const char *port)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)atoi(port)),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int on = 1;

	poller = epoll_create1(0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (inet_pton(AF_INET, where, &at.sin_addr) != 1 ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(fd, 4096) < 0 ||
	    epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) < 0)
		fail(port);
	return fd;
}

static void accept_all(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);

	while (fd >= 0) {
		struct conn *conn = calloc(1, sizeof(*conn));

		if (!conn)
			fail("calloc");
		conn->client.is_client = true;
		side_open(&conn->client, fd);
		fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
	}
}

static noreturn void proxy_run(int listener)
{
	struct epoll_event events[256];

	for (;;) {
		int ready = epoll_wait(poller, events, 256, -1);

		for (int i = 0; i < ready; i++) {
			if (events[i].data.ptr)
				on_event(events[i].data.ptr, events[i].events);
			else
				accept_all(listener);
		}
		bury();
	}
}

int main(int argc, char **argv)
{
	bool is_origin = argc == 5 && !strcmp(argv[1], "origin");

	if (!is_origin && (argc != 6 || strcmp(argv[1], "proxy") != 0)) {
		fprintf(stderr, "floor: see tests/bench/floor/floor.h\n");
		return 2;
	}
	if (inet_pton(AF_INET, argv[3], &address) != 1)
		fail(argv[3]);
	signal(SIGPIPE, SIG_IGN);
	tls_init(argv[4], is_origin);
	if (is_origin)
		origin_run(listen_on(argv[3], argv[2]));
	is_inspecting = atoi(argv[5]) == 1;
	proxy_run(listen_on("127.0.0.1", argv[2]));
}
