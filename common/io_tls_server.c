#include <assert.h>
#include <stdlib.h>

#include "common/io_tls_core.h"

/* ---- the name in a ClientHello ---- */

/* RFC 6066 3: a list with one host_name. The name into *name; -1 when the
 * bytes are anything else or cannot be a terminated name. */
static int parse_sni(struct bytes bytes, struct bytes *name)
{
	const uint8_t *at = bytes.data;
	size_t list_len;
	size_t name_len;

	if (bytes.len < 5)
		return -1;
	list_len = (size_t)at[0] << 8 | at[1];
	name_len = (size_t)at[3] << 8 | at[4];
	if (list_len != bytes.len - 2 || at[2] != TLSEXT_NAMETYPE_host_name ||
	    name_len != bytes.len - 5)
		return -1;
	*name = bytes_slice(bytes, 5, bytes.len);
	if (name->len == 0 || name->len > IO_TLS_NAME_MAX ||
	    bytes_find(*name, 0, 0) >= 0)
		return -1;
	return 0;
}

/* The SNI of the ClientHello at hand; empty when there is none. */
static int hello_name(SSL *ssl, struct bytes *name)
{
	const unsigned char *data;
	size_t len;

	*name = bytes_from(NULL, 0);
	if (!SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &data,
				       &len))
		return 0;
	return parse_sni(bytes_from(data, len), name);
}

static int hello_fail(struct io_tls *tls, int *alert, int why)
{
	tls->hello = HELLO_BROKEN;
	*alert = why;
	return SSL_CLIENT_HELLO_ERROR;
}

int io_tls_on_hello(SSL *ssl, int *alert, void *owner)
{
	struct io_tls *tls = io_tls_io(ssl)->tls;
	struct bytes name;

	(void)owner;
	if (tls->hello == HELLO_REFUSED) {
		*alert = tls->alert;
		return SSL_CLIENT_HELLO_ERROR;
	}
	if (tls->hello == HELLO_PAUSED)
		return SSL_CLIENT_HELLO_RETRY;
	if (hello_name(ssl, &name) < 0)
		return hello_fail(tls, alert, SSL_AD_DECODE_ERROR);
	if (tls->hello == HELLO_ANSWERED) {
		/* A second ClientHello (RFC 8446 4.1.2) may not ask for
		 * another name than the one that was decided on. */
		if (!bytes_is(name, tls->name))
			return hello_fail(tls, alert, SSL_AD_ILLEGAL_PARAMETER);
		return SSL_CLIENT_HELLO_SUCCESS;
	}
	tls->name = OPENSSL_strndup(name.len ? (const char *)name.data : "",
				    name.len);
	if (!tls->name)
		return hello_fail(tls, alert, SSL_AD_INTERNAL_ERROR);
	tls->hello = HELLO_PAUSED;
	return SSL_CLIENT_HELLO_RETRY;
}

/* ---- the owner's answer ---- */

static bool is_paused(const struct io *io)
{
	return io->tls && !io->is_closed && !io->is_dead &&
	       io->tls->hello == HELLO_PAUSED;
}

static void resume(struct io *io, enum io_tls_hello answer)
{
	io->tls->hello = answer;
	io->owes_shake = true;
	io_owe(io);
}

int io_tls_certificate(struct io *io, X509 *const *chain, size_t count,
		       EVP_PKEY *key, struct err *err)
{
	if (!is_paused(io))
		return err_set(err, ERR_CLOSED,
			       "set a certificate: no handshake waits for it");
	if (!io_tls_set_certificate(io->tls, chain, count, key))
		return io_tls_library_err(err, "set a certificate");
	resume(io, HELLO_ANSWERED);
	return 0;
}

void io_tls_refuse(struct io *io, int alert)
{
	if (!is_paused(io))
		return;
	io->tls->alert = alert;
	resume(io, HELLO_REFUSED);
}

int io_tls_server(struct io *io, SSL_CTX *ctx, struct bytes initial,
		  struct err *err)
{
	struct buf copy;

	/* initial may be a view of io_in(), which the start empties. */
	buf_init(&copy, initial.len);
	if (buf_add(&copy, initial) < 0)
		return err_set(err, ERR_SYSTEM, "start TLS: out of memory");
	if (io_tls_begin(io, ctx, false, err) < 0) {
		buf_release(&copy);
		return -1;
	}
	io->tls->initial = copy;
	SSL_CTX_set_client_hello_cb(ctx, io_tls_on_hello, NULL);
	SSL_set_accept_state(io->tls->ssl);
	return 0;
}
