#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <openssl/objects.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>

#include "certs/bundle.h"

#define NOW_MS	  1795289000000ull /* 2026-11-21 */
#define BYTES_MAX 8192

static void pem_bundle_is_the_certificate_and_no_key(void **state)
{
	struct ca ca;
	struct buf out;
	BIO *bio;
	X509 *cert;

	(void)state;
	buf_init(&out, BYTES_MAX);
	assert_int_equal(ca_make(NOW_MS, &ca, NULL), 0);
	assert_int_equal(bundle_pem(&ca, &out, NULL), 0);
	assert_null(strstr(buf_str(&out), "KEY"));
	bio = BIO_new_mem_buf(buf_str(&out), -1);
	cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);
	assert_non_null(cert);
	assert_int_equal(X509_cmp(cert, ca.cert), 0);
	X509_free(cert);
	BIO_free(bio);
	buf_release(&out);
	ca_release(&ca);
}

static PKCS12 *store_of(const struct ca *ca)
{
	struct buf out;
	struct bytes view;
	const uint8_t *der;
	PKCS12 *store;

	buf_init(&out, BYTES_MAX);
	assert_int_equal(bundle_pkcs12(ca, &out, NULL), 0);
	view = buf_view(&out);
	der = view.data;
	store = d2i_PKCS12(NULL, &der, (long)view.len);
	assert_non_null(store);
	buf_release(&out);
	return store;
}

static void truststore_opens_with_its_password_alone(void **state)
{
	struct ca ca;
	PKCS12 *store;
	EVP_PKEY *key = NULL;
	X509 *own = NULL;
	STACK_OF(X509) *certs = NULL;

	(void)state;
	assert_int_equal(ca_make(NOW_MS, &ca, NULL), 0);
	store = store_of(&ca);
	assert_int_equal(PKCS12_verify_mac(store, "other", -1), 0);
	assert_int_equal(PKCS12_verify_mac(store, BUNDLE_PASSWORD, -1), 1);
	assert_int_equal(
		PKCS12_parse(store, BUNDLE_PASSWORD, &key, &own, &certs), 1);
	assert_null(key);
	assert_int_equal(sk_X509_num(certs), 1);
	assert_int_equal(X509_cmp(sk_X509_value(certs, 0), ca.cert), 0);
	sk_X509_pop_free(certs, X509_free);
	PKCS12_free(store);
	ca_release(&ca);
}

static void truststore_says_what_java_needs_to_trust_it(void **state)
{
	struct ca ca;
	PKCS12 *store;
	STACK_OF(PKCS7) * safes;
	STACK_OF(PKCS12_SAFEBAG) * bags;
	const ASN1_TYPE *value;
	int nid = OBJ_txt2nid("2.16.840.1.113894.746875.1.1");

	(void)state;
	/* OpenSSL knows it from 3.2 on. */
	if (nid == NID_undef)
		nid = OBJ_create("2.16.840.1.113894.746875.1.1",
				 "trustedKeyUsage", "trustedKeyUsage");
	assert_int_equal(ca_make(NOW_MS, &ca, NULL), 0);
	store = store_of(&ca);
	safes = PKCS12_unpack_authsafes(store);
	bags = PKCS12_unpack_p7data(sk_PKCS7_value(safes, 0));
	value = PKCS12_SAFEBAG_get0_attr(sk_PKCS12_SAFEBAG_value(bags, 0), nid);
	assert_non_null(value);
	assert_int_equal(OBJ_obj2nid(value->value.object),
			 NID_anyExtendedKeyUsage);
	sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free);
	sk_PKCS7_pop_free(safes, PKCS7_free);
	PKCS12_free(store);
	ca_release(&ca);
}

static void bundle_that_does_not_fit_is_a_failure(void **state)
{
	struct ca ca;
	struct buf out;

	(void)state;
	assert_int_equal(ca_make(NOW_MS, &ca, NULL), 0);
	buf_init(&out, 100);
	assert_int_equal(bundle_pem(&ca, &out, NULL), -1);
	assert_int_equal(bundle_pkcs12(&ca, &out, NULL), -1);
	assert_int_equal(buf_len(&out), 0);
	buf_release(&out);
	ca_release(&ca);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pem_bundle_is_the_certificate_and_no_key),
		cmocka_unit_test(truststore_opens_with_its_password_alone),
		cmocka_unit_test(truststore_says_what_java_needs_to_trust_it),
		cmocka_unit_test(bundle_that_does_not_fit_is_a_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
