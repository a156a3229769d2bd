#include "common/digest.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

/* Fetched once: a fetch costs more than hashing a ledger row does. */
static EVP_MD_CTX *sha256_context(void)
{
	static EVP_MD *sha256;
	static EVP_MD_CTX *context;

	if (!context) {
		/* OpenSSL must not look for its configuration file: this may
		 * be the first use, in a process that can open none. */
		(void)OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
		sha256 = EVP_MD_fetch(NULL, "SHA2-256", NULL);
		context = EVP_MD_CTX_new();
		assert(sha256 && context);
	}
	if (!EVP_DigestInit_ex2(context, sha256, NULL))
		assert(!"SHA-256 cannot start");
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

void digest_sha1(struct bytes bytes, uint8_t out[DIGEST_SHA1_LEN])
{
	size_t len = 0;
	int ok;

	(void)OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
	ok = EVP_Q_digest(NULL, "SHA1", NULL, bytes.data, bytes.len, out, &len);
	assert(ok && len == DIGEST_SHA1_LEN);
}
