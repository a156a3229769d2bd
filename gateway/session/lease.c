#include "gateway/session/lease.h"

#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include "common/base64.h"
#include "common/digest.h"

#define PREFIX	   "ghp_"
#define RANDOM_LEN 30
#define CHECK_LEN  6

static const char base62[] =
	"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

static char random_base62(void)
{
	uint8_t byte;

	/* 248 = 4 * 62: no character is more likely than another. */
	do {
		random_bytes(&byte, 1);
	} while (byte >= 248);
	return base62[byte % 62];
}

/* Behind the random part, with its NUL. */
static void add_check(char *random)
{
	uint32_t check = (uint32_t)crc32(0, (const Bytef *)random, RANDOM_LEN);

	for (int i = CHECK_LEN - 1; i >= 0; i--) {
		random[RANDOM_LEN + i] = base62[check % 62];
		check /= 62;
	}
	random[RANDOM_LEN + CHECK_LEN] = '\0';
}

void lease_new(char out[LEASE_SIZE])
{
	char *random = out + sizeof(PREFIX) - 1;

	memcpy(out, PREFIX, sizeof(PREFIX) - 1);
	for (int i = 0; i < RANDOM_LEN; i++)
		random[i] = random_base62();
	add_check(random);
}

bool lease_is_one(struct bytes text)
{
	char again[LEASE_SIZE];

	if (text.len != LEASE_SIZE - 1)
		return false;
	memcpy(again, text.data, text.len);
	for (size_t i = sizeof(PREFIX) - 1; i < text.len; i++)
		if (!strchr(base62, again[i]) || !again[i])
			return false;
	add_check(again + sizeof(PREFIX) - 1);
	return !strncmp(again, PREFIX, sizeof(PREFIX) - 1) &&
	       bytes_is(text, again);
}

/* ---- what a client brings ---- */

struct bytes lease_of_field(struct bytes field, uint8_t room[LEASE_FIELD_MAX])
{
	struct bytes rest = field, scheme, user;
	ptrdiff_t len;

	if (!bytes_split(&rest, ' ', &scheme))
		return bytes_from(NULL, 0);
	rest = bytes_trim(rest);
	if (bytes_is_nocase(scheme, "Bearer"))
		return rest;
	if (!bytes_is_nocase(scheme, "Basic"))
		return bytes_from(NULL, 0);
	len = base64_decode(rest, room, LEASE_FIELD_MAX);
	rest = bytes_from(room, len < 0 ? 0 : (size_t)len);
	if (!bytes_split(&rest, ':', &user))
		return bytes_from(NULL, 0);
	return rest.len > 0 ? rest : user;
}
