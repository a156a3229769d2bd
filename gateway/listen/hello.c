#include "gateway/listen/hello.h"

#include "gateway/tls/hello.h"

#define TLS_HANDSHAKE 0x16 /* the content type, RFC 8446 5.1 */

void hello_init(struct hello *hello)
{
	*hello = (struct hello){.kind = HELLO_MORE};
}

void hello_release(struct hello *hello)
{
	tls_hello_free(hello->tls);
	hello->tls = NULL;
}

static enum hello_kind invalid(struct hello *hello, const char *reason)
{
	hello->reason = reason;
	return HELLO_INVALID;
}

/* A method (upper-case letters) and a space, or what may become that. */
static enum hello_kind look_at_text(struct bytes input)
{
	for (size_t i = 0; i < input.len && i <= HELLO_METHOD_MAX; i++) {
		if (input.data[i] == ' ' && i > 0)
			return HELLO_HTTP;
		if (input.data[i] < 'A' || input.data[i] > 'Z')
			return HELLO_OTHER;
	}
	return input.len > HELLO_METHOD_MAX ? HELLO_OTHER : HELLO_MORE;
}

static enum hello_kind take_name(struct hello *hello)
{
	if (host_canonical(tls_hello_name(hello->tls), hello->name) ==
	    HOST_NAME)
		return HELLO_TLS;
	hello->name[0] = '\0';
	return invalid(hello, "the server name is not a DNS name");
}

static enum hello_kind look_at_tls(struct hello *hello, struct bytes input)
{
	enum tls_hello_result result;

	if (!hello->tls)
		hello->tls = tls_hello_new();
	if (!hello->tls)
		return invalid(hello, "out of memory");
	result = tls_hello_feed(
		hello->tls, bytes_slice(input, hello->fed, HELLO_BYTES_MAX));
	hello->fed = input.len;
	hello->has_ech = tls_hello_has_ech(hello->tls);
	switch (result) {
	case TLS_HELLO_NAMED:
		return take_name(hello);
	case TLS_HELLO_UNNAMED:
		return HELLO_TLS;
	case TLS_HELLO_INVALID:
		return invalid(hello, "the ClientHello is malformed");
	case TLS_HELLO_MORE:
		break;
	}
	if (input.len >= HELLO_BYTES_MAX)
		return invalid(hello, "the ClientHello is too large");
	return HELLO_MORE;
}

enum hello_kind hello_look(struct hello *hello, struct bytes input)
{
	if (hello->kind != HELLO_MORE || input.len == 0)
		return hello->kind;
	if (input.data[0] == TLS_HANDSHAKE)
		hello->kind = look_at_tls(hello, input);
	else
		hello->kind = look_at_text(input);
	if (hello->kind != HELLO_MORE)
		hello_release(hello);
	return hello->kind;
}
