/*
 * The server_name extension of a ClientHello, while OpenSSL holds it.
 */
#ifndef GATEWAY_TLS_SERVER_NAME_H
#define GATEWAY_TLS_SERVER_NAME_H

#include <openssl/ssl.h>

#include "common/bytes.h"

/* Only from callbacks that run while ssl processes a ClientHello. 1: *name
 * (untrusted) borrows from it; 0: there is no such extension; -1: it is not
 * exactly one host_name (RFC 6066 section 3). */
int tls_server_name(SSL *ssl, struct bytes *name);

#endif
