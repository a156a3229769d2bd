#include "sandbox-host/truststore.h"

#include <stdio.h>
#include <string.h>

#include "common/base64.h"
#include "common/cleanup.h"

/* DER (X.690): tags, and identifiers with theirs. */
#define SEQUENCE	  0x30
#define SET		  0x31
#define OCTETS		  0x04
#define BMP_STRING	  0x1e
#define EXPLICIT_0	  0xa0
#define LONG_LENGTH	  0x80
#define OID_DATA	  "\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01"
#define OID_CERT_BAG	  "\x06\x0b\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x0a\x01\x03"
#define OID_X509	  "\x06\x0a\x2a\x86\x48\x86\xf7\x0d\x01\x09\x16\x01"
#define OID_FRIENDLY_NAME "\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x09\x14"
#define OID_TRUSTED_USAGE                                                      \
	"\x06\x0c\x60\x86\x48\x01\x86\xf9\x66\xad\xca\x7b\x01\x01"
#define OID_ANY_USAGE "\x06\x04\x55\x1d\x25\x00"
#define VERSION_3     "\x02\x01\x03"

#define BAG_BYTES_MAX	192 /* around one certificate */
#define FRAME_BYTES_MAX 128 /* around all bags */

/* Written from its end to its beginning, so that each length is known. */
struct der {
	uint8_t *room;
	size_t at; /* the first byte so far */
};

static void put(struct der *der, struct bytes bytes)
{
	der->at -= bytes.len;
	memcpy(der->room + der->at, bytes.data, bytes.len);
}

#define PUT_LITERAL(der, text) put(der, bytes_from(text, sizeof(text) - 1))

static void put_byte(struct der *der, size_t byte)
{
	der->room[--der->at] = (uint8_t)byte;
}

/* Make one value of what was written since end. */
static void wrap(struct der *der, uint8_t tag, size_t end)
{
	size_t len = end - der->at, count = 0;

	if (len < LONG_LENGTH) {
		put_byte(der, len);
	} else {
		for (; len > 0; len >>= 8, count++)
			put_byte(der, len & 0xff);
		put_byte(der, LONG_LENGTH | count);
	}
	put_byte(der, tag);
}

/* {identifier, {value}}: value was written since end. */
static void wrap_attribute(struct der *der, struct bytes identifier, size_t end)
{
	wrap(der, SET, end);
	put(der, identifier);
	wrap(der, SEQUENCE, end);
}

/* Names are told apart, or the last alone would count. */
static void put_attributes(struct der *der, unsigned number)
{
	size_t end = der->at, inner;
	char name[32];
	int len = snprintf(name, sizeof(name), "sallyport-%u", number);

	PUT_LITERAL(der, OID_ANY_USAGE);
	wrap_attribute(
		der,
		bytes_from(OID_TRUSTED_USAGE, sizeof(OID_TRUSTED_USAGE) - 1),
		end);
	inner = der->at;
	while (len-- > 0) {
		put_byte(der, (uint8_t)name[len]);
		put_byte(der, 0);
	}
	wrap(der, BMP_STRING, inner);
	wrap_attribute(
		der,
		bytes_from(OID_FRIENDLY_NAME, sizeof(OID_FRIENDLY_NAME) - 1),
		inner);
	wrap(der, SET, end);
}

static void put_bag(struct der *der, struct bytes certificate, unsigned number)
{
	size_t end = der->at, inner;

	put_attributes(der, number);
	inner = der->at;
	put(der, certificate);
	wrap(der, OCTETS, inner);
	wrap(der, EXPLICIT_0, inner);
	PUT_LITERAL(der, OID_X509);
	wrap(der, SEQUENCE, inner);
	wrap(der, EXPLICIT_0, inner);
	PUT_LITERAL(der, OID_CERT_BAG);
	wrap(der, SEQUENCE, end);
}

/* A ContentInfo of pkcs7-data: a sequence of what was written since end. */
static void wrap_content(struct der *der, size_t end)
{
	wrap(der, SEQUENCE, end);
	wrap(der, OCTETS, end);
	wrap(der, EXPLICIT_0, end);
	PUT_LITERAL(der, OID_DATA);
	wrap(der, SEQUENCE, end);
}

/* ---- PEM (RFC 7468) ---- */

static const struct bytes begin = BYTES_LITERAL("-----BEGIN CERTIFICATE-----");
static const struct bytes finish = BYTES_LITERAL("-----END CERTIFICATE-----");

/* The text of the next certificate in *pem, which is advanced past it. */
static bool next_text(struct bytes *pem, struct bytes *text)
{
	ptrdiff_t from = bytes_find_bytes(*pem, begin, 0);
	ptrdiff_t to =
		from < 0 ? -1 : bytes_find_bytes(*pem, finish, (size_t)from);

	if (to < 0)
		return false;
	*text = bytes_slice(*pem, (size_t)from + begin.len, (size_t)to);
	*pem = bytes_slice(*pem, (size_t)to + finish.len, pem->len);
	return true;
}

/* What the bags of pem's certificates take at most. *longest: a text's. */
static size_t room_for(struct bytes pem, size_t *longest)
{
	struct bytes text;
	size_t room = 0;

	while (next_text(&pem, &text)) {
		room += text.len + BAG_BYTES_MAX;
		if (text.len > *longest)
			*longest = text.len;
	}
	return room;
}

/* One sequence, and nothing after it. */
static bool is_sequence(struct bytes der)
{
	size_t len = 0, count;

	if (der.len < 2 || der.data[0] != SEQUENCE)
		return false;
	if (der.data[1] < LONG_LENGTH)
		return der.len == 2 + (size_t)der.data[1];
	count = der.data[1] - LONG_LENGTH;
	if (count > 4 || der.len < 2 + count)
		return false;
	for (size_t i = 0; i < count; i++)
		len = len << 8 | der.data[2 + i];
	return der.len == 2 + count + len;
}

/* A certificate's bytes, in scratch (as long as text, twice); empty: none. */
static struct bytes decode(struct bytes text, uint8_t *scratch)
{
	uint8_t *plain = scratch + text.len;
	size_t len = 0;
	ptrdiff_t got;

	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] > ' ')
			scratch[len++] = text.data[i];
	got = base64_decode(bytes_from(scratch, len), plain, text.len);
	if (got < 0 || !is_sequence(bytes_from(plain, (size_t)got)))
		return bytes_from(NULL, 0);
	return bytes_from(plain, (size_t)got);
}

int truststore_bags(struct arena *arena, struct bytes pem, unsigned *number,
		    struct bytes *bags)
{
	size_t longest = 0;
	size_t size = room_for(pem, &longest) + 1;
	struct der der = {arena_alloc(arena, size), size};
	uint8_t *scratch = arena_alloc(arena, 2 * longest + 1);
	struct bytes text, certificate;

	if (!der.room || !scratch)
		return -1;
	while (next_text(&pem, &text)) {
		certificate = decode(text, scratch);
		if (certificate.len > 0)
			put_bag(&der, certificate, (*number)++);
	}
	*bags = bytes_from(der.room + der.at, size - der.at);
	return 0;
}

struct bytes truststore_head(struct arena *arena, size_t bags_len)
{
	struct der der = {arena_alloc(arena, FRAME_BYTES_MAX), FRAME_BYTES_MAX};
	size_t end = FRAME_BYTES_MAX + bags_len; /* they stand behind it */

	if (!der.room)
		return bytes_from(NULL, 0);
	wrap_content(&der, end);
	wrap_content(&der, end);
	PUT_LITERAL(&der, VERSION_3);
	wrap(&der, SEQUENCE, end);
	return bytes_from(der.room + der.at, FRAME_BYTES_MAX - der.at);
}
