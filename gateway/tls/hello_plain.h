/*
 * A ClientHello as nearly every client sends it, read in place and without
 * OpenSSL, which takes a hundred times as long to begin a connection that
 * never answers. It answers only where OpenSSL would say the same (a fuzz
 * test holds it to that); whatever is not certain is left to tls/hello.h.
 */
#ifndef GATEWAY_TLS_HELLO_PLAIN_H
#define GATEWAY_TLS_HELLO_PLAIN_H

#include <stdbool.h>

#include "common/bytes.h"

#define HELLO_PLAIN_EXTENSIONS_MAX 64

struct hello_plain {
	struct bytes name; /* as sent (untrusted); empty: without SNI */
	bool has_ech;	   /* as tls_hello_has_ech() */
};

/* Read bytes (untrusted), the first of a stream: one record of one whole
 * ClientHello (RFC 8446 section 4.1.2) and nothing behind it. *plain borrows
 * from bytes. False: it is something else, incomplete or malformed, in which
 * of these ways is not said. */
bool hello_plain_read(struct bytes bytes, struct hello_plain *plain);

#endif
