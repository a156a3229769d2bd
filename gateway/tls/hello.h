/*
 * The ClientHello at the front of a stream, read by OpenSSL on an SSL that
 * never answers and may look at the next one then. Finds the server name
 * without deciding anything. ECH is not answered: the outer name is what we see
 * and serve.
 */
#ifndef GATEWAY_TLS_HELLO_H
#define GATEWAY_TLS_HELLO_H

#include <stdbool.h>

#include "common/bytes.h"

enum tls_hello_result {
	TLS_HELLO_MORE,	   /* not whole yet */
	TLS_HELLO_NAMED,   /* tls_hello_name() has the server name */
	TLS_HELLO_UNNAMED, /* a ClientHello without SNI */
	TLS_HELLO_INVALID  /* not a ClientHello, or its SNI is malformed */
};

struct tls_hello;

/* NULL when memory is out. */
struct tls_hello *tls_hello_new(void);
void tls_hello_free(struct tls_hello *hello);

/* Read the next bytes (untrusted) of the stream; each byte once. After a
 * result other than MORE no further call is made. */
enum tls_hello_result tls_hello_feed(struct tls_hello *hello,
				     struct bytes bytes);
/* The name as sent (untrusted, not canonical). Lives as long as hello. */
struct bytes tls_hello_name(const struct tls_hello *hello);
/* Is another ClientHello in it, encrypted for its server (or what looks like
 * one)? Then the name may be another than the one it is for. */
bool tls_hello_has_ech(const struct tls_hello *hello);

#endif
