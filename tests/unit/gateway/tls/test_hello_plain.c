#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>
#include <openssl/ssl.h>

#include "common/cleanup.h"
#include "gateway/tls/hello.h"
#include "gateway/tls/hello_plain.h"

#define HELLO_MAX 4096
#define TYPE_ECH  0xfe0d

/* What OpenSSL's own client would send for name (NULL: no SNI), of TLS 1.2
 * alone or of both versions, with an empty extension (0: none). */
static size_t client_hello(const char *name, int version, unsigned extension,
			   uint8_t out[HELLO_MAX])
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	BIO *written = BIO_new(BIO_s_mem());
	SSL *ssl;
	int len;

	assert_int_equal(SSL_CTX_set_max_proto_version(ctx, version), 1);
	if (extension)
		assert_int_equal(SSL_CTX_add_custom_ext(
					 ctx, extension, SSL_EXT_CLIENT_HELLO,
					 NULL, NULL, NULL, NULL, NULL),
				 1);
	ssl = SSL_new(ctx);
	SSL_set_bio(ssl, BIO_new(BIO_s_mem()), written);
	if (name) {
		char copy[300]; /* OpenSSL's macro casts const away */

		(void)snprintf(copy, sizeof(copy), "%s", name);
		assert_int_equal(SSL_set_tlsext_host_name(ssl, copy), 1);
	}
	(void)SSL_connect(ssl);
	len = BIO_read(written, out, HELLO_MAX);
	assert_true(len > 100);
	SSL_free(ssl);
	SSL_CTX_free(ctx);
	return (size_t)len;
}

static void hello_of_a_client_is_plain(void **state)
{
	static const struct {
		const char *name;
		int version;
		unsigned extension;
		bool has_ech;
	} rows[] = {
		{"api.github.com", TLS1_3_VERSION, 0, false},
		{"api.github.com", TLS1_2_VERSION, 0, false},
		{NULL, TLS1_3_VERSION, 0, false},
		{"a.example", TLS1_3_VERSION, TYPE_ECH, true},
		{"a.example", TLS1_3_VERSION, TYPE_ECH + 1, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint8_t bytes[HELLO_MAX];
		size_t len = client_hello(rows[i].name, rows[i].version,
					  rows[i].extension, bytes);
		struct hello_plain plain;

		assert_true(hello_plain_read(bytes_from(bytes, len), &plain));
		assert_int_equal(plain.name.len > 0, rows[i].name != NULL);
		if (rows[i].name)
			assert_true(bytes_is(plain.name, rows[i].name));
		assert_int_equal(plain.has_ech, rows[i].has_ech);
	}
}

static void hello_that_is_cut_or_followed_is_not_plain(void **state)
{
	uint8_t bytes[HELLO_MAX] = {0};
	size_t len = client_hello("a.example", TLS1_3_VERSION, 0, bytes);
	struct hello_plain plain;

	(void)state;
	for (size_t i = 0; i < len; i++)
		assert_false(hello_plain_read(bytes_from(bytes, i), &plain));
	assert_false(hello_plain_read(bytes_from(bytes, len + 1), &plain));
}

/* What the reader is sure of, OpenSSL says as well. Returns whether it is. */
static bool agrees(struct bytes bytes)
{
	struct hello_plain plain;
	struct tls_hello *hello;
	enum tls_hello_result result;

	if (!hello_plain_read(bytes, &plain))
		return false;
	hello = tls_hello_new();
	result = tls_hello_feed(hello, bytes);
	assert_int_equal(result,
			 plain.name.len ? TLS_HELLO_NAMED : TLS_HELLO_UNNAMED);
	assert_true(bytes_equal(tls_hello_name(hello), plain.name));
	assert_int_equal(tls_hello_has_ech(hello), plain.has_ech);
	tls_hello_free(hello);
	return true;
}

/* Each byte of a ClientHello in turn is another. */
static void hello_with_a_changed_byte_is_read_as_openssl_reads_it(void **state)
{
	uint8_t bytes[HELLO_MAX];
	size_t len = client_hello("a.example", TLS1_3_VERSION, TYPE_ECH, bytes);
	size_t sure = 0, unsure = 0;

	(void)state;
	for (size_t i = 0; i < len; i++) {
		uint8_t before = bytes[i];

		for (unsigned change = 1; change < 256; change++) {
			bytes[i] = before ^ (uint8_t)change;
			if (agrees(bytes_from(bytes, len)))
				sure++;
			else
				unsure++;
		}
		bytes[i] = before;
	}
	assert_true(sure > 0 && unsure > 0);
}

/* A ClientHello of the least there is, with these extensions. */
static struct bytes least(uint8_t out[HELLO_MAX], const char *extensions,
			  size_t len)
{
	static const uint8_t front[] = {0x16, 3, 1, 0, 0, 1, 0, 0, 0, 3, 3};
	static const uint8_t offers[] = {0, 2, 0x13, 1, 1, 0};
	const uint8_t size[] = {(uint8_t)(len >> 8), (uint8_t)len};
	const size_t nothing = 32 + 1; /* random, session */
	size_t at = sizeof(front) + nothing;

	memset(out, 0, at);
	memcpy(out, front, sizeof(front));
	memcpy(out + at, offers, sizeof(offers));
	at += sizeof(offers);
	memcpy(out + at, size, sizeof(size));
	at += sizeof(size);
	memcpy(out + at, extensions, len);
	at += len;
	out[3] = (uint8_t)((at - 5) >> 8);
	out[4] = (uint8_t)(at - 5);
	out[7] = (uint8_t)((at - 9) >> 8);
	out[8] = (uint8_t)(at - 9);
	return bytes_from(out, at);
}

static void hello_with_odd_extensions_is_left_to_openssl(void **state)
{
#define ROW(text, plain) {text, sizeof(text) - 1, plain}
#define NAME_OF_A	 "\0\0\0\6\0\4\0\0\1a"
	static const struct {
		const char *extensions;
		size_t len;
		bool is_plain;
	} rows[] = {
		ROW("", true),
		ROW(NAME_OF_A, true),
		ROW(NAME_OF_A "\x2a\x2a\0\0", true),
		ROW(NAME_OF_A NAME_OF_A, false),
		ROW(NAME_OF_A "\x2a\x2a\0\0\x2a\x2a\0\0", false),
		ROW(NAME_OF_A "\xfe\x0d\0\0", true),
		ROW(NAME_OF_A "\xfe\x0d\0\0\xfe\x0d\0\0", false),
		ROW(NAME_OF_A "\0\x29\0\0", true),  /* the last one */
		ROW("\0\x29\0\0" NAME_OF_A, false), /* not the last one */
		ROW(NAME_OF_A "\0\x0e\0\0", false), /* of DTLS */
		ROW(NAME_OF_A "\x2a", false),
		ROW(NAME_OF_A "\x2a\x2a\0\1", false),
		ROW("\0\0\0\0", false),
		ROW("\0\0\0\5\0\3\0\0\0", false),	    /* no name */
		ROW("\0\0\0\6\0\4\1\0\1a", false),	    /* no host_name */
		ROW("\0\0\0\12\0\10\0\0\1a\0\0\1b", false), /* two */
	};
#undef NAME_OF_A
#undef ROW

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint8_t room[HELLO_MAX];
		struct bytes bytes =
			least(room, rows[i].extensions, rows[i].len);

		if (agrees(bytes) != rows[i].is_plain)
			fail_msg("row %zu", i);
	}
}

static void hello_with_very_many_extensions_is_left_to_openssl(void **state)
{
	static char extensions[4 * (HELLO_PLAIN_EXTENSIONS_MAX + 1)];
	uint8_t room[HELLO_MAX];

	(void)state;
	for (size_t i = 0; i <= HELLO_PLAIN_EXTENSIONS_MAX; i++) {
		extensions[4 * i] = 0x7a;
		extensions[4 * i + 1] = (char)i;
	}
	assert_true(agrees(least(room, extensions, sizeof(extensions) - 4)));
	assert_false(agrees(least(room, extensions, sizeof(extensions))));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hello_of_a_client_is_plain),
		cmocka_unit_test(hello_that_is_cut_or_followed_is_not_plain),
		cmocka_unit_test(
			hello_with_a_changed_byte_is_read_as_openssl_reads_it),
		cmocka_unit_test(hello_with_odd_extensions_is_left_to_openssl),
		cmocka_unit_test(
			hello_with_very_many_extensions_is_left_to_openssl),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
