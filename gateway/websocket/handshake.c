#include "gateway/websocket/handshake.h"

#include <assert.h>
#include <string.h>

#define VERSION	   "13"
#define KEY	   "Sec-WebSocket-Key"
#define ACCEPT	   "Sec-WebSocket-Accept"
#define PROTOCOL   "Sec-WebSocket-Protocol"
#define EXTENSIONS "Sec-WebSocket-Extensions"
#define KNOWN	   "Sec-WebSocket-Version"
/* RFC 6455 section 1.3 */
#define MAGIC "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

static int refuse(struct http_fault *fault, enum constraint constraint,
		  const char *reason)
{
	*fault = (struct http_fault){constraint, reason};
	return -1;
}

static int malformed(struct http_fault *fault, const char *reason)
{
	return refuse(fault, CONSTRAINT_request_malformed, reason);
}

static void accept_of(const char *key, char out[WEBSOCKET_ACCEPT_SIZE])
{
	char text[WEBSOCKET_KEY_SIZE + sizeof(MAGIC)];
	uint8_t digest[DIGEST_SHA1_LEN];
	int len = snprintf(text, sizeof(text), "%s%s", key, MAGIC);

	digest_sha1(bytes_from(text, (size_t)len), digest);
	base64_encode(bytes_from(digest, sizeof(digest)), out);
}

/* ---- what the client asks for ---- */

static int take_key(struct websocket_handshake *handshake,
		    const struct fields *fields, struct http_fault *fault)
{
	const struct field *key = fields_find(fields, KEY);
	uint8_t bytes[WEBSOCKET_KEY_BYTES];
	char text[WEBSOCKET_KEY_SIZE];

	if (fields_count_of(fields, KEY) != 1 ||
	    key->value.len != sizeof(text) - 1 ||
	    base64_decode(key->value, bytes, sizeof(bytes)) != sizeof(bytes))
		return malformed(fault, KEY " is not one key of 16 bytes");
	memcpy(text, key->value.data, sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	accept_of(text, handshake->client_accept);
	return 0;
}

/* One list of all that is offered. */
static int add_protocols(struct bytes list, char *out, size_t *len,
			 unsigned *count)
{
	struct bytes protocol;
	bool more;

	do {
		more = bytes_split(&list, ',', &protocol);
		protocol = bytes_trim(protocol);
		if (!http_is_token(protocol) ||
		    ++*count > WEBSOCKET_PROTOCOLS_MAX)
			return -1;
		if (*len > 0) {
			out[(*len)++] = ',';
			out[(*len)++] = ' ';
		}
		memcpy(out + *len, protocol.data, protocol.len);
		*len += protocol.len;
	} while (more);
	return 0;
}

static size_t protocols_bytes_max(const struct fields *fields)
{
	size_t bytes = 0;

	/* "a,b" becomes "a, b": at most a byte more for each that is there */
	for (size_t i = 0; i < fields->count; i++)
		if (bytes_is_nocase(fields->items[i].name, PROTOCOL))
			bytes += 2 * fields->items[i].value.len + 2;
	return bytes;
}

static int take_protocols(struct websocket_handshake *handshake,
			  struct arena *arena, const struct fields *fields,
			  struct http_fault *fault)
{
	size_t room = protocols_bytes_max(fields), len = 0;
	char *text = room ? arena_alloc(arena, room) : NULL;
	unsigned count = 0;

	if (room && !text)
		return refuse(fault, CONSTRAINT_internal, "memory is out");
	for (size_t i = 0; i < fields->count; i++)
		if (bytes_is_nocase(fields->items[i].name, PROTOCOL) &&
		    add_protocols(fields->items[i].value, text, &len, &count) <
			    0)
			return malformed(fault,
					 PROTOCOL " is not a list of tokens");
	handshake->protocols = bytes_from(text, len);
	return 0;
}

int websocket_offer(struct websocket_handshake *handshake, struct arena *arena,
		    struct request *request, struct http_fault *fault)
{
	struct fields *fields = &request->fields;
	const struct field *version = fields_find(fields, KNOWN);

	assert(request->is_websocket);
	if (!bytes_is(request->method, "GET") || request->is_http10 ||
	    request->framing != FRAMING_NONE)
		return malformed(fault,
				 "a WebSocket begins with a GET without body");
	if (fields_count_of(fields, KNOWN) != 1 ||
	    !bytes_is(version->value, VERSION))
		return malformed(fault, "the version of WebSocket is not 13");
	if (take_key(handshake, fields, fault) < 0 ||
	    take_protocols(handshake, arena, fields, fault) < 0)
		return -1;
	fields_remove(fields, KEY);
	fields_remove(fields, KNOWN);
	fields_remove(fields, ACCEPT);
	fields_remove(fields, EXTENSIONS);
	fields_remove(fields, PROTOCOL);
	if (handshake->protocols.len)
		(void)fields_add(fields, bytes_str(PROTOCOL),
				 handshake->protocols);
	return 0;
}

int websocket_ask(struct websocket_handshake *handshake,
		  struct request *request)
{
	struct fields *fields = &request->fields;
	uint8_t bytes[WEBSOCKET_KEY_BYTES];

	random_bytes(bytes, sizeof(bytes));
	base64_encode(bytes_from(bytes, sizeof(bytes)), handshake->key);
	if (fields_add(fields, bytes_str("Connection"), bytes_str("Upgrade")) ||
	    fields_add(fields, bytes_str("Upgrade"), bytes_str("websocket")) ||
	    fields_add(fields, bytes_str(KNOWN), bytes_str(VERSION)) ||
	    fields_add(fields, bytes_str(KEY), bytes_str(handshake->key)))
		return -1;
	return 0;
}

/* ---- what upstream answers ---- */

static bool is_offered(struct bytes offered, struct bytes protocol)
{
	struct bytes one;
	bool more;

	do {
		more = bytes_split(&offered, ',', &one);
		if (one.len && bytes_equal(bytes_trim(one), protocol))
			return true;
	} while (more);
	return false;
}

int websocket_agree(const struct websocket_handshake *handshake,
		    struct response *response, struct http_fault *fault)
{
	struct fields *fields = &response->fields;
	const struct field *accept = fields_find(fields, ACCEPT);
	const struct field *protocol = fields_find(fields, PROTOCOL);
	char expected[WEBSOCKET_ACCEPT_SIZE];

	accept_of(handshake->key, expected);
	if (fields_count_of(fields, ACCEPT) != 1 ||
	    !bytes_is(accept->value, expected))
		return refuse(fault, CONSTRAINT_response_malformed,
			      "the upstream accepts another WebSocket");
	if (fields_count_of(fields, EXTENSIONS) > 0)
		return refuse(fault, CONSTRAINT_response_malformed,
			      "the upstream wants an extension unasked");
	if (protocol && (fields_count_of(fields, PROTOCOL) != 1 ||
			 !is_offered(handshake->protocols, protocol->value)))
		return refuse(fault, CONSTRAINT_response_malformed,
			      "the upstream chose a protocol unasked");
	fields_remove(fields, ACCEPT);
	if (fields_add(fields, bytes_str("Connection"), bytes_str("Upgrade")) ||
	    fields_add(fields, bytes_str("Upgrade"), bytes_str("websocket")) ||
	    fields_add(fields, bytes_str(ACCEPT),
		       bytes_str(handshake->client_accept)))
		return refuse(fault, CONSTRAINT_response_malformed,
			      "the upstream's answer has too many fields");
	return 0;
}
