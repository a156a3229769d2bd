/* An authority and a leaf for "good.example" and 192.0.2.7, made here. */
#ifndef CONTRACT_TLS_KEYS_H
#define CONTRACT_TLS_KEYS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

struct tls_keys {
	EVP_PKEY *authority_key;
	X509 *authority;
	EVP_PKEY *key;
	X509 *leaf;
	SSL_CTX *server;
	SSL_CTX *client;
};

static struct tls_keys keys;

static void tls_extend(X509 *cert, int nid, const char *value)
{
	X509V3_CTX v3;
	X509_EXTENSION *extension;

	X509V3_set_ctx_nodb(&v3);
	X509V3_set_ctx(&v3, cert, cert, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &v3, nid, value);
	assert_non_null(extension);
	assert_int_equal(X509_add_ext(cert, extension, -1), 1);
	X509_EXTENSION_free(extension);
}

static X509 *tls_certificate(const char *name, EVP_PKEY *key, X509 *issuer)
{
	X509 *cert = X509_new();
	X509_NAME *subject = X509_get_subject_name(cert);

	assert_int_equal(X509_set_version(cert, 2), 1);
	assert_int_equal(
		ASN1_INTEGER_set(X509_get_serialNumber(cert), issuer ? 2 : 1),
		1);
	assert_non_null(X509_gmtime_adj(X509_getm_notBefore(cert), -60));
	assert_non_null(X509_gmtime_adj(X509_getm_notAfter(cert), 3600));
	assert_int_equal(X509_NAME_add_entry_by_txt(
				 subject, "CN", MBSTRING_UTF8,
				 (const unsigned char *)name, -1, -1, 0),
			 1);
	assert_int_equal(
		X509_set_issuer_name(
			cert, issuer ? X509_get_subject_name(issuer) : subject),
		1);
	assert_int_equal(X509_set_pubkey(cert, key), 1);
	return cert;
}

static inline int tls_keys_make(void **state)
{
	(void)state;
	keys.authority_key = EVP_EC_gen("P-256");
	keys.authority = tls_certificate("authority", keys.authority_key, NULL);
	tls_extend(keys.authority, NID_basic_constraints, "critical,CA:TRUE");
	assert_true(X509_sign(keys.authority, keys.authority_key,
			      EVP_sha256()) > 0);
	keys.key = EVP_EC_gen("P-256");
	keys.leaf = tls_certificate("leaf", keys.key, keys.authority);
	tls_extend(keys.leaf, NID_subject_alt_name,
		   "DNS:good.example,IP:192.0.2.7");
	assert_true(X509_sign(keys.leaf, keys.authority_key, EVP_sha256()) > 0);
	keys.server = SSL_CTX_new(TLS_server_method());
	keys.client = SSL_CTX_new(TLS_client_method());
	assert_int_equal(
		X509_STORE_add_cert(SSL_CTX_get_cert_store(keys.client),
				    keys.authority),
		1);
	return 0;
}

static inline int tls_keys_free(void **state)
{
	(void)state;
	SSL_CTX_free(keys.server);
	SSL_CTX_free(keys.client);
	X509_free(keys.leaf);
	X509_free(keys.authority);
	EVP_PKEY_free(keys.key);
	EVP_PKEY_free(keys.authority_key);
	return 0;
}

#endif
