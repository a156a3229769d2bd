/*
 * The reader of plain ClientHellos beside OpenSSL: what it is sure of,
 * OpenSSL says as well.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/tls/hello.h"
#include "gateway/tls/hello_plain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes input = bytes_from(data, size);
	struct hello_plain plain;
	struct tls_hello *hello;
	enum tls_hello_result result;

	if (!hello_plain_read(input, &plain))
		return 0;
	hello = tls_hello_new();
	assert(hello);
	result = tls_hello_feed(hello, input);
	assert(result ==
	       (plain.name.len ? TLS_HELLO_NAMED : TLS_HELLO_UNNAMED));
	assert(bytes_equal(tls_hello_name(hello), plain.name));
	assert(tls_hello_has_ech(hello) == plain.has_ech);
	tls_hello_free(hello);
	return 0;
}
