#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <openssl/ssl.h>

#include "common/cleanup.h"
#include "gateway/listen/hello.h"

#define HELLO_MAX 4096

static size_t client_hello(const char *name, uint8_t out[HELLO_MAX])
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	SSL *ssl = SSL_new(ctx);
	BIO *written = BIO_new(BIO_s_mem());
	int len;

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

static enum hello_kind look_once(struct bytes input)
{
	struct hello hello;
	enum hello_kind kind;

	hello_init(&hello);
	kind = hello_look(&hello, input);
	assert_int_equal(hello.kind, kind);
	hello_release(&hello);
	return kind;
}

static void hello_tells_protocols_by_their_first_bytes(void **state)
{
	static const struct {
		const char *bytes;
		enum hello_kind expected;
	} rows[] = {
		{"", HELLO_MORE},
		{"G", HELLO_MORE},
		{"GET", HELLO_MORE},
		{"GET ", HELLO_HTTP},
		{"POST /x HTTP/1.1\r\n", HELLO_HTTP},
		{"CONNECT a:1 HTTP/1.1\r\n", HELLO_HTTP},
		{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", HELLO_HTTP},
		{"SSH-2.0-OpenSSH_9.2\r\n", HELLO_OTHER},
		{" GET", HELLO_OTHER},
		{"get /", HELLO_OTHER},
		{"\r\nGET /", HELLO_OTHER},
		{"ABCDEFGHIJKLMNOP", HELLO_MORE},
		{"ABCDEFGHIJKLMNOP ", HELLO_HTTP},
		{"ABCDEFGHIJKLMNOPQ", HELLO_OTHER},
		{"ABCDEFGHIJKLMNOPQ ", HELLO_OTHER},
		{"\x05\x01", HELLO_OTHER},	   /* SOCKS5 */
		{"\x80\x2e\x01\x03", HELLO_OTHER}, /* SSLv2 */
		{"\x16", HELLO_MORE},
		{"\x16\x03\x01", HELLO_MORE},
		{"\x16GET / HTTP/1.1", HELLO_INVALID},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (look_once(bytes_str(rows[i].bytes)) != rows[i].expected)
			fail_msg("%s", rows[i].bytes);
}

static void hello_gives_the_server_name_in_its_one_form(void **state)
{
	static const struct {
		const char *sent;
		enum hello_kind expected;
		const char *name;
	} rows[] = {
		{"github.com", HELLO_TLS, "github.com"},
		{"GitHub.COM", HELLO_TLS, "github.com"},
		{"github.com.", HELLO_TLS, "github.com"},
		{NULL, HELLO_TLS, ""},
		{"192.0.2.1", HELLO_INVALID, ""},
		{"::1", HELLO_INVALID, ""},
		{"git hub.com", HELLO_INVALID, ""},
		{"*.github.com", HELLO_INVALID, ""},
		{"g\xc3\xaethub.com", HELLO_INVALID, ""},
		{"..", HELLO_INVALID, ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint8_t bytes[HELLO_MAX];
		size_t len = client_hello(rows[i].sent, bytes);
		struct hello hello;

		hello_init(&hello);
		if (hello_look(&hello, bytes_from(bytes, len)) !=
		    rows[i].expected)
			fail_msg("row %zu", i);
		assert_string_equal(hello.name, rows[i].name);
		assert_int_equal(hello.reason != NULL,
				 rows[i].expected == HELLO_INVALID);
		hello_release(&hello);
	}
}

static void hello_grows_byte_by_byte_and_then_stays(void **state)
{
	uint8_t bytes[HELLO_MAX];
	size_t len = client_hello("github.com", bytes);
	struct hello hello;

	(void)state;
	hello_init(&hello);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(hello_look(&hello, bytes_from(bytes, i)),
				 HELLO_MORE);
	assert_int_equal(hello_look(&hello, bytes_from(bytes, len)), HELLO_TLS);
	bytes[0] = 'G';
	assert_int_equal(hello_look(&hello, bytes_from(bytes, len)), HELLO_TLS);
	hello_release(&hello);
}

/* A ClientHello message of 20,000 bytes in records of 16,000: never whole
 * within the bound. */
static void hello_that_is_too_large_is_refused(void **state)
{
	static uint8_t bytes[HELLO_BYTES_MAX] = {
		0x16, 3, 1, 0x3e, 0x80, 1, 0, 0x4e, 0x20, 3, 3};
	struct hello hello;

	(void)state;
	bytes[16005] = 0x16;
	bytes[16006] = 3;
	bytes[16007] = 1;
	bytes[16008] = 0x10;
	hello_init(&hello);
	assert_int_equal(
		hello_look(&hello, bytes_from(bytes, sizeof(bytes) - 1)),
		HELLO_MORE);
	assert_int_equal(hello_look(&hello, bytes_from(bytes, sizeof(bytes))),
			 HELLO_INVALID);
	assert_string_equal(hello.reason, "the ClientHello is too large");
	hello_release(&hello);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hello_tells_protocols_by_their_first_bytes),
		cmocka_unit_test(hello_gives_the_server_name_in_its_one_form),
		cmocka_unit_test(hello_grows_byte_by_byte_and_then_stays),
		cmocka_unit_test(hello_that_is_too_large_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
