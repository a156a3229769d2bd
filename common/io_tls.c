#include "common/io_tls.h"

#include <assert.h>
#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>

#include "common/apart.h"
#include "common/dense.h"
#include "common/io_tls_core.h"
#include "common/openssl_words.h"

#define RECORD_MAX 16384 /* RFC 8446 5.1 */

static struct dense layers = {.size = sizeof(struct io_tls)};

/* ---- the BIO: OpenSSL's records on the io's descriptor ---- */

static int bio_read(BIO *bio, char *out, int size)
{
	struct io *io = BIO_get_data(bio);
	struct buf *initial = &io->tls->initial;
	ssize_t n;

	BIO_clear_retry_flags(bio);
	if (size <= 0)
		return 0;
	if (buf_len(initial) > 0) {
		struct bytes head =
			bytes_slice(buf_view(initial), 0, (size_t)size);

		memcpy(out, head.data, head.len);
		buf_consume(initial, head.len);
		if (buf_len(initial) == 0)
			buf_release(initial);
		return (int)head.len;
	}
	n = io_raw_read(io, out, (size_t)size);
	if (n > 0)
		return (int)n;
	if (n == IO_ENDED) {
		io->tls->has_ended = true;
		return 0;
	}
	if (n == IO_AGAIN)
		BIO_set_retry_read(bio);
	else
		io->tls->raw_errno = errno;
	return -1;
}

static int bio_write(BIO *bio, const char *data, int len)
{
	struct io *io = BIO_get_data(bio);
	ssize_t n;

	BIO_clear_retry_flags(bio);
	if (len <= 0)
		return 0;
	n = io_raw_write(io, bytes_from(data, (size_t)len), bytes_from(NULL, 0),
			 io->tls->has_more);
	if (n > 0)
		return (int)n;
	if (n == IO_AGAIN)
		BIO_set_retry_write(bio);
	else
		io->tls->raw_errno = errno;
	return -1;
}

static long bio_control(BIO *bio, int command, long number, void *pointer)
{
	const struct io *io = BIO_get_data(bio);

	(void)number;
	(void)pointer;
	if (command == BIO_CTRL_FLUSH)
		return 1;
	if (command == BIO_CTRL_EOF)
		return io->tls->has_ended;
	return 0;
}

static BIO *bio_new(struct io *io)
{
	static BIO_METHOD *method; /* as long as the process */
	BIO *bio;

	if (!method) {
		method = BIO_meth_new(
			BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "io");
		if (!method)
			return NULL;
		(void)BIO_meth_set_read(method, bio_read);
		(void)BIO_meth_set_write(method, bio_write);
		(void)BIO_meth_set_ctrl(method, bio_control);
	}
	bio = BIO_new(method);
	if (!bio)
		return NULL;
	BIO_set_data(bio, io);
	BIO_set_init(bio, 1);
	return bio;
}

struct io *io_tls_io(const SSL *ssl)
{
	return BIO_get_data(SSL_get_rbio(ssl));
}

/* ---- failures ---- */

int io_tls_library_err(struct err *err, const char *what)
{
	const char *reason = openssl_reason(ERR_peek_error());

	ERR_clear_error();
	return err_set(err, ERR_LIBRARY, "%s: %s", what,
		       reason ? reason : "failed");
}

static void tls_failure(const struct io_tls *tls, const char *what,
			struct err *err)
{
	long verified = SSL_get_verify_result(tls->ssl);

	/* Before raw_errno: an alert that OpenSSL then tried to send to a
	 * peer that was gone is not the reason. */
	if (tls->hello == HELLO_REFUSED) {
		err_set(err, ERR_DENIED, "%s: refused with alert %d", what,
			tls->alert);
	} else if (tls->hello == HELLO_BROKEN) {
		err_set(err, ERR_INVALID, "%s: the SNI is not a name", what);
	} else if (tls->is_client && verified != X509_V_OK) {
		err_set(err, ERR_INVALID, "%s: certificate of %s: %s", what,
			tls->name, X509_verify_cert_error_string(verified));
	} else if (tls->has_ended) {
		err_set(err, ERR_CLOSED,
			"%s: truncated: the peer closed the connection "
			"without ending TLS",
			what);
	} else if (tls->raw_errno != 0) {
		errno = tls->raw_errno;
		err_system(err, "%s", what);
	} else {
		io_tls_library_err(err, what);
	}
}

static int tls_kill(struct io *io, const char *what)
{
	struct err err;

	tls_failure(io->tls, what, &err);
	ERR_clear_error();
	io_kill(io, &err);
	return IO_DEAD;
}

/* SSL_get_error() looks at the queue of the thread, where anybody may have
 * left something; clearing it unseen costs 2 % of a request. */
static void tls_clean_queue(void)
{
	if (ERR_peek_error() != 0)
		ERR_clear_error();
}

/* ---- the layer ---- */

static int tls_shake(struct io *io)
{
	struct io_tls *tls = io->tls;
	struct err err;
	int result;

	tls_clean_queue();
	apart_set(tls->is_client);
	result = SSL_do_handshake(tls->ssl);
	apart_set(false);
	if (result == 1) {
		if (!tls->is_client || io_tls_check_peer(io, &err) == 0)
			return IO_ENDED;
		io_kill(io, &err);
		return IO_DEAD;
	}
	switch (SSL_get_error(tls->ssl, result)) {
	case SSL_ERROR_WANT_READ:
		io->shake_needs = IO_READABLE;
		return IO_AGAIN;
	case SSL_ERROR_WANT_WRITE:
		io->shake_needs = IO_WRITABLE;
		return IO_AGAIN;
	case SSL_ERROR_WANT_CLIENT_HELLO_CB:
		io->shake_needs = 0;
		return IO_PAUSE;
	default:
		return tls_kill(io, "TLS handshake");
	}
}

static bool tls_has_pending(const struct io *io)
{
	return SSL_has_pending(io->tls->ssl) ||
	       (SSL_get_shutdown(io->tls->ssl) & SSL_RECEIVED_SHUTDOWN);
}

static ssize_t tls_read(struct io *io, uint8_t *out, size_t size)
{
	int n;

	/* OpenSSL would take and give back a buffer to learn this. */
	if (io->is_dry && !tls_has_pending(io)) {
		io->read_needs = IO_READABLE;
		return IO_AGAIN;
	}
	tls_clean_queue();
	apart_set(io->tls->is_client);
	n = SSL_read(io->tls->ssl, out,
		     size > RECORD_MAX ? RECORD_MAX : (int)size);
	apart_set(false);
	if (n > 0)
		return n;
	switch (SSL_get_error(io->tls->ssl, n)) {
	case SSL_ERROR_WANT_READ:
		io->read_needs = IO_READABLE;
		return IO_AGAIN;
	case SSL_ERROR_WANT_WRITE:
		io->read_needs = IO_WRITABLE;
		return IO_AGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return IO_ENDED;
	default:
		return tls_kill(io, "read TLS");
	}
}

static ssize_t tls_write(struct io *io, struct bytes bytes, struct bytes then)
{
	int len = bytes.len > RECORD_MAX ? RECORD_MAX : (int)bytes.len;
	int n;

	tls_clean_queue();
	/* Records that follow each other share segments, and wake the peer
	 * once. */
	io->tls->has_more = bytes.len + then.len > (size_t)len;
	apart_set(io->tls->is_client);
	n = SSL_write(io->tls->ssl, bytes.data, len);
	apart_set(false);
	io->tls->has_more = false;
	if (n > 0)
		return n;
	switch (SSL_get_error(io->tls->ssl, n)) {
	case SSL_ERROR_WANT_READ:
		io->write_needs = IO_READABLE;
		return IO_AGAIN;
	case SSL_ERROR_WANT_WRITE:
		io->write_needs = IO_WRITABLE;
		return IO_AGAIN;
	default:
		return tls_kill(io, "write TLS");
	}
}

static int tls_end(struct io *io)
{
	int result;

	tls_clean_queue();
	result = SSL_shutdown(io->tls->ssl);
	if (result >= 0)
		return IO_ENDED;
	io->write_needs = IO_WRITABLE;
	if (SSL_get_error(io->tls->ssl, result) == SSL_ERROR_WANT_WRITE)
		return IO_AGAIN;
	return tls_kill(io, "end TLS");
}

static void tls_close(struct io *io)
{
	struct io_tls *tls = io->tls;

	/* Else OpenSSL marks the session as not resumable because no
	 * close_notify was exchanged, which in HTTP says nothing. */
	if (!io->is_dead && !io->is_shaking)
		SSL_set_shutdown(tls->ssl,
				 SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
	SSL_free(tls->ssl);
	ERR_clear_error();
	tls->ssl = NULL;
	buf_release(&tls->initial);
	io_rest_soon(io->loop);
}

static void tls_release(struct io *io)
{
	OPENSSL_free(io->tls->name);
	dense_give(&layers, io->tls);
}

static const struct io_layer layer_tls = {
	.read = tls_read,
	.write = tls_write,
	.end = tls_end,
	.shake = tls_shake,
	.has_pending = tls_has_pending,
	.close = tls_close,
	.release = tls_release,
};

bool io_tls_set_certificate(struct io_tls *tls, X509 *const *chain,
			    size_t count, EVP_PKEY *key)
{
	STACK_OF(X509) *rest = sk_X509_new_null();
	bool is_good = rest != NULL;

	assert(count > 0);
	for (size_t i = 1; is_good && i < count; i++)
		is_good = sk_X509_push(rest, chain[i]) > 0;
	is_good = is_good &&
		  SSL_use_cert_and_key(tls->ssl, chain[0], key, rest, 1) == 1;
	sk_X509_free(rest);
	return is_good;
}

int io_tls_begin(struct io *io, SSL_CTX *ctx, bool is_client, struct err *err)
{
	struct io_tls *tls;
	BIO *bio;

	assert(!io->tls);
	/* What was written before is plaintext, like a proxy's answer. */
	io_flush(io);
	if (io->is_dead || io->is_closed || buf_len(&io->out) > 0)
		return err_set(err, ERR_CLOSED,
			       "start TLS: the connection takes no bytes");
	tls = dense_take(&layers, sizeof(*tls));
	apart_set(is_client);
	bio = bio_new(io);
	if (tls)
		tls->ssl = SSL_new(ctx);
	apart_set(false);
	if (!tls || !tls->ssl || !bio) {
		if (tls)
			SSL_free(tls->ssl);
		dense_give(&layers, tls);
		(void)BIO_free(bio);
		return io_tls_library_err(err, "start TLS");
	}
	tls->is_client = is_client;
	SSL_set_bio(tls->ssl, bio, bio);
	(void)SSL_set_mode(tls->ssl,
			   SSL_MODE_RELEASE_BUFFERS |
				   SSL_MODE_ENABLE_PARTIAL_WRITE |
				   SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	(void)SSL_clear_mode(tls->ssl, SSL_MODE_AUTO_RETRY);
	(void)SSL_set_options(tls->ssl,
			      SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	(void)SSL_set_max_early_data(tls->ssl, 0);
	SSL_set_read_ahead(tls->ssl, 1);
	buf_clear(&io->in);
	io->tls = tls;
	io->layer = &layer_tls;
	io->is_shaking = true;
	io->owes_shake = true;
	io_owe(io);
	return 0;
}

/* ---- what stands ---- */

bool io_is_tls(const struct io *io)
{
	return io->tls != NULL;
}

const char *io_tls_name(const struct io *io)
{
	return io->tls && io->tls->name ? io->tls->name : "";
}

bool io_tls_is_of(const struct io *io, const SSL_CTX *ctx)
{
	return !io->tls || !io->tls->ssl ||
	       SSL_get_SSL_CTX(io->tls->ssl) == ctx;
}

SSL_SESSION *io_tls_session(struct io *io)
{
	if (!io->tls || !io->tls->ssl || io->is_shaking)
		return NULL;
	return SSL_get1_session(io->tls->ssl);
}

void io_tls_rest(struct io *io)
{
	if (io->tls && io->tls->ssl && !io->is_shaking && !io->is_dead)
		(void)SSL_free_buffers(io->tls->ssl);
}

struct bytes io_tls_alpn(const struct io *io)
{
	const unsigned char *name = NULL;
	unsigned len = 0;

	if (io->tls && io->tls->ssl && !io->is_shaking)
		SSL_get0_alpn_selected(io->tls->ssl, &name, &len);
	return bytes_from(name, len);
}

const char *io_tls_version(const struct io *io)
{
	if (!io->tls || !io->tls->ssl || io->is_shaking)
		return "";
	return SSL_get_version(io->tls->ssl);
}
