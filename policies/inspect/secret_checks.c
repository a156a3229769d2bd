#include <jansson.h>
#include <zlib.h>

#include "common/entropy.h"
#include "policies/inspect/json.h"
#include "policies/inspect/secret_kinds.h"

#define GITHUB_RANDOM_LEN 30
#define GITHUB_CHECK_LEN  6
#define CRC_HEX_LEN	  8
#define DECODED_MAX	  1024 /* of the first part of a token */
#define JWT_STARTS_MAX	  8

bool secret_entropy_reaches(struct bytes text, unsigned tenths)
{
	return entropy_bits(text) * 10 >= (double)tenths * (double)text.len;
}

static uint32_t crc_of(struct bytes text)
{
	return (uint32_t)crc32(0, text.data, (unsigned)text.len);
}

bool secret_check_github(struct bytes text)
{
	static const char base62[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz";
	const size_t len = GITHUB_RANDOM_LEN + GITHUB_CHECK_LEN;
	uint32_t check;

	if (text.len < len)
		return false;
	text = bytes_slice(text, text.len - len, text.len);
	check = crc_of(bytes_slice(text, 0, GITHUB_RANDOM_LEN));
	for (size_t i = len; i > GITHUB_RANDOM_LEN; i--) {
		if (text.data[i - 1] != (uint8_t)base62[check % 62])
			return false;
		check /= 62;
	}
	return true;
}

bool secret_check_aws(struct bytes text)
{
	return !bytes_ends_with(text, bytes_str("EXAMPLE"));
}

bool secret_check_grafana(struct bytes text)
{
	uint8_t said[CRC_HEX_LEN / 2];
	uint32_t crc;

	if (text.len <= CRC_HEX_LEN + 1 ||
	    bytes_from_hex(bytes_slice(text, text.len - CRC_HEX_LEN, text.len),
			   said) < 0)
		return false;
	crc = crc_of(bytes_slice(text, 0, text.len - CRC_HEX_LEN - 1));
	return said[0] == (uint8_t)crc && said[1] == (uint8_t)(crc >> 8) &&
	       said[2] == (uint8_t)(crc >> 16) &&
	       said[3] == (uint8_t)(crc >> 24);
}

static uint32_t bech32_step(uint32_t check, uint32_t value)
{
	static const uint32_t generator[] = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa,
					     0x3d4233dd, 0x2a1462b3};
	uint32_t top = check >> 25;

	check = (check & 0x1ffffff) << 5 ^ value;
	for (unsigned i = 0; i < 5; i++)
		if (top >> i & 1)
			check ^= generator[i];
	return check;
}

bool secret_check_age(struct bytes text)
{
	static const char digits[] = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L";
	static const char human[] = "age-secret-key-";
	const size_t human_len = sizeof(human) - 1;
	uint32_t check = 1;

	for (size_t i = 0; i < human_len; i++)
		check = bech32_step(check, (uint8_t)human[i] >> 5);
	check = bech32_step(check, 0);
	for (size_t i = 0; i < human_len; i++)
		check = bech32_step(check, human[i] & 31);
	for (size_t i = human_len + 1; i < text.len; i++) {
		const char *digit =
			memchr(digits, text.data[i], sizeof(digits) - 1);

		if (!digit)
			return false;
		check = bech32_step(check, (uint32_t)(digit - digits));
	}
	return check == 1;
}

static int base64url_value(uint8_t c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '-')
		return 62;
	return c == '_' ? 63 : -1;
}

/* What stands before the first '.', decoded (RFC 4648 5, no padding); empty
 * when it is not that. */
static struct bytes first_part(struct bytes text, uint8_t room[DECODED_MAX])
{
	uint32_t bits = 0;
	size_t len = 0;
	struct bytes part;

	(void)bytes_split(&text, '.', &part);
	if (part.len / 4 * 3 + 3 > DECODED_MAX)
		return bytes_from(NULL, 0);
	for (size_t i = 0; i < part.len; i++) {
		int value = base64url_value(part.data[i]);

		if (value < 0)
			return bytes_from(NULL, 0);
		bits = bits << 6 | (uint32_t)value;
		if (i % 4 > 0)
			room[len++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
	}
	return bytes_from(room, len);
}

static bool has_algorithm(struct bytes text)
{
	uint8_t room[DECODED_MAX];
	json_t *header = json_read(first_part(text, room));
	bool is_there = json_is_string(json_object_get(header, "alg"));

	json_decref(header);
	return is_there;
}

bool secret_check_jwt(struct bytes text)
{
	unsigned tries = JWT_STARTS_MAX;

	/* A header that is too long to be looked at counts. */
	if (text.len > DECODED_MAX)
		return true;
	/* What stands before it may look like a start, too. */
	for (size_t i = 0; i + 1 < text.len && tries > 0; i++) {
		if (text.data[i] != 'e' ||
		    (text.data[i + 1] != 'y' && text.data[i + 1] != 'w'))
			continue;
		if (has_algorithm(bytes_slice(text, i, text.len)))
			return true;
		tries--;
	}
	return false;
}

bool secret_check_discord(struct bytes text)
{
	uint8_t room[DECODED_MAX];
	struct bytes id = first_part(text, room);
	uint64_t number;

	return bytes_to_u64(id, 20, &number) == 0;
}
