#include "gateway/tls/hello_plain.h"

#include <stdint.h>

#include "gateway/tls/server_name.h"

#define RECORD_HANDSHAKE 0x16
#define RECORD_MAX	 8192 /* longer ones are OpenSSL's to read */
#define MESSAGE_HELLO	 1
#define VERSION_MIN	 0x0301
#define VERSION_MAX	 0x0303
#define RANDOM_LEN	 32
#define SESSION_MAX	 32
#define COMPRESSION_NULL 0
#define EXTENSION_NAME	 0
#define EXTENSION_SRTP	 14	/* of DTLS alone, RFC 5764 */
#define EXTENSION_PSK	 41	/* stands last, RFC 8446 section 4.2.11 */
#define EXTENSION_ECH	 0xfe0d /* RFC 9849 */

/* A big-endian number of size bytes off the front of *rest. */
static bool take_number(struct bytes *rest, size_t size, size_t *number)
{
	if (rest->len < size)
		return false;
	*number = 0;
	for (size_t i = 0; i < size; i++)
		*number = *number << 8 | rest->data[i];
	*rest = bytes_slice(*rest, size, rest->len);
	return true;
}

static bool take(struct bytes *rest, size_t len, struct bytes *taken)
{
	if (rest->len < len)
		return false;
	*taken = bytes_slice(*rest, 0, len);
	*rest = bytes_slice(*rest, len, rest->len);
	return true;
}

/* What stands behind its length, a number of size bytes. */
static bool take_vector(struct bytes *rest, size_t size, struct bytes *taken)
{
	size_t len;

	return take_number(rest, size, &len) && take(rest, len, taken);
}

static bool take_version(struct bytes *rest)
{
	size_t version;

	return take_number(rest, 2, &version) && version >= VERSION_MIN &&
	       version <= VERSION_MAX;
}

/* The body of the ClientHello, when it is all there is. */
static bool open_record(struct bytes bytes, struct bytes *body)
{
	struct bytes record;
	size_t type;

	return take_number(&bytes, 1, &type) && type == RECORD_HANDSHAKE &&
	       take_version(&bytes) && take_vector(&bytes, 2, &record) &&
	       bytes.len == 0 && record.len <= RECORD_MAX &&
	       take_number(&record, 1, &type) && type == MESSAGE_HELLO &&
	       take_vector(&record, 3, body) && record.len == 0;
}

/* All before the extensions. */
static bool skip_offers(struct bytes *body)
{
	struct bytes random, session, ciphers, compression;

	return take_version(body) && take(body, RANDOM_LEN, &random) &&
	       take_vector(body, 1, &session) && session.len <= SESSION_MAX &&
	       take_vector(body, 2, &ciphers) && ciphers.len > 0 &&
	       ciphers.len % 2 == 0 && take_vector(body, 1, &compression) &&
	       compression.len == 1 && compression.data[0] == COMPRESSION_NULL;
}

static bool is_new(const uint16_t *types, size_t count, size_t type)
{
	for (size_t i = 0; i < count; i++)
		if (types[i] == type)
			return false;
	return true;
}

static bool read_extensions(struct bytes rest, struct hello_plain *plain)
{
	uint16_t types[HELLO_PLAIN_EXTENSIONS_MAX];
	size_t count = 0, type;
	struct bytes content;

	while (rest.len > 0) {
		if (count == HELLO_PLAIN_EXTENSIONS_MAX ||
		    !take_number(&rest, 2, &type) ||
		    !take_vector(&rest, 2, &content) ||
		    !is_new(types, count, type) || type == EXTENSION_SRTP ||
		    (type == EXTENSION_PSK && rest.len > 0))
			return false;
		types[count++] = (uint16_t)type;
		if (type == EXTENSION_NAME &&
		    server_name_read(content, &plain->name) < 0)
			return false;
		plain->has_ech |= type == EXTENSION_ECH;
	}
	return true;
}

bool hello_plain_read(struct bytes bytes, struct hello_plain *plain)
{
	struct bytes body, extensions;

	*plain = (struct hello_plain){0};
	return open_record(bytes, &body) && skip_offers(&body) &&
	       take_vector(&body, 2, &extensions) && body.len == 0 &&
	       read_extensions(extensions, plain);
}
