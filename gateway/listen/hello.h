/*
 * What does a client speak? Looks at the first bytes of a connection (or of
 * a CONNECT tunnel) without consuming them: a ClientHello (with its server
 * name), an HTTP request, or something else. The bytes may come in any
 * pieces; at most HELLO_BYTES_MAX are looked at.
 *
 *	struct hello hello;
 *	hello_init(&hello);
 *	on IO_DATA: switch (hello_look(&hello, buf_view(io_in(io)))) ...
 *	hello_release(&hello);
 */
#ifndef GATEWAY_LISTEN_HELLO_H
#define GATEWAY_LISTEN_HELLO_H

#include <stdbool.h>

#include "common/bytes.h"
#include "policies/host.h"

#define HELLO_BYTES_MAX	 (16 * 1024)
#define HELLO_METHOD_MAX 16

enum hello_kind {
	HELLO_MORE,    /* not known yet: read on */
	HELLO_TLS,     /* a whole ClientHello; name is "" without SNI */
	HELLO_HTTP,    /* starts with an HTTP method and a space */
	HELLO_OTHER,   /* another protocol (or one that waits for us) */
	HELLO_INVALID, /* TLS that is broken; see reason */
	HELLO_KIND_MAX
};

struct hello {
	enum hello_kind kind;
	char name[HOST_NAME_MAX_LEN + 1]; /* canonical SNI, a DNS name */
	bool has_ech;			  /* tls/hello.h */
	const char *reason;		  /* INVALID: why, static text */
	struct tls_hello *tls;
	size_t fed; /* bytes that tls has read */
};

void hello_init(struct hello *hello);
void hello_release(struct hello *hello);

/* input (untrusted) is everything read so far, from the first byte, nothing
 * consumed. Once the answer is not MORE it stays the same. */
enum hello_kind hello_look(struct hello *hello, struct bytes input);

#endif
