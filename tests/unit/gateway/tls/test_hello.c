#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <openssl/ssl.h>

#include "common/cleanup.h"
#include "gateway/tls/hello.h"

#define HELLO_MAX 4096

/* What OpenSSL's own client would send for name (NULL: no SNI), with an empty
 * extension (0: none). */
static size_t hello_with(const char *name, unsigned extension,
			 uint8_t out[HELLO_MAX])
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	BIO *written = BIO_new(BIO_s_mem());
	SSL *ssl;
	int len;

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

static size_t client_hello(const char *name, uint8_t out[HELLO_MAX])
{
	return hello_with(name, 0, out);
}

static void hello_with_another_inside_says_so(void **state)
{
	static const struct {
		unsigned extension;
		bool has_ech;
	} rows[] = {{0xfe0d, true}, {0xfe0e, false}, {0, false}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint8_t bytes[HELLO_MAX];
		size_t len = hello_with("a.example", rows[i].extension, bytes);
		struct tls_hello *hello = tls_hello_new();

		assert_int_equal(tls_hello_feed(hello, bytes_from(bytes, len)),
				 TLS_HELLO_NAMED);
		assert_int_equal(tls_hello_has_ech(hello), rows[i].has_ech);
		tls_hello_free(hello);
	}
}

static void hello_is_read_in_pieces_of_any_size(void **state)
{
	static const size_t sizes[] = {1, 2, 3, 7, 100, HELLO_MAX};
	uint8_t bytes[HELLO_MAX];
	size_t len = client_hello("api.github.com", bytes);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct tls_hello *hello = tls_hello_new();
		struct bytes rest = bytes_from(bytes, len);
		enum tls_hello_result result = TLS_HELLO_MORE;

		while (rest.len > 0) {
			assert_int_equal(result, TLS_HELLO_MORE);
			result = tls_hello_feed(hello,
						bytes_slice(rest, 0, sizes[i]));
			rest = bytes_slice(rest, sizes[i], rest.len);
		}
		assert_int_equal(result, TLS_HELLO_NAMED);
		assert_true(bytes_is(tls_hello_name(hello), "api.github.com"));
		tls_hello_free(hello);
	}
}

/* One handshake message in many records, each with few bytes. */
static void hello_may_span_records(void **state)
{
	uint8_t bytes[HELLO_MAX];
	size_t len = client_hello("api.github.com", bytes);
	struct tls_hello *hello = tls_hello_new();
	enum tls_hello_result result = TLS_HELLO_MORE;

	(void)state;
	for (size_t at = 5; at < len; at += 50) {
		size_t part = len - at < 50 ? len - at : 50;
		uint8_t record[55] = {0x16, 3, 1, 0, (uint8_t)part};

		assert_int_equal(result, TLS_HELLO_MORE);
		memcpy(record + 5, bytes + at, part);
		result = tls_hello_feed(hello, bytes_from(record, 5 + part));
	}
	assert_int_equal(result, TLS_HELLO_NAMED);
	tls_hello_free(hello);
}

static void hello_without_a_name_says_so(void **state)
{
	uint8_t bytes[HELLO_MAX];
	size_t len = client_hello(NULL, bytes);
	struct tls_hello *hello = tls_hello_new();

	(void)state;
	assert_int_equal(tls_hello_feed(hello, bytes_from(bytes, len)),
			 TLS_HELLO_UNNAMED);
	assert_int_equal(tls_hello_name(hello).len, 0);
	tls_hello_free(hello);
}

/* Rewrite the SNI of a ClientHello in place, keeping all lengths. */
static void hello_with_a_malformed_name_is_invalid(void **state)
{
	static const char sni[] = "\x00\x0d"	 /* list */
				  "\x00\x00\x0a" /* type, length */
				  "ab.cd.test";
	static const struct {
		size_t offset; /* in sni */
		uint8_t value;
		enum tls_hello_result expected;
	} rows[] = {
		{5, 'x', TLS_HELLO_NAMED},    /* only another letter */
		{1, 0x0c, TLS_HELLO_INVALID}, /* list shorter than the rest */
		{1, 0x0e, TLS_HELLO_INVALID},
		{2, 1, TLS_HELLO_INVALID}, /* not a host_name */
		{4, 9, TLS_HELLO_INVALID}, /* bytes after the name */
		{4, 11, TLS_HELLO_INVALID},
		{4, 0, TLS_HELLO_INVALID},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tls_hello *hello = tls_hello_new();
		uint8_t bytes[HELLO_MAX];
		size_t len = client_hello("ab.cd.test", bytes);
		ptrdiff_t at =
			bytes_find_bytes(bytes_from(bytes, len),
					 bytes_from(sni, sizeof(sni) - 1), 0);

		assert_true(at > 0);
		bytes[(size_t)at + rows[i].offset] = rows[i].value;
		assert_int_equal(tls_hello_feed(hello, bytes_from(bytes, len)),
				 rows[i].expected);
		tls_hello_free(hello);
	}
}

static void bytes_that_are_no_hello_are_invalid(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} rows[] = {
		{"GET / HTTP/1.1\r\n\r\n", 18},
		{"\x16\x03\x01\x00\x04\x02\x00\x00\x00", 9}, /* ServerHello */
		{"\x15\x03\x01\x00\x02\x02\x28", 7},	     /* an alert */
		{"\x16\x02\x01\x00\x04\x01\x00\x00\x00", 9}, /* version 2 */
		{"\x16\x03\x01\xff\xff\x01\x00\x00\x00", 9}, /* long record */
		{"\x16\x03\x01\x00\x04\x01\xff\xff\xff", 9}, /* long message */
		/* whole and good, in the form of SSL 2 */
		{"\x80\x1c\x01\x03\x03\0\x03\0\0\0\x10\0\0\x2f"
		 "0123456789abcdef",
		 30},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tls_hello *hello = tls_hello_new();

		if (tls_hello_feed(hello,
				   bytes_from(rows[i].bytes, rows[i].len)) !=
		    TLS_HELLO_INVALID)
			fail_msg("row %zu", i);
		tls_hello_free(hello);
	}
}

/* What is looked at with may have looked at another before. */
static void hello_is_read_as_if_it_were_the_first(void **state)
{
	static const struct {
		const char *name;
		unsigned extension;
		size_t left_out, more; /* bytes at the end */
		enum tls_hello_result expected;
	} rows[] = {
		{"a.example", 0xfe0d, 0, 0, TLS_HELLO_NAMED},
		{"longer.a.example", 0, 0, 0, TLS_HELLO_NAMED},
		{"a.example", 0, 0, 99, TLS_HELLO_NAMED},
		{NULL, 0, 0, 0, TLS_HELLO_UNNAMED},
		{"a.example", 0xfe0d, 9, 0, TLS_HELLO_MORE},
		{"-", 0, 0, 0, TLS_HELLO_NAMED},
	};
	const size_t count = ARRAY_SIZE(rows);

	(void)state;
	for (size_t i = 0; i < 2 * count * count; i++) {
		/* The even ones go before, each before each. */
		size_t row = i % 2 ? i / 2 / count : i / 2 % count;
		struct tls_hello *hello = tls_hello_new();
		uint8_t bytes[HELLO_MAX] = {0};
		size_t len =
			hello_with(rows[row].name, rows[row].extension, bytes);

		len += rows[row].more - rows[row].left_out;
		assert_int_equal(tls_hello_feed(hello, bytes_from(bytes, len)),
				 rows[row].expected);
		if (rows[row].expected != TLS_HELLO_MORE) {
			assert_true(
				bytes_is(tls_hello_name(hello),
					 rows[row].name ? rows[row].name : ""));
			assert_int_equal(tls_hello_has_ech(hello),
					 rows[row].extension == 0xfe0d);
		}
		tls_hello_free(hello);
	}
}

/* Who waits for the rest of one does so while others are read. */
static void hellos_are_read_beside_each_other(void **state)
{
	uint8_t first[HELLO_MAX], second[HELLO_MAX];
	size_t len = client_hello("first.example", first);
	struct tls_hello *slow = tls_hello_new();

	(void)state;
	assert_int_equal(tls_hello_feed(slow, bytes_from(first, len / 2)),
			 TLS_HELLO_MORE);
	for (int i = 0; i < 3; i++) {
		struct tls_hello *hello = tls_hello_new();
		size_t all = client_hello("second.example", second);

		assert_int_equal(tls_hello_feed(hello, bytes_from(second, all)),
				 TLS_HELLO_NAMED);
		assert_true(bytes_is(tls_hello_name(hello), "second.example"));
		tls_hello_free(hello);
	}
	assert_int_equal(tls_hello_feed(slow, bytes_from(first + len / 2,
							 len - len / 2)),
			 TLS_HELLO_NAMED);
	assert_true(bytes_is(tls_hello_name(slow), "first.example"));
	tls_hello_free(slow);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hello_is_read_in_pieces_of_any_size),
		cmocka_unit_test(hello_may_span_records),
		cmocka_unit_test(hello_without_a_name_says_so),
		cmocka_unit_test(hello_with_another_inside_says_so),
		cmocka_unit_test(hello_with_a_malformed_name_is_invalid),
		cmocka_unit_test(bytes_that_are_no_hello_are_invalid),
		cmocka_unit_test(hello_is_read_as_if_it_were_the_first),
		cmocka_unit_test(hellos_are_read_beside_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
