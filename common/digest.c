#include "common/digest.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>

/* Fetched once: a fetch costs more than hashing a ledger row does. */
static const EVP_MD *sha256(void)
{
	static EVP_MD *fetched;

	if (!fetched) {
		/* OpenSSL must not look for its configuration file: this may
		 * be the first use, in a process that can open none. */
		(void)OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
		fetched = EVP_MD_fetch(NULL, "SHA2-256", NULL);
		assert(fetched);
	}
	return fetched;
}

static void begin(EVP_MD_CTX *context)
{
	if (!EVP_DigestInit_ex2(context, sha256(), NULL))
		assert(!"SHA-256 cannot start");
}

static EVP_MD_CTX *sha256_context(void)
{
	static EVP_MD_CTX *context;

	if (!context) {
		context = EVP_MD_CTX_new();
		assert(context);
	}
	begin(context);
	return context;
}

void digest_sha256(struct bytes a, struct bytes b, uint8_t out[DIGEST_LEN])
{
	EVP_MD_CTX *context = sha256_context();
	unsigned len = 0;
	int ok = EVP_DigestUpdate(context, a.data, a.len) &&
		 EVP_DigestUpdate(context, b.data, b.len) &&
		 EVP_DigestFinal_ex(context, out, &len);

	assert(ok && len == DIGEST_LEN);
}

/* ---- in pieces ---- */

struct digest_stream {
	EVP_MD_CTX *context;
};

struct digest_stream *digest_open(void)
{
	struct digest_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->context = EVP_MD_CTX_new();
	if (!stream->context) {
		free(stream);
		return NULL;
	}
	begin(stream->context);
	return stream;
}

void digest_feed(struct digest_stream *stream, struct bytes bytes)
{
	if (!EVP_DigestUpdate(stream->context, bytes.data, bytes.len))
		assert(!"SHA-256 cannot go on");
}

void digest_close(struct digest_stream *stream, uint8_t out[DIGEST_LEN])
{
	if (!stream)
		return;
	if (out && !EVP_DigestFinal_ex(stream->context, out, NULL))
		assert(!"SHA-256 cannot end");
	EVP_MD_CTX_free(stream->context);
	free(stream);
}

void digest_sha1(struct bytes bytes, uint8_t out[DIGEST_SHA1_LEN])
{
	size_t len = 0;
	int ok;

	(void)OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
	ok = EVP_Q_digest(NULL, "SHA1", NULL, bytes.data, bytes.len, out, &len);
	assert(ok && len == DIGEST_SHA1_LEN);
}

void digest_sha512(struct bytes bytes, uint8_t out[DIGEST_SHA512_LEN])
{
	size_t len = 0;
	int ok;

	(void)OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
	ok = EVP_Q_digest(NULL, "SHA2-512", NULL, bytes.data, bytes.len, out,
			  &len);
	assert(ok && len == DIGEST_SHA512_LEN);
}
