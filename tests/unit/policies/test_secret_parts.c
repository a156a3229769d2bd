/* What of a secret is looked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <openssl/evp.h>
#include <openssl/pem.h>

#include "common/cleanup.h"
#include "policies/secret_parts.h"

static void assert_parts(enum policy_attach attach, const char *value,
			 const char *first, const char *second)
{
	struct bytes parts[SECRET_PARTS_MAX];
	size_t count = secret_parts(attach, bytes_str(value), parts);

	assert_int_equal(count, second ? 2 : 1);
	assert_true(bytes_is(parts[0], first));
	if (second)
		assert_true(bytes_is(parts[1], second));
}

static void a_key_of_aws_is_its_secret_and_its_token(void **state)
{
	(void)state;
	assert_parts(ATTACH_SIGV4, "ID:KEY", "KEY", NULL);
	assert_parts(ATTACH_SIGV4, "ID:KEY:TOKEN", "KEY", "TOKEN");
	assert_parts(ATTACH_SIGV4, "ID:KEY:TO:KEN", "KEY", "TO:KEN");
	assert_parts(ATTACH_SIGV4, "no key at all", "no key at all", NULL);
	assert_parts(ATTACH_SIGV4, ":KEY", ":KEY", NULL);
	assert_parts(ATTACH_BEARER, "ID:KEY:TOKEN", "ID:KEY:TOKEN", NULL);
	assert_parts(ATTACH_BASIC, "a:b", "a:b", NULL);
}

/* PEM of a new key, and of its public half. */
static void make(const char *type, const char *curve, bool is_old,
		 char *private_pem, char *public_pem, size_t size)
{
	BIO *bio = BIO_new(BIO_s_mem());
	EVP_PKEY *key;
	int len;

	if (curve)
		key = EVP_PKEY_Q_keygen(NULL, NULL, type, curve);
	else if (!strcmp(type, "RSA"))
		key = EVP_PKEY_Q_keygen(NULL, NULL, type, (size_t)2048);
	else
		key = EVP_PKEY_Q_keygen(NULL, NULL, type);
	assert_non_null(key);
	assert_int_equal(is_old ? PEM_write_bio_PrivateKey_traditional(
					  bio, key, NULL, NULL, 0, NULL, NULL)
				: PEM_write_bio_PKCS8PrivateKey(
					  bio, key, NULL, NULL, 0, NULL, NULL),
			 1);
	len = BIO_read(bio, private_pem, (int)size - 1);
	private_pem[len] = '\0';
	assert_int_equal(PEM_write_bio_PUBKEY(bio, key), 1);
	len = BIO_read(bio, public_pem, (int)size - 1);
	public_pem[len] = '\0';
	BIO_free(bio);
	EVP_PKEY_free(key);
}

static void a_certificate_is_a_piece_of_its_key(void **state)
{
	static const struct {
		const char *type, *curve;
		bool is_old;
	} kinds[] = {
		{"RSA", NULL, false},	  {"RSA", NULL, true},
		{"EC", "P-256", false},	  {"EC", "P-256", true},
		{"EC", "P-384", false},	  {"EC", "P-521", false},
		{"ED25519", NULL, false}, {"ED448", NULL, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		char one[4096], other[4096], public_half[4096], both[8192];
		struct bytes parts[SECRET_PARTS_MAX];

		make(kinds[i].type, kinds[i].curve, kinds[i].is_old, other,
		     public_half, sizeof(other));
		make(kinds[i].type, kinds[i].curve, kinds[i].is_old, one,
		     public_half, sizeof(one));
		(void)snprintf(both, sizeof(both), "%s%s", public_half, one);
		assert_int_equal(secret_parts(ATTACH_CERTIFICATE,
					      bytes_str(both), parts),
				 1);
		assert_int_equal(parts[0].len, 32);
		assert_true(bytes_find_bytes(bytes_str(one), parts[0], 0) >= 0);
		/* Neither what is the same in all keys, nor what is public. */
		assert_true(bytes_find_bytes(bytes_str(other), parts[0], 0) <
			    0);
		assert_true(bytes_find_bytes(bytes_str(public_half), parts[0],
					     0) < 0);
	}
}

static void what_is_no_pem_is_looked_for_as_it_is(void **state)
{
	static const char *const values[] = {
		"",
		"no PEM",
		"-----BEGIN PRIVATE KEY-----\nAAAA",
		"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
		"-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n",
		"-----END PRIVATE KEY-----\n-----BEGIN PRIVATE KEY-----\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		assert_parts(ATTACH_CERTIFICATE, values[i], values[i], NULL);
}

static void lines_may_end_as_on_windows(void **state)
{
	(void)state;
	assert_parts(ATTACH_CERTIFICATE,
		     "-----BEGIN EC PRIVATE KEY-----\r\n"
		     "0123456789abcdefghijklmnopqrstuvwxyz\r\n"
		     "-----END EC PRIVATE KEY-----\r\n",
		     "456789abcdefghijklmnopqrstuvwxyz", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_of_aws_is_its_secret_and_its_token),
		cmocka_unit_test(a_certificate_is_a_piece_of_its_key),
		cmocka_unit_test(what_is_no_pem_is_looked_for_as_it_is),
		cmocka_unit_test(lines_may_end_as_on_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
