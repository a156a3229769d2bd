/*
 * What io_tls.c (records), io_tls_server.c and io_tls_client.c (handshakes)
 * share.
 */
#ifndef COMMON_IO_TLS_CORE_H
#define COMMON_IO_TLS_CORE_H

#include "common/io_core.h"
#include "common/io_tls.h"

#define IO_TLS_NAME_MAX 253 /* RFC 1035 3.1, in presentation form */

/* Where the answer to a ClientHello stands. */
enum io_tls_hello {
	HELLO_AWAITED,
	HELLO_PAUSED,
	HELLO_ANSWERED,
	HELLO_REFUSED,
	HELLO_BROKEN, /* an SNI that is none */
};

struct io_tls {
	SSL *ssl;
	struct buf initial; /* read by somebody else, before the descriptor */
	/* SNI (untrusted), or what the client asked for; OpenSSL's memory. */
	char *name;
	io_tls_check_fn *check;
	void *check_owner;
	int raw_errno; /* why the descriptor failed; 0 */
	int alert;     /* of a refusal */
	enum io_tls_hello hello;
	bool is_client;
	bool has_ended; /* the descriptor's stream ended */
	bool has_more;	/* a record follows the one that is written */
};

/* Show this certificate to the peer, chain[0] being the leaf; borrowed for
 * the call. */
bool io_tls_set_certificate(struct io_tls *tls, X509 *const *chain,
			    size_t count, EVP_PKEY *key);
/* Put a new TLS layer on io; the handshake begins later in this turn. */
int io_tls_begin(struct io *io, SSL_CTX *ctx, bool is_client, struct err *err);
/* Set *err from OpenSSL's queue, which is empty afterwards; -1. */
int io_tls_library_err(struct err *err, const char *what);
/* The ClientHello callback of every server context. */
int io_tls_on_hello(SSL *ssl, int *alert, void *owner);
/* Verify the server beyond OpenSSL: the owner's check, and all that OpenSSL
 * leaves out for a resumed session. 0, or -1. */
int io_tls_check_peer(struct io *io, struct err *err);

/* The io that an SSL belongs to. */
struct io *io_tls_io(const SSL *ssl);

#endif
