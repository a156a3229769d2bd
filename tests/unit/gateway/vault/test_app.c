#include "tests/unit/gateway/vault/fixture.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include "gateway/vault/supply.h"

#define WALL_MS 1795000000000ull

static EVP_PKEY *make_key(int bits)
{
	EVP_PKEY *key =
		bits ? EVP_RSA_gen((unsigned)bits) : EVP_EC_gen("P-256");

	assert_non_null(key);
	return key;
}

static struct bytes pem_of(EVP_PKEY *key, const char *passphrase, BIO **bio)
{
	char *data = NULL;
	long len;

	*bio = BIO_new(BIO_s_mem());
	assert_true(PEM_write_bio_PrivateKey(
		*bio, key, passphrase ? EVP_aes_128_cbc() : NULL, NULL, 0, NULL,
		(void *)(uintptr_t)passphrase));
	len = BIO_get_mem_data(*bio, &data);
	return bytes_from(data, (size_t)len);
}

static void only_an_rsa_key_of_2048_bits_is_taken(void **state)
{
	static const struct {
		int bits;
		const char *passphrase;
		int taken;
	} rows[] = {
		{2048, NULL, 0}, {3072, NULL, 0},     {1024, NULL, -1},
		{0, NULL, -1},	 {2048, "words", -1},
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		EVP_PKEY *key = make_key(rows[i].bits);
		BIO *bio;
		struct bytes pem = pem_of(key, rows[i].passphrase, &bio);

		assert_int_equal(app_key_check(pem, &err), rows[i].taken);
		BIO_free(bio);
		EVP_PKEY_free(key);
	}
	assert_int_equal(app_key_check(bytes_str("no key"), &err), -1);
	assert_int_equal(app_key_check(bytes_from(NULL, 0), &err), -1);
}

/* base64url (RFC 4648 section 5) without padding. */
static size_t decode(struct bytes text, uint8_t *out)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklm"
				       "nopqrstuvwxyz0123456789-_";
	uint32_t bits = 0;
	unsigned count = 0;
	size_t len = 0;

	for (size_t i = 0; i < text.len; i++) {
		const char *at = strchr(alphabet, text.data[i]);

		assert_non_null(at);
		bits = bits << 6 | (uint32_t)(at - alphabet);
		count += 6;
		if (count >= 8) {
			count -= 8;
			out[len++] = (uint8_t)(bits >> count);
		}
	}
	return len;
}

static void assert_says(struct bytes part, const char *words)
{
	char text[513];

	text[decode(part, (uint8_t *)text)] = '\0';
	if (!strstr(text, words))
		fail_msg("%s: not %s", text, words);
}

static void assert_signed(EVP_PKEY *key, struct bytes text,
			  struct bytes signature)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	uint8_t bytes[1024];
	size_t len = decode(signature, bytes);

	assert_true(EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, key));
	assert_int_equal(EVP_DigestVerify(ctx, bytes, len, text.data, text.len),
			 1);
	EVP_MD_CTX_free(ctx);
}

static void a_jwt_says_who_the_app_is_for_ten_minutes(void **state)
{
	const struct config_source source = {.app = 4711};
	EVP_PKEY *key = make_key(2048);
	struct bytes rest, head, claims, pem;
	struct secret jwt;
	struct err err;
	BIO *bio;

	(void)state;
	secret_init(&jwt);
	pem = pem_of(key, NULL, &bio);
	assert_int_equal(app_begin(&err), 0);
	assert_int_equal(app_sign(&source, pem, WALL_MS, &jwt, &err), 0);
	rest = secret_view(&jwt);
	assert_true(bytes_split(&rest, '.', &head));
	assert_true(bytes_split(&rest, '.', &claims));
	assert_signed(
		key,
		bytes_slice(secret_view(&jwt), 0, head.len + 1 + claims.len),
		rest);
	assert_says(head, "\"RS256\"");
	assert_says(claims, "\"iat\":1794999940");
	assert_says(claims, "\"exp\":1795000540");
	assert_says(claims, "\"iss\":\"4711\"");
	secret_release(&jwt);
	BIO_free(bio);
	EVP_PKEY_free(key);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_an_rsa_key_of_2048_bits_is_taken),
		cmocka_unit_test(a_jwt_says_who_the_app_is_for_ten_minutes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
