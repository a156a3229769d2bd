/*
 * The floor of tests/bench/proxies: what a proxy costs that moves the same
 * bytes and does nothing else. One thread, one epoll, OpenSSL; no rule, no
 * record, no check of what a message says, no deadline. A message's head must
 * come in one piece, and its body have a length or none: enough for load.c.
 *
 *	floor proxy PORT ADDRESS DIRECTORY INSPECT
 *
 * CONNECT to any port of ADDRESS, as a tunnel or (INSPECT 1) with TLS ended
 * by a certificate made for the name and begun again, upstream verified and
 * pooled; requests with a whole URL in the clear. What is for a host that
 * begins with "denied." or a path that begins with "/denied" is refused.
 *
 *	floor origin PORT ADDRESS DIRECTORY
 *
 * An origin: TLS, HTTP in the clear or an echo, as the first byte says. It
 * reads a body before it answers.
 */
#ifndef TESTS_BENCH_FLOOR_H
#define TESTS_BENCH_FLOOR_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdnoreturn.h>

#define NAME_SIZE 300
#define CHUNK	  65536

#define SIDE_AGAIN -1
#define SIDE_ENDED 0

struct conn;

/* One descriptor. */
struct side {
	int fd;
	bool is_connecting;
	bool is_shaking;
	bool is_client; /* in its conn; else of its own in memory */
	bool is_dead;
	SSL *ssl;
	struct conn *conn; /* NULL: in the pool */
	uint8_t *out;	   /* what could not be sent yet, or NULL */
	size_t out_len;
	struct side *next; /* in the pool, or among the dead */
	uint16_t port;
	char *name; /* upstream's, for the pool */
};

/* ---- side.c ---- */

extern int poller;
extern uint8_t chunk[CHUNK];

noreturn void fail(const char *what);
/* Own fd and wait for its events. */
void side_open(struct side *side, int fd);
/* Bytes, SIDE_ENDED (also: broken) or SIDE_AGAIN. */
ssize_t side_read(struct side *side, uint8_t *out, size_t size);
/* Send or keep. False: broken. */
bool side_write(struct side *side, const uint8_t *data, size_t len);
bool side_flush(struct side *side);
/* 1: it is ready; 0: not yet; -1: broken. */
int side_prepare(struct side *side);
void side_close(struct side *side);

/* ---- tls.c ---- */

void tls_init(const char *directory, bool is_origin);
/* A server's SSL with a certificate for name (minted when first asked for),
 * or the origin's. */
SSL *tls_server(const char *name);
/* A client's that verifies name. */
SSL *tls_client(const char *name);

/* ---- message.c ---- */

/* The length of a head in text (of len bytes, changed and restored), and of
 * the body that follows; -1: none. */
ssize_t message_head(uint8_t *text, size_t len, long long *body_len);

/* ---- origin.c ---- */

noreturn void origin_run(int listener);

/* A listener in the poller: data.ptr is NULL. */
int listen_on(const char *address, const char *port);

#endif
