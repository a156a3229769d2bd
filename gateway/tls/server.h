/*
 * The edge's TLS side towards its sandbox: one context and one P-256 key for
 * the life of the process. Certificates come from the minter, one per name.
 *
 * TLS 1.2 and 1.3, AEAD only, ALPN http/1.1 only (a client that offers
 * others alone is refused with no_application_protocol, RFC 7301), no
 * compression, renegotiation or early data. Tickets resume only within this
 * process (its keys), this session (session id context) and the same server
 * name; a client without SNI never resumes (security B13).
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
#include "policies/host.h"

#define TLS_PUBLIC_KEY_MAX     128
#define TLS_SERVER_RESUME_SECS 3600

struct tls_server {
	SSL_CTX *ctx;
	EVP_PKEY *key;
	uint8_t public_key[TLS_PUBLIC_KEY_MAX]; /* SubjectPublicKeyInfo */
	size_t public_key_len;
};

/* Before confinement: OpenSSL reads its configuration. session_id at most
 * 32 bytes. 0, or -1. */
int tls_server_init(struct tls_server *server, struct bytes session_id,
		    struct err *err);
void tls_server_release(struct tls_server *server);

/* What to send in struct msg_mint. Lives as long as the server. */
static inline struct bytes
tls_server_public_key(const struct tls_server *server)
{
	return bytes_from(server->public_key, server->public_key_len);
}

/* ---- the certificates minted so far, by canonical name ---- */

#define TLS_LEAVES_MAX 256 /* about 6 KiB each; the least used goes first */
/* A leaf is not used any more when less than this is left of it. */
#define TLS_LEAF_REST_MS (60ull * 1000)

struct tls_leaf {
	char name[HOST_NAME_MAX_LEN + 1];
	bool is_refusal; /* minted with MINT_REFUSE */
	X509 *chain[2];	 /* leaf, CA: for io_tls_certificate() */
	size_t count;
	uint64_t expires_ms; /* wall clock */
	uint64_t used;	     /* turn of the cache's counter */
};

struct tls_leaves {
	struct tls_leaf *items;
	size_t count;
	uint64_t turn;
};

void tls_leaves_init(struct tls_leaves *leaves);
void tls_leaves_release(struct tls_leaves *leaves);
/* The leaf of that name that is good for a while, or NULL. A refusal's leaf
 * serves only refusals; a serving one serves both. Valid until the next
 * change of the cache. */
const struct tls_leaf *tls_leaves_find(struct tls_leaves *leaves,
				       struct bytes name, bool is_refusal,
				       uint64_t wall_ms);
/* Keep what the minter sent (DER). The kept leaf, or NULL with *err. */
struct tls_leaf_der {
	struct bytes leaf, ca;
	uint64_t expires_ms;
};
const struct tls_leaf *tls_leaves_add(struct tls_leaves *leaves,
				      struct bytes name, bool is_refusal,
				      const struct tls_leaf_der *der,
				      struct err *err);

#endif
