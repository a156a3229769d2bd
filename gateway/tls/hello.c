#include "gateway/tls/hello.h"

#include <openssl/err.h>
#include <stdlib.h>

#include "gateway/tls/server_name.h"

#define NAME_MAX_SENT 255
#define TYPE_ECH      0xfe0d /* encrypted_client_hello, RFC 9849 */

struct tls_hello {
	SSL *ssl;
	enum tls_hello_result result;
	uint8_t name[NAME_MAX_SENT];
	size_t name_len;
	bool has_ech;
};

/* OpenSSL calls it with a whole and well-formed ClientHello. */
static int on_client_hello(SSL *ssl, int *alert, void *unused)
{
	struct tls_hello *hello = SSL_get_app_data(ssl);
	struct bytes name = {0};
	const uint8_t *data;
	size_t len;

	(void)unused;
	*alert = SSL_AD_INTERNAL_ERROR;
	/* An SSL that read another before takes none in SSL 2's form. */
	if (SSL_client_hello_isv2(ssl)) {
		hello->result = TLS_HELLO_INVALID;
		return SSL_CLIENT_HELLO_ERROR;
	}
	hello->has_ech = SSL_client_hello_get0_ext(ssl, TYPE_ECH, &data, &len);
	switch (tls_server_name(ssl, &name)) {
	case 0:
		hello->result = TLS_HELLO_UNNAMED;
		break;
	case 1:
		memcpy(hello->name, name.data, name.len);
		hello->name_len = name.len;
		hello->result = TLS_HELLO_NAMED;
		break;
	default:
		hello->result = TLS_HELLO_INVALID;
		break;
	}
	/* Stop here. After a RETRY OpenSSL would hold the ClientHello, and
	 * SSL_clear() of 3.0 would lose it. */
	return SSL_CLIENT_HELLO_ERROR;
}

/* Nothing is ever chosen from these: a new SSL copies them all, so one of
 * each will do. */
static bool keep_short(SSL_CTX *context)
{
	/* OpenSSL's macros cast const away. */
	char groups[] = "P-256", algorithms[] = "ECDSA+SHA256";

	return SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") &&
	       SSL_CTX_set_cipher_list(context,
				       "ECDHE-ECDSA-AES128-GCM-SHA256") &&
	       SSL_CTX_set1_groups_list(context, groups) &&
	       SSL_CTX_set1_sigalgs_list(context, algorithms);
}

/* Nothing of a connection is kept in it: one for the life of the process. */
static SSL_CTX *shared_context(void)
{
	static SSL_CTX *context;

	if (!context) {
		context = SSL_CTX_new(TLS_server_method());
		if (!context)
			return NULL;
		if (!keep_short(context)) {
			SSL_CTX_free(context);
			context = NULL;
			return NULL;
		}
		SSL_CTX_set_client_hello_cb(context, on_client_hello, NULL);
		/* It tells of no extension that it does not know; it fails
		 * where it knows this one. */
		(void)SSL_CTX_add_custom_ext(context, TYPE_ECH,
					     SSL_EXT_CLIENT_HELLO, NULL, NULL,
					     NULL, NULL, NULL);
	}
	return context;
}

/* One that waits for the next ClientHello: to make and to free it costs more
 * than to read with it. */
static SSL *spare;

static SSL *ssl_make(void)
{
	SSL_CTX *context = shared_context();
	SSL *ssl = context ? SSL_new(context) : NULL;
	BIO *in = BIO_new(BIO_s_mem());
	BIO *out = BIO_new(BIO_s_null());

	if (!ssl || !in || !out) {
		BIO_free(in);
		BIO_free(out);
		SSL_free(ssl);
		return NULL;
	}
	SSL_set_bio(ssl, in, out);
	SSL_set_accept_state(ssl);
	return ssl;
}

static SSL *ssl_take(void)
{
	SSL *ssl = spare ? spare : ssl_make();

	spare = NULL;
	return ssl;
}

static bool is_whole(const struct tls_hello *hello)
{
	return hello->result == TLS_HELLO_NAMED ||
	       hello->result == TLS_HELLO_UNNAMED;
}

static void ssl_give(SSL *ssl, bool is_clean)
{
	if (is_clean && !spare && SSL_clear(ssl) == 1 &&
	    BIO_reset(SSL_get_rbio(ssl)) == 1)
		spare = ssl;
	else
		SSL_free(ssl);
}

struct tls_hello *tls_hello_new(void)
{
	struct tls_hello *hello = calloc(1, sizeof(*hello));
	SSL *ssl = hello ? ssl_take() : NULL;

	if (!ssl) {
		free(hello);
		return NULL;
	}
	hello->ssl = ssl;
	SSL_set_app_data(ssl, hello);
	return hello;
}

void tls_hello_free(struct tls_hello *hello)
{
	if (!hello)
		return;
	/* Of bytes that were none, or no end, nothing is kept. */
	ssl_give(hello->ssl, is_whole(hello));
	free(hello);
}

enum tls_hello_result tls_hello_feed(struct tls_hello *hello,
				     struct bytes bytes)
{
	int done;

	if (bytes.len == 0)
		return TLS_HELLO_MORE;
	if (BIO_write(SSL_get_rbio(hello->ssl), bytes.data, (int)bytes.len) !=
	    (int)bytes.len)
		return TLS_HELLO_INVALID;
	done = SSL_do_handshake(hello->ssl);
	if (hello->result == TLS_HELLO_MORE &&
	    SSL_get_error(hello->ssl, done) != SSL_ERROR_WANT_READ)
		hello->result = TLS_HELLO_INVALID;
	ERR_clear_error();
	return hello->result;
}

bool tls_hello_has_ech(const struct tls_hello *hello)
{
	return hello->has_ech;
}

struct bytes tls_hello_name(const struct tls_hello *hello)
{
	return bytes_from(hello->name, hello->name_len);
}
