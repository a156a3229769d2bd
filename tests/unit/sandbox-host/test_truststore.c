/*
 * Certificates in PEM become a PKCS#12 file that OpenSSL reads as well.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/x509.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "sandbox-host/truststore.h"

#define TEXT_MAX  (1024 * 1024)
#define ARENA_MAX (4 * 1024 * 1024)
#define USAGE	  "2.16.840.1.113894.746875.1.1"

/* Append a certificate of that name, signed by itself. */
static void add_certificate(struct buf *out, const char *name)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = X509_new();
	BIO *bio = BIO_new(BIO_s_mem());
	char *text;
	long len;

	X509_set_version(cert, X509_VERSION_3);
	X509_gmtime_adj(X509_getm_notBefore(cert), 0);
	X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN",
				   MBSTRING_UTF8, (const uint8_t *)name, -1, -1,
				   0);
	X509_set_issuer_name(cert, X509_get_subject_name(cert));
	X509_set_pubkey(cert, key);
	assert_int_not_equal(X509_sign(cert, key, EVP_sha256()), 0);
	assert_int_equal(PEM_write_bio_X509(bio, cert), 1);
	len = BIO_get_mem_data(bio, &text);
	assert_int_equal(buf_add(out, bytes_from(text, (size_t)len)), 0);
	BIO_free(bio);
	X509_free(cert);
	EVP_PKEY_free(key);
}

/* All bags of a store, which has one safe in the clear. */
static STACK_OF(PKCS12_SAFEBAG) * bags_of(struct bytes store)
{
	const uint8_t *der = store.data;
	PKCS12 *read = d2i_PKCS12(NULL, &der, (long)store.len);
	STACK_OF(PKCS12_SAFEBAG) * bags;
	STACK_OF(PKCS7) * safes;

	assert_non_null(read);
	assert_ptr_equal(der, store.data + store.len);
	safes = PKCS12_unpack_authsafes(read);
	assert_int_equal(sk_PKCS7_num(safes), 1);
	bags = PKCS12_unpack_p7data(sk_PKCS7_value(safes, 0));
	assert_non_null(bags);
	sk_PKCS7_pop_free(safes, PKCS7_free);
	PKCS12_free(read);
	return bags;
}

static void check_bag(PKCS12_SAFEBAG *bag, const char *common_name,
		      const char *friendly_name)
{
	ASN1_OBJECT *usage = OBJ_txt2obj(USAGE, 1);
	X509 *cert = PKCS12_SAFEBAG_get1_cert(bag);
	char *friendly = PKCS12_get_friendlyname(bag);
	char text[64] = "";

	assert_non_null(cert);
	X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName,
				  text, sizeof(text));
	assert_string_equal(text, common_name);
	assert_string_equal(friendly, friendly_name);
	assert_true(X509at_get_attr_by_OBJ(PKCS12_SAFEBAG_get0_attrs(bag),
					   usage, -1) >= 0);
	OPENSSL_free(friendly);
	X509_free(cert);
	ASN1_OBJECT_free(usage);
}

/* Of the certificates of all texts. */
static struct bytes store_of(struct arena *arena, const struct bytes *texts,
			     size_t count)
{
	struct bytes parts[3] = {0};
	auto_type(buf_release) struct buf store;
	unsigned number = 0;
	size_t len = 0;

	buf_init(&store, ARENA_MAX);
	assert_in_range(count, 1, ARRAY_SIZE(parts) - 1);
	for (size_t i = 1; i <= count; i++) {
		if (truststore_bags(arena, texts[i - 1], &number, &parts[i]) <
		    0)
			return bytes_from(NULL, 0);
		len += parts[i].len;
	}
	parts[0] = truststore_head(arena, len);
	for (size_t i = 0; i <= count; i++)
		assert_int_equal(buf_add(&store, parts[i]), 0);
	return parts[0].len ? arena_copy(arena, buf_view(&store))
			    : bytes_from(NULL, 0);
}

static void
truststore_has_each_certificate_under_a_name_of_its_own(void **state)
{
	auto_type(arena_release) struct arena arena;
	struct buf own, host;
	struct bytes texts[2];
	STACK_OF(PKCS12_SAFEBAG) * bags;

	(void)state;
	arena_init(&arena, ARENA_MAX);
	buf_init(&own, TEXT_MAX);
	buf_init(&host, TEXT_MAX);
	add_certificate(&own, "ours");
	add_certificate(&host, "first");
	assert_int_equal(buf_add_str(&host, "# and another one\n"), 0);
	add_certificate(&host, "second");
	texts[0] = buf_view(&own);
	texts[1] = buf_view(&host);
	bags = bags_of(store_of(&arena, texts, 2));
	assert_int_equal(sk_PKCS12_SAFEBAG_num(bags), 3);
	/* Each text's from the end. */
	check_bag(sk_PKCS12_SAFEBAG_value(bags, 0), "ours", "sallyport-0");
	check_bag(sk_PKCS12_SAFEBAG_value(bags, 1), "second", "sallyport-2");
	check_bag(sk_PKCS12_SAFEBAG_value(bags, 2), "first", "sallyport-1");
	sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free);
	buf_release(&own);
	buf_release(&host);
}

static void truststore_holds_a_whole_systems_bundle(void **state)
{
	auto_type(arena_release) struct arena arena;
	struct buf host;
	struct bytes text;
	STACK_OF(PKCS12_SAFEBAG) * bags;

	(void)state;
	arena_init(&arena, ARENA_MAX);
	buf_init(&host, TEXT_MAX);
	for (int i = 0; i < 200; i++)
		add_certificate(&host, "one of many");
	text = buf_view(&host);
	bags = bags_of(store_of(&arena, &text, 1));
	assert_int_equal(sk_PKCS12_SAFEBAG_num(bags), 200);
	sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free);
	buf_release(&host);
}

#define BEGIN "-----BEGIN CERTIFICATE-----\n"
#define END   "-----END CERTIFICATE-----\n"

static void truststore_leaves_out_what_is_no_certificate(void **state)
{
	static const char *const rows[] = {
		"",
		"no certificate at all",
		BEGIN "AAAA\n",
		END BEGIN,
		BEGIN END,
		BEGIN "?\n" END,
		BEGIN "AAA\n" END,
		BEGIN "AAAA\n" END,	/* no sequence */
		BEGIN "MAIAAA==\n" END, /* whose length is right */
		BEGIN "MAMAAA==\n" END, /* too long */
		BEGIN "MIT/////\n" END, /* by far */
		BEGIN "MIUAAAAA\n" END, /* a length of five bytes */
		BEGIN "MA==\n" END,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_type(arena_release) struct arena arena;
		struct bytes text = bytes_str(rows[i]);
		STACK_OF(PKCS12_SAFEBAG) * bags;
		bool is_one = strstr(rows[i], "MAIAAA") != NULL;

		arena_init(&arena, ARENA_MAX);
		bags = bags_of(store_of(&arena, &text, 1));
		if (sk_PKCS12_SAFEBAG_num(bags) != is_one)
			fail_msg("row %zu", i);
		sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free);
	}
}

static void truststore_is_none_without_room(void **state)
{
	struct bytes text = bytes_str(BEGIN "MAIAAA==\n" END);
	auto_type(arena_release) struct arena arena;

	(void)state;
	arena_init(&arena, 64);
	assert_int_equal(store_of(&arena, &text, 1).len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			truststore_has_each_certificate_under_a_name_of_its_own),
		cmocka_unit_test(truststore_holds_a_whole_systems_bundle),
		cmocka_unit_test(truststore_leaves_out_what_is_no_certificate),
		cmocka_unit_test(truststore_is_none_without_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
