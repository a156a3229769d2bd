/*
 * Give a certificate for tests a version that does not fit its extensions.
 */
#ifndef TESTS_FORGE_VERSION_H
#define TESTS_FORGE_VERSION_H

#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

/* The certificate of a signed part and its signature, put together by hand. */
static inline X509 *forge_assembly(const X509 *cert, uint8_t *tbs, int tbs_len,
				   ASN1_BIT_STRING *signature)
{
	const X509_ALGOR *algorithm;
	uint8_t *whole, *out;
	const uint8_t *in;
	X509 *made;
	int len;

	X509_get0_signature(NULL, &algorithm, cert);
	len = tbs_len + i2d_X509_ALGOR(algorithm, NULL) +
	      i2d_ASN1_BIT_STRING(signature, NULL);
	whole = malloc((size_t)ASN1_object_size(1, len, V_ASN1_SEQUENCE));
	assert_non_null(whole);
	out = whole;
	ASN1_put_object(&out, 1, len, V_ASN1_SEQUENCE, V_ASN1_UNIVERSAL);
	memcpy(out, tbs, (size_t)tbs_len);
	out += tbs_len;
	i2d_X509_ALGOR(algorithm, &out);
	i2d_ASN1_BIT_STRING(signature, &out);
	in = whole;
	made = d2i_X509(NULL, &in, out - whole);
	assert_non_null(made);
	free(whole);
	return made;
}

/* X509_sign() sets version 3 where there are extensions: sign once more. */
static inline void forge_version(X509 **cert, long version, EVP_PKEY *key,
				 const EVP_MD *digest)
{
	ASN1_BIT_STRING *signature = ASN1_BIT_STRING_new();
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	uint8_t *tbs = NULL, bytes[512];
	size_t len = sizeof(bytes);
	X509 *made;
	int tbs_len;

	assert_int_equal(X509_set_version(*cert, version), 1);
	tbs_len = i2d_re_X509_tbs(*cert, &tbs);
	assert_true(tbs_len > 0);
	assert_int_equal(EVP_DigestSignInit(context, NULL, digest, NULL, key),
			 1);
	assert_int_equal(
		EVP_DigestSign(context, bytes, &len, tbs, (size_t)tbs_len), 1);
	assert_int_equal(ASN1_BIT_STRING_set(signature, bytes, (int)len), 1);
	/* No bit of its last octet is unused. */
	signature->flags = ASN1_STRING_FLAG_BITS_LEFT;
	made = forge_assembly(*cert, tbs, tbs_len, signature);
	X509_free(*cert);
	*cert = made;
	OPENSSL_free(tbs);
	EVP_MD_CTX_free(context);
	ASN1_BIT_STRING_free(signature);
}

#endif
