/*
 * The client of tests/bench/proxies: TLS inside CONNECT, which wrk cannot.
 * One thread, one epoll; every server certificate is verified.
 *
 *	load VIA ADDRESS NAME CA MODE CONNECTIONS SECONDS PATH STATUS BODY
 *
 * VIA: "proxy" sends CONNECT to ADDRESS (host:port), "direct" speaks TLS to
 * it at once; "clear-proxy" and "clear-direct" do without TLS and CONNECT.
 * NAME (host:port) is whom the request is for. MODE:
 *	keep	one request after the other on each connection
 *	new	a connection each request, with a full handshake
 *	resumed	the same, resumed where the server allows it
 *	names	new, each for another name (n17.NAME), NAMES_MAX in all
 *	idle	one request on each connection, then wait for stdin's end
 *	echo	a connection each, CONNECT, five bytes there and back, no TLS
 *	refused	a connection each, CONNECT; STATUS comes at once, or to a
 *		request in the clear behind it
 * STATUS is wanted of every response. BODY: bytes of a POST's; 0: a GET.
 * Prints an empty line when the measurement begins (keep: each connection
 * has had a response), then one JSON object.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define LATENCY_MAX_US 4000000
#define WARM_MAX_US    30000000
#define IN_MAX	       (256 * 1024)
#define NAMES_MAX      150

#define SMALL_BODY 4096 /* goes with its head */

enum mode { KEEP, NEW, RESUMED, NAMES, IDLE, ECHO, REFUSED };
enum state {
	CONNECT,
	ANSWER,
	HANDSHAKE,
	SEND,
	UPLOAD,
	HEAD,
	BODY,
	PING,
	PONG,
	RESTING
};

struct conn {
	int fd;
	SSL *ssl;
	enum state state;
	char name[300]; /* whom it is for, without port */
	char head[4096];
	size_t head_len;
	int is_warm;
	int is_last;	/* the server ends the connection */
	long long left; /* of the body, or of ours */
	uint64_t began_us;
};

static struct sockaddr_in address;
static int is_proxy, is_clear;
static const char *host, *port, *path, *status;
static long long body;
static SSL_SESSION *session;
static enum mode mode;
static SSL_CTX *tls;
static int poller;
static uint64_t begin_us, length_us, end_us, names_used;
static unsigned warm, count;
static unsigned long long requests, failures, bytes_in, bytes_out, resting;
static uint32_t histogram[LATENCY_MAX_US / 10 + 1]; /* of 10 us */
static char in[IN_MAX];

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int keep_session(SSL *ssl, SSL_SESSION *got)
{
	(void)ssl;
	SSL_SESSION_free(session);
	session = got;
	return 1;
}

static void conn_new_tls(struct conn *conn)
{
	conn->ssl = SSL_new(tls);
	SSL_set_fd(conn->ssl, conn->fd);
	SSL_set_connect_state(conn->ssl);
	SSL_set_tlsext_host_name(conn->ssl, conn->name);
	SSL_set1_host(conn->ssl, conn->name);
	if (mode == RESUMED && session)
		SSL_set_session(conn->ssl, session);
}

static void conn_open(struct conn *conn)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET,
				    .data.ptr = conn};
	struct linger linger = {1, 0};
	int on = 1;

	conn->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (conn->fd < 0)
		fail("socket");
	setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	conn->state = is_clear ? SEND : is_proxy ? CONNECT : HANDSHAKE;
	if (mode == ECHO && !is_proxy)
		conn->state = PING;
	conn->head_len = 0;
	conn->began_us = now_us();
	if (mode == NAMES)
		snprintf(conn->name, sizeof(conn->name), "n%llu.%s",
			 (unsigned long long)names_used++, host);
	else
		snprintf(conn->name, sizeof(conn->name), "%s", host);
	conn->ssl = NULL;
	if (!is_clear && mode != ECHO && mode != REFUSED)
		conn_new_tls(conn);
	if (connect(conn->fd, (struct sockaddr *)&address, sizeof(address)) <
		    0 &&
	    errno != EINPROGRESS)
		fail("connect");
	if (epoll_ctl(poller, EPOLL_CTL_ADD, conn->fd, &event) < 0)
		fail("epoll_ctl");
}

static void conn_close(struct conn *conn)
{
	if (conn->ssl)
		SSL_set_shutdown(conn->ssl,
				 SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
	SSL_free(conn->ssl);
	close(conn->fd);
}

static void conn_again(struct conn *conn, int failed)
{
	failures += (unsigned)failed;
	conn_close(conn);
	if (failures > 1000) {
		fprintf(stderr, "load: more than 1000 failures\n");
		exit(1);
	}
	conn_open(conn);
}

/* 1: go on; 0: wait for the socket; -1: it failed. */
static int tls_result(struct conn *conn, int result)
{
	int error;

	if (result > 0)
		return 1;
	error = SSL_get_error(conn->ssl, result);
	if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
		return 0;
	if (failures == 0)
		ERR_print_errors_fp(stderr);
	ERR_clear_error();
	return -1;
}

/* > 0: so many bytes; else like tls_result. */
static int conn_write(struct conn *conn, const void *data, size_t len)
{
	int n;

	if (conn->ssl) {
		n = SSL_write(conn->ssl, data, (int)len);
		return n > 0 ? n : tls_result(conn, n);
	}
	n = (int)send(conn->fd, data, len, MSG_NOSIGNAL);
	if (n < 0 && (errno == EAGAIN || errno == ENOTCONN))
		return 0;
	return n > 0 ? n : -1;
}

static int conn_read(struct conn *conn, void *to, size_t size)
{
	int n;

	if (conn->ssl) {
		n = SSL_read(conn->ssl, to, (int)size);
		return n > 0 ? n : tls_result(conn, n);
	}
	n = (int)recv(conn->fd, to, size, 0);
	if (n < 0 && (errno == EAGAIN || errno == ENOTCONN))
		return 0;
	return n > 0 ? n : -1;
}

static int step_connect(struct conn *conn)
{
	char text[1024];
	int len = snprintf(text, sizeof(text),
			   "CONNECT %s:%s HTTP/1.1\r\nHost: %s:%s\r\n\r\n",
			   conn->name, port, conn->name, port);
	ssize_t sent = send(conn->fd, text, (size_t)len, MSG_NOSIGNAL);

	if (sent < 0)
		return errno == EAGAIN || errno == ENOTCONN ? 0 : -1;
	conn->state = ANSWER;
	return sent == len ? 1 : -1;
}

static int finish(struct conn *conn);

static int step_answer(struct conn *conn)
{
	ssize_t got = recv(conn->fd, conn->head + conn->head_len,
			   sizeof(conn->head) - 1 - conn->head_len, 0);

	if (got < 0)
		return errno == EAGAIN ? 0 : -1;
	if (got == 0)
		return -1;
	conn->head_len += (size_t)got;
	conn->head[conn->head_len] = '\0';
	if (!strstr(conn->head, "\r\n\r\n"))
		return 1;
	if (mode == REFUSED && conn->head_len >= 12 &&
	    memcmp(conn->head + 9, status, 3) == 0)
		return finish(conn);
	if (conn->head_len < 12 || memcmp(conn->head + 9, "200", 3) != 0)
		return -1;
	conn->state = mode == ECHO ? PING : mode == REFUSED ? SEND : HANDSHAKE;
	return 1;
}

static int step_handshake(struct conn *conn)
{
	int result = tls_result(conn, SSL_do_handshake(conn->ssl));

	if (result > 0)
		conn->state = SEND;
	return result;
}

/* The request's head, and a small body, into text. */
static int write_head(const struct conn *conn, char *text, size_t size)
{
	char url[512] = "";
	char length[64] = "";
	int len;

	if (is_clear && is_proxy)
		snprintf(url, sizeof(url), "http://%s:%s", conn->name, port);
	if (body > 0)
		snprintf(length, sizeof(length), "Content-Length: %lld\r\n",
			 body);
	len = snprintf(text, size, "%s %s%s HTTP/1.1\r\nHost: %s:%s\r\n%s\r\n",
		       body > 0 ? "POST" : "GET", url, path, conn->name, port,
		       length);
	if (body == 0 || body > SMALL_BODY)
		return len;
	memset(text + len, 'x', (size_t)body);
	return len + (int)body;
}

static int step_send(struct conn *conn)
{
	char text[2048 + SMALL_BODY];
	int len = write_head(conn, text, sizeof(text));
	int result;

	if (mode == KEEP)
		conn->began_us = now_us();
	result = conn_write(conn, text, (size_t)len);
	if (result <= 0)
		return result;
	conn->state = body > SMALL_BODY ? UPLOAD : HEAD;
	conn->left = body;
	conn->head_len = 0;
	return 1;
}

static int step_upload(struct conn *conn)
{
	size_t len = conn->left < IN_MAX ? (size_t)conn->left : IN_MAX;
	int result = conn_write(conn, in, len);

	if (result <= 0)
		return result;
	conn->left -= result;
	bytes_out += (unsigned long long)result;
	if (conn->left == 0)
		conn->state = HEAD;
	return 1;
}

static int step_ping(struct conn *conn)
{
	int result = conn_write(conn, "ping\n", 5);

	if (result > 0)
		conn->state = PONG;
	return result;
}

static int step_pong(struct conn *conn)
{
	int result = conn_read(conn, conn->head, sizeof(conn->head));

	if (result <= 0)
		return result;
	return result == 5 ? finish(conn) : -1;
}

/* Measure from here on. */
static void begin(void)
{
	begin_us = now_us();
	end_us = begin_us + length_us;
	requests = bytes_in = bytes_out = 0;
	memset(histogram, 0, sizeof(histogram));
	if (mode != IDLE)
		printf("\n");
	fflush(stdout);
}

static int finish(struct conn *conn)
{
	uint64_t took = now_us() - conn->began_us;

	requests++;
	histogram[took < LATENCY_MAX_US ? took / 10 : LATENCY_MAX_US / 10]++;
	if (mode == IDLE) {
		conn->state = RESTING;
		resting++;
		return 0;
	}
	if (mode == KEEP) {
		conn->state = SEND;
		if (!conn->is_warm && ++warm == count)
			begin();
		conn->is_warm = 1;
		if (!conn->is_last)
			return 1;
	}
	conn_again(conn, 0);
	return 0;
}

static int step_head(struct conn *conn)
{
	int got = conn_read(conn, conn->head + conn->head_len,
			    sizeof(conn->head) - 1 - conn->head_len);
	const char *end, *length;

	if (got <= 0)
		return got;
	conn->head_len += (size_t)got;
	conn->head[conn->head_len] = '\0';
	end = strstr(conn->head, "\r\n\r\n");
	if (!end)
		return 1;
	length = strcasestr(conn->head, "content-length:");
	if (!length || memcmp(conn->head + 9, status, 3) != 0) {
		if (failures == 0)
			fprintf(stderr, "%.300s\n", conn->head);
		return -1;
	}
	conn->left = strtoll(length + 15, NULL, 10);
	conn->left -=
		(long long)(conn->head_len - (size_t)(end + 4 - conn->head));
	bytes_in += (unsigned long long)got;
	conn->is_last = strcasestr(conn->head, "\r\nconnection: close") != NULL;
	if (conn->left <= 0)
		return finish(conn);
	conn->state = BODY;
	return 1;
}

static int step_body(struct conn *conn)
{
	int got = conn_read(conn, in, sizeof(in));

	if (got <= 0)
		return got;
	conn->left -= got;
	bytes_in += (unsigned long long)got;
	return conn->left <= 0 ? finish(conn) : 1;
}

static void conn_run(struct conn *conn)
{
	static int (*const steps[])(struct conn *) = {
		[CONNECT] = step_connect,     [ANSWER] = step_answer,
		[HANDSHAKE] = step_handshake, [SEND] = step_send,
		[UPLOAD] = step_upload,	      [HEAD] = step_head,
		[BODY] = step_body,	      [PING] = step_ping,
		[PONG] = step_pong,
	};
	int result = 1;

	while (result > 0 && conn->state != RESTING)
		result = steps[conn->state](conn);
	if (result < 0)
		conn_again(conn, 1);
}

static uint64_t percentile(double part)
{
	double wanted = (double)requests * part, seen = 0;

	for (size_t i = 0; i < sizeof(histogram) / sizeof(*histogram); i++) {
		seen += histogram[i];
		if (seen >= wanted)
			return i * 10;
	}
	return LATENCY_MAX_US;
}

static void parse(char **argv)
{
	static char name[300];
	static const char *const modes[] = {"keep", "new",  "resumed", "names",
					    "idle", "echo", "refused"};
	char *colon = strrchr(argv[2], ':');

	is_clear = strncmp(argv[1], "clear-", 6) == 0;
	is_proxy = strcmp(argv[1] + (is_clear ? 6 : 0), "proxy") == 0;
	*colon = '\0';
	address.sin_family = AF_INET;
	address.sin_port = htons((uint16_t)atoi(colon + 1));
	if (inet_pton(AF_INET, argv[2], &address.sin_addr) != 1)
		fail(argv[2]);
	snprintf(name, sizeof(name), "%s", argv[3]);
	port = strrchr(name, ':') + 1;
	*strrchr(name, ':') = '\0';
	host = name;
	tls = SSL_CTX_new(TLS_client_method());
	SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_mode(tls, SSL_MODE_RELEASE_BUFFERS);
	if (SSL_CTX_load_verify_locations(tls, argv[4], NULL) != 1)
		fail(argv[4]);
	for (mode = KEEP; strcmp(modes[mode], argv[5]) != 0; mode++)
		if (mode == REFUSED)
			fail(argv[5]);
	path = argv[8];
	status = argv[9];
	body = atoll(argv[10]);
	if (mode == RESUMED) {
		SSL_CTX_set_session_cache_mode(
			tls,
			SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
		SSL_CTX_sess_set_new_cb(tls, keep_session);
	}
}

static void wait_for_stdin(void)
{
	char byte;

	printf("{\"resting\": %llu, \"seconds\": %.3f}\n", resting,
	       (double)(now_us() - begin_us) / 1e6);
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
}

int main(int argc, char **argv)
{
	struct epoll_event events[256];
	struct conn *conns;
	struct rusage used;

	if (argc != 11) {
		fprintf(stderr, "load: see the top of tests/bench/load.c\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	parse(argv);
	count = (unsigned)atoi(argv[6]);
	conns = calloc(count, sizeof(*conns));
	poller = epoll_create1(0);
	length_us = (uint64_t)(atof(argv[7]) * 1e6);
	if (mode == KEEP)
		end_us = now_us() + WARM_MAX_US;
	else
		begin();
	for (unsigned i = 0; i < count; i++)
		conn_open(&conns[i]);
	while (now_us() < end_us && resting < count &&
	       (mode != NAMES || requests < NAMES_MAX)) {
		int ready = epoll_wait(poller, events, 256, 100);

		for (int i = 0; i < ready; i++)
			conn_run(events[i].data.ptr);
	}
	if (mode == IDLE) {
		wait_for_stdin();
		return 0;
	}
	getrusage(RUSAGE_SELF, &used);
	printf("{\"requests\": %llu, \"seconds\": %.3f, \"failures\": %llu, "
	       "\"bytes\": %llu, \"p50_us\": %llu, \"p99_us\": %llu}\n",
	       requests, (double)(now_us() - begin_us) / 1e6, failures,
	       bytes_in + bytes_out, (unsigned long long)percentile(0.5),
	       (unsigned long long)percentile(0.99));
	return 0;
}
