/*
 * The edge's TLS side towards its sandbox: one context and one P-256 key for
 * the life of the process. Certificates come from the minter, one per name.
 *
 * TLS 1.2 and 1.3, AEAD only, ALPN h2 before http/1.1 and http/1.0 (a client
 * that offers others alone is refused with no_application_protocol, RFC 7301;
 *one that offers none speaks HTTP/1.1), no compression, renegotiation or early
 *data. Tickets resume only within this process (its keys), this session
 *(session id context) and the same server name; a client without SNI never
 *resumes (security B13).
 *
 *	struct tls_server server;
 *	tls_server_init(&server, session_id, &err);
 *	io_tls_server(io, server.ctx, initial, &err);
 *	... IO_TLS_HELLO: ask the minter with tls_server_public_key() ...
 *	leaf = tls_leaves_add(&leaves, name, false, &der, &err);
 *	io_tls_certificate(io, leaf->chain, leaf->count, server.key, &err);
 */
#ifndef GATEWAY_TLS_SERVER_H
#define GATEWAY_TLS_SERVER_H

#include <openssl/ssl.h>

#include "common/bytes.h"
#include "common/err.h"
#include "gateway/tls/leaves.h"

#define TLS_PUBLIC_KEY_MAX     128
#define TLS_SERVER_RESUME_SECS 3600

struct tls_server {
	SSL_CTX *ctx;
	EVP_PKEY *key;
	uint8_t public_key[TLS_PUBLIC_KEY_MAX]; /* SubjectPublicKeyInfo */
	size_t public_key_len;
	const struct bytes *http11_names;
	size_t http11_count;
};

/* OpenSSL has read its configuration (tls_client_begin()). session_id at most
 * 32 bytes. server stays where it is. 0, or -1. */
int tls_server_init(struct tls_server *server, struct bytes session_id,
		    struct err *err);
void tls_server_release(struct tls_server *server);

/* Where the client offers both, it is given http/1.1 for these server names;
 * borrowed as long as the server. */
void tls_server_prefer_http11(struct tls_server *server,
			      const struct bytes *names, size_t count);

/* What to send in struct msg_mint. Lives as long as the server. */
static inline struct bytes
tls_server_public_key(const struct tls_server *server)
{
	return bytes_from(server->public_key, server->public_key_len);
}

#endif
