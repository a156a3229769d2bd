/*
 * The TLS side towards upstream, in the edge and in the courier: always
 * verified, security level 2 (RSA >= 2048, no SHA-1), TLS 1.2 or 1.3, ALPN
 * http/1.1, host name by SAN alone, and tls_verify_leaf() on top.
 *
 *	struct tls_client client;
 *	tls_client_begin(&client, config.ca_bundle, config.tls13_only, &err);
 *	struct io_tls_client start = {
 *		.ctx = tls_client_context(&client, &err), .name = "github.com",
 *		.session = tls_client_session(&client, key, now_ms),
 *		.check = tls_verify_leaf,
 *	};
 *	io_tls_client(io, &start, &err);
 *	...
 *	tls_client_keep(&client, key, io_tls_session(io), now_ms);
 */
#ifndef GATEWAY_TLS_CLIENT_H
#define GATEWAY_TLS_CLIENT_H

#include <openssl/ssl.h>

#include "common/bytes.h"
#include "common/err.h"
#include "policies/constraint.h"

#define TLS_CLIENT_SESSIONS_MAX 64 /* one or two KiB each */
/* So many, the latest, are held as OpenSSL's objects, with the server's
 * certificate: ten KiB. */
#define TLS_CLIENT_OPEN_MAX  8
#define TLS_CLIENT_KEY_MAX   320
#define TLS_CLIENT_RESUME_MS (3600ull * 1000)

struct tls_client_session; /* kept for resumption */

struct tls_client {
	SSL_CTX *ctx; /* NULL until it is needed */
	struct bytes ca_bundle;
	bool tls13_only;
	struct tls_client_session *sessions; /* TLS_CLIENT_SESSIONS_MAX */
	size_t session_count;
	size_t open_count;
};

/* ca_bundle is PEM (the operator's roots) and must live as long as the
 * client: roots are decoded when a chain first asks for them (roots.h).
 * Before confinement: OpenSSL reads its configuration. The context, which
 * takes 1.2 ms and 0.3 MiB, is made by the first tls_client_context(). 0, or
 * -1. */
int tls_client_begin(struct tls_client *client, struct bytes ca_bundle,
		     bool tls13_only, struct err *err);
/* The client's context, also after confinement. NULL with *err: it cannot be
 * made, for lack of memory. */
SSL_CTX *tls_client_context(struct tls_client *client, struct err *err);
void tls_client_release(struct tls_client *client);
/* Other roots, or another lowest version, and a context if there was one; what
 * runs goes on with those it began with. On failure client is as it was. 0, or
 * -1. */
int tls_client_change(struct tls_client *client, struct bytes ca_bundle,
		      bool tls13_only, struct err *err);

/* The session kept under key ("host:port"; the courier puts its sandbox
 * session before it), or NULL. Borrowed until the next call for the client.
 * now_ms is monotonic. */
SSL_SESSION *tls_client_session(struct tls_client *client, struct bytes key,
				uint64_t now_ms);
/* Keep session (taken; may be NULL) under key, in place of what was there.
 * Call it once upstream has sent something (TLS 1.3 tickets come after the
 * handshake), e.g. when the connection goes back to the pool. */
void tls_client_keep(struct tls_client *client, struct bytes key,
		     SSL_SESSION *session, uint64_t now_ms);

/* What a handshake that failed with err (set) is called: upstream hung up, or
 * it is not whom it must be. */
enum constraint tls_client_constraint(const struct err *err);

#endif
