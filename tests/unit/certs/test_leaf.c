#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <openssl/x509v3.h>

#include "certs/leaf.h"
#include "common/cleanup.h"

#define NOW_MS 1795289000000ull /* 2026-11-21 */

struct bench {
	struct ca ca;
	struct leaf_template template;
	EVP_PKEY *key;
	uint8_t *spki;
	struct bytes public_key;
};

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	assert_non_null(bench);
	assert_int_equal(ca_make(NOW_MS, &bench->ca, NULL), 0);
	assert_int_equal(leaf_template_init(&bench->template, &bench->ca, NULL),
			 0);
	bench->key = EVP_EC_gen("P-256");
	bench->public_key.len = (size_t)i2d_PUBKEY(bench->key, &bench->spki);
	bench->public_key.data = bench->spki;
	*state = bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	OPENSSL_free(bench->spki);
	EVP_PKEY_free(bench->key);
	leaf_template_release(&bench->template);
	ca_release(&bench->ca);
	free(bench);
	return 0;
}

static int mint(struct bench *bench, const char *name, struct leaf *leaf,
		struct err *err)
{
	const struct leaf_request request = {
		.name = bytes_str(name),
		.public_key = bench->public_key,
		.wall_ms = NOW_MS,
		.valid_ms = LEAF_VALID_MS,
	};

	return leaf_mint(&bench->template, &request, leaf, err);
}

static X509 *minted(struct bench *bench, const char *name)
{
	struct leaf leaf;
	struct err err = {0};
	const uint8_t *der = leaf.der;
	X509 *cert;

	if (mint(bench, name, &leaf, &err))
		fail_msg("%s: %s", name, err.text);
	cert = d2i_X509(NULL, &der, (long)leaf.len);
	assert_non_null(cert);
	return cert;
}

static int verify(struct bench *bench, X509 *cert, uint64_t now_ms)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *context = X509_STORE_CTX_new();
	int result;

	assert_int_equal(X509_STORE_add_cert(store, bench->ca.cert), 1);
	assert_int_equal(X509_STORE_CTX_init(context, store, cert, NULL), 1);
	X509_STORE_CTX_set_time(context, X509_V_FLAG_X509_STRICT,
				(time_t)(now_ms / 1000));
	X509_STORE_CTX_set_flags(context, X509_V_FLAG_X509_STRICT);
	assert_int_equal(
		X509_STORE_CTX_set_purpose(context, X509_PURPOSE_SSL_SERVER),
		1);
	(void)X509_verify_cert(context);
	result = X509_STORE_CTX_get_error(context);
	X509_STORE_CTX_free(context);
	X509_STORE_free(store);
	return result;
}

static void leaf_verifies_strictly_under_its_ca_for_a_day(void **state)
{
	static const struct {
		long long offset_ms;
		int expected;
	} rows[] = {
		{0, X509_V_OK},
		{-3500 * 1000, X509_V_OK},
		{-3700 * 1000, X509_V_ERR_CERT_NOT_YET_VALID},
		{86300 * 1000, X509_V_OK},
		{86500 * 1000, X509_V_ERR_CERT_HAS_EXPIRED},
	};
	struct bench *bench = *state;
	X509 *cert = minted(bench, "github.com");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(verify(bench, cert,
					NOW_MS + (uint64_t)rows[i].offset_ms),
				 rows[i].expected);
	assert_int_equal(EVP_PKEY_eq(X509_get0_pubkey(cert), bench->key), 1);
	X509_free(cert);
}

static void leaf_of_another_ca_does_not_verify(void **state)
{
	struct bench *bench = *state;
	X509 *cert = minted(bench, "github.com");
	struct bench other = {0};

	assert_int_equal(verify(bench, cert, NOW_MS), X509_V_OK);
	assert_int_equal(ca_make(NOW_MS, &other.ca, NULL), 0);
	assert_int_not_equal(verify(&other, cert, NOW_MS), X509_V_OK);
	ca_release(&other.ca);
	X509_free(cert);
}

static void leaf_is_for_its_own_name_alone(void **state)
{
	static const char *const longest =
		"a23456789012345678901234567890123456789012345678901234567890."
		"b23456789012345678901234567890123456789012345678901234567890."
		"example.com";
	struct bench *bench = *state;
	X509 *name = minted(bench, "api.github.com");
	X509 *ipv4 = minted(bench, "192.0.2.7");
	X509 *ipv6 = minted(bench, "2001:db8::7");
	X509 *tall = minted(bench, longest);

	assert_int_equal(X509_check_host(name, "api.github.com", 0, 0, NULL),
			 1);
	assert_int_equal(X509_check_host(name, "github.com", 0, 0, NULL), 0);
	assert_int_equal(X509_check_ip_asc(ipv4, "192.0.2.7", 0), 1);
	assert_int_equal(X509_check_ip_asc(ipv4, "192.0.2.8", 0), 0);
	assert_int_equal(X509_check_ip_asc(ipv6, "2001:db8::7", 0), 1);
	assert_int_equal(X509_check_ip_asc(ipv6, "2001:db8::8", 0), 0);
	assert_int_equal(X509_check_host(tall, longest, 0, 0, NULL), 1);
	assert_int_equal(verify(bench, tall, NOW_MS), X509_V_OK);
	assert_int_equal(X509_get_ext_count(name), 5);
	assert_int_equal(X509_get_ext_count(tall), 5);
	X509_free(name);
	X509_free(ipv4);
	X509_free(ipv6);
	X509_free(tall);
}

static void leaves_have_serials_of_their_own(void **state)
{
	struct bench *bench = *state;
	X509 *a = minted(bench, "github.com");
	X509 *b = minted(bench, "github.com");
	const ASN1_INTEGER *serial = X509_get0_serialNumber(a);

	assert_int_not_equal(
		ASN1_INTEGER_cmp(serial, X509_get0_serialNumber(b)), 0);
	assert_int_equal(ASN1_STRING_type((const ASN1_STRING *)serial),
			 V_ASN1_INTEGER);
	assert_true(ASN1_STRING_length((const ASN1_STRING *)serial) >= 12);
	X509_free(a);
	X509_free(b);
}

static void leaf_ends_no_later_than_its_ca(void **state)
{
	struct bench *bench = *state;
	struct leaf leaf;
	struct leaf_request request = {
		.name = bytes_str("github.com"),
		.public_key = bench->public_key,
		.wall_ms = bench->template.ca_expires_ms - 5000,
		.valid_ms = LEAF_VALID_MS,
	};

	assert_int_equal(leaf_mint(&bench->template, &request, &leaf, NULL), 0);
	assert_int_equal(leaf.expires_ms, bench->template.ca_expires_ms);
	request.wall_ms = NOW_MS;
	assert_int_equal(leaf_mint(&bench->template, &request, &leaf, NULL), 0);
	assert_int_equal(leaf.expires_ms, NOW_MS + LEAF_VALID_MS);
}

static void leaf_is_refused_for_a_name_that_is_not_canonical(void **state)
{
	static const char *const rows[] = {
		"",	      "GitHub.com", "github.com.", "*.github.com",
		"git hub.io", "gîthub.com", "0x7f.1",	   "192.0.2.07",
		"[::1]",      "a..b",	    "-a.com",	   "2001:DB8::7",
	};
	struct bench *bench = *state;
	struct leaf leaf;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = {0};

		if (!mint(bench, rows[i], &leaf, &err))
			fail_msg("minted %s", rows[i]);
		assert_string_equal(err.text, "the name is not canonical");
	}
	assert_int_equal(mint(bench, "github.com", &leaf, NULL), 0);
}

static struct bytes spki_of(EVP_PKEY *key, uint8_t **out)
{
	int len = i2d_PUBKEY(key, out);

	EVP_PKEY_free(key);
	assert_true(len > 0);
	return bytes_from(*out, (size_t)len);
}

static void leaf_is_refused_for_a_key_that_is_not_p256(void **state)
{
	struct bench *bench = *state;
	struct bytes good = bench->public_key;
	uint8_t *keys[4] = {0};
	uint8_t off_curve[128];
	struct bytes rows[7];
	struct leaf leaf;

	memcpy(off_curve, good.data, good.len);
	off_curve[good.len - 1] ^= 1;
	rows[0] = spki_of(EVP_EC_gen("P-384"), &keys[0]);
	rows[1] = spki_of(EVP_EC_gen("secp256k1"), &keys[1]);
	rows[2] = spki_of(EVP_RSA_gen(2048), &keys[2]);
	rows[3] = spki_of(EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"), &keys[3]);
	rows[4] = bytes_slice(good, 0, good.len - 1);
	rows[5] = bytes_from(off_curve, good.len);
	rows[6] = bytes_from(NULL, 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = {0};

		bench->public_key = rows[i];
		if (!mint(bench, "github.com", &leaf, &err))
			fail_msg("row %zu was minted", i);
		assert_non_null(strstr(err.text, "P-256"));
	}
	bench->public_key = good;
	assert_int_equal(mint(bench, "github.com", &leaf, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		OPENSSL_free(keys[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaf_verifies_strictly_under_its_ca_for_a_day),
		cmocka_unit_test(leaf_of_another_ca_does_not_verify),
		cmocka_unit_test(leaf_is_for_its_own_name_alone),
		cmocka_unit_test(leaves_have_serials_of_their_own),
		cmocka_unit_test(leaf_ends_no_later_than_its_ca),
		cmocka_unit_test(
			leaf_is_refused_for_a_name_that_is_not_canonical),
		cmocka_unit_test(leaf_is_refused_for_a_key_that_is_not_p256),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
