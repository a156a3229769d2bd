#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <openssl/pem.h>
#include <stdio.h>

#include "common/cleanup.h"
#include "gateway/courier/certificate.h"

#define PEM_MAX 8192

/* A self-signed certificate, and its key, as PEM. */
struct made {
	char certificate[PEM_MAX], key[PEM_MAX];
};

static void copy_pem(BIO *bio, char out[PEM_MAX])
{
	int len = BIO_read(bio, out, PEM_MAX - 1);

	assert_true(len > 0);
	out[len] = '\0';
	(void)BIO_free(bio);
}

static void make(struct made *made)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x509 = X509_new();
	BIO *certificate_bio = BIO_new(BIO_s_mem());
	BIO *key_bio = BIO_new(BIO_s_mem());

	assert_non_null(key);
	assert_true(X509_set_version(x509, X509_VERSION_3));
	assert_non_null(X509_gmtime_adj(X509_getm_notBefore(x509), 0));
	assert_non_null(X509_gmtime_adj(X509_getm_notAfter(x509), 60));
	assert_true(X509_set_pubkey(x509, key));
	assert_true(X509_sign(x509, key, EVP_sha256()) > 0);
	assert_true(PEM_write_bio_X509(certificate_bio, x509));
	assert_true(PEM_write_bio_PrivateKey(key_bio, key, NULL, NULL, 0, NULL,
					     NULL));
	copy_pem(certificate_bio, made->certificate);
	copy_pem(key_bio, made->key);
	X509_free(x509);
	EVP_PKEY_free(key);
}

static int read_text(const char *text, size_t *count, struct err *err)
{
	struct certificate certificate;
	int result = certificate_read(&certificate, bytes_str(text), err);

	*count = certificate.count;
	certificate_release(&certificate);
	return result;
}

static void certificate_is_read_in_any_order_with_its_chain(void **state)
{
	static struct made one, other;
	static char text[4 * PEM_MAX];
	size_t count;
	struct err err;

	(void)state;
	make(&one);
	make(&other);
	(void)snprintf(text, sizeof(text), "%s%s%s", one.certificate, one.key,
		       other.certificate);
	assert_int_equal(read_text(text, &count, &err), 0);
	assert_int_equal(count, 2);
	(void)snprintf(text, sizeof(text), "words\n%s%s", one.key,
		       one.certificate);
	assert_int_equal(read_text(text, &count, &err), 0);
	assert_int_equal(count, 1);
}

static void what_is_no_certificate_with_its_key_is_refused(void **state)
{
	static struct made one, other;
	static char mixed[2 * PEM_MAX];
	size_t count;
	struct err err;

	(void)state;
	make(&one);
	make(&other);
	(void)snprintf(mixed, sizeof(mixed), "%s%s", one.certificate,
		       other.key);
	assert_int_equal(read_text("", &count, &err), -1);
	assert_int_equal(read_text("a token", &count, &err), -1);
	assert_int_equal(read_text(one.key, &count, &err), -1);
	assert_int_equal(read_text(one.certificate, &count, &err), -1);
	assert_non_null(strstr(err.text, "private key in PEM"));
	assert_int_equal(read_text(mixed, &count, &err), -1);
	assert_non_null(strstr(err.text, "not the certificate's"));
}

static void a_chain_is_bounded(void **state)
{
	static struct made one;
	static char text[20 * PEM_MAX];
	size_t count, len = 0;
	struct err err;

	(void)state;
	make(&one);
	for (int i = 0; i < 2 * CERTIFICATE_CHAIN_MAX; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s",
					one.certificate);
	(void)snprintf(text + len, sizeof(text) - len, "%s", one.key);
	assert_int_equal(read_text(text, &count, &err), 0);
	assert_int_equal(count, CERTIFICATE_CHAIN_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			certificate_is_read_in_any_order_with_its_chain),
		cmocka_unit_test(
			what_is_no_certificate_with_its_key_is_refused),
		cmocka_unit_test(a_chain_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
