/*
 * TLS over an io: after one of the starts the io's bytes are plaintext and
 * everything else of io.h holds. Raw SSL over the io's own descriptor (a
 * BIO that reads and writes through io, so the fake backend serves it too).
 *
 * Server: the handshake pauses at the ClientHello with IO_TLS_HELLO;
 * io_tls_name() then gives the SNI (untrusted), and the owner answers with
 * io_tls_certificate() now or later. Half-close: a close_notify from the
 * peer is IO_EOF and we may still write; a TCP end without close_notify is
 * IO_FAILED with ERR_CLOSED ("truncated"), never IO_EOF (security B19).
 * No renegotiation, no compression, no early data, no tickets on the server
 * side unless the context has them.
 */
#ifndef COMMON_IO_TLS_H
#define COMMON_IO_TLS_H

#include <openssl/ssl.h>

#include "common/io.h"

/* Begin a server handshake on io. initial (copied) is what was read from it
 * already (the ClientHello, when someone looked first) and comes before
 * what the descriptor has; it may be the view of io_in(), which both starts
 * empty. What was written before goes out as plaintext, or the start fails.
 * ctx is shared, stays the caller's; its ClientHello callback is set here.
 * 0, or -1: only io_close() makes sense then. */
int io_tls_server(struct io *io, SSL_CTX *ctx, struct bytes initial,
		  struct err *err);

/* Begin a client handshake for name (SNI and host name check; a DNS name,
 * or an address literal, which sends no SNI and is checked as an IP SAN).
 * session may be NULL (else resumed if possible). check (may be NULL) runs
 * after OpenSSL's own verification succeeded, with the leaf, also when a
 * session was resumed, and before any byte of ours is sent; it returns 0, or
 * -1 with *err, and touches no io. alpn (may be empty) is the protocol list
 * to offer in place of the context's, as RFC 7301 writes it. 0, or -1: only
 * io_close() makes sense then. */
typedef int io_tls_check_fn(X509 *leaf, void *owner, struct err *err);
struct io_tls_client {
	SSL_CTX *ctx;
	const char *name;
	SSL_SESSION *session;
	io_tls_check_fn *check;
	void *check_owner;
	struct bytes alpn;
	X509 *const *chain; /* to show when asked for one, with key */
	size_t chain_count;
	EVP_PKEY *key; /* NULL: none is shown */
};
int io_tls_client(struct io *io, const struct io_tls_client *client,
		  struct err *err);

/* SNI of the ClientHello, terminated, 1-253 bytes, anything else about it
 * unchecked; "" when there was none. Untrusted. Valid as long as the io. */
const char *io_tls_name(const struct io *io);
/* Go on with a paused handshake. chain[0] is the leaf; both borrowed for
 * the call (OpenSSL counts references). 0, or -1. */
int io_tls_certificate(struct io *io, X509 *const *chain, size_t count,
		       EVP_PKEY *key, struct err *err);
/* Refuse a paused handshake with a TLS alert (SSL_AD_...), then fail. */
void io_tls_refuse(struct io *io, int alert);

bool io_is_tls(const struct io *io);
/* Was it begun with ctx? True without TLS. */
bool io_tls_is_of(const struct io *io, const SSL_CTX *ctx);
/* For session resumption, between IO_TLS_READY and io_close(); a reference,
 * or NULL. With TLS 1.3 it can be resumed only once something was read after
 * IO_TLS_READY (the ticket comes with it): take it late. */
SSL_SESSION *io_tls_session(struct io *io);
/* Nothing is to be sent for now: give back what OpenSSL holds for that and
 * does not use (16 KiB since a ticket came, which nothing was sent after). */
void io_tls_rest(struct io *io);
/* The protocol that ALPN chose, "h2"; empty when there is none or before
 * IO_TLS_READY. Valid as long as the io. */
struct bytes io_tls_alpn(const struct io *io);
/* "TLSv1.3"; "" before IO_TLS_READY. */
const char *io_tls_version(const struct io *io);

#endif
