#include <stdlib.h>

#include "policies/inspect/prints_parts.h"

#define RING 128 /* at least PRINTS_FORM_MAX; a power of two */

struct prints_scan {
	const struct secret_prints *prints;
	uint64_t leaving; /* what a byte weighs when it leaves the window */
	uint64_t hash;	  /* of the last PRINTS_WINDOW bytes */
	uint64_t count;	  /* bytes fed */
	uint8_t ring[RING];
};

_Static_assert(RING >= PRINTS_FORM_MAX && (RING & (RING - 1)) == 0,
	       "a form fits, and an index wraps");

struct prints_scan *prints_scan_open(const struct secret_prints *prints)
{
	struct prints_scan *scan = calloc(1, sizeof(*scan));

	if (!scan)
		return NULL;
	scan->prints = prints;
	scan->leaving = 1;
	for (unsigned i = 0; i < PRINTS_WINDOW; i++)
		scan->leaving = prints_multiply(scan->leaving, prints->base);
	return scan;
}

/* The last len bytes, in their order. */
static struct bytes last_bytes(const struct prints_scan *scan, size_t len,
			       uint8_t room[PRINTS_FORM_MAX])
{
	for (size_t i = 0; i < len; i++)
		room[i] = scan->ring[(scan->count - len + i) % RING];
	return bytes_from(room, len);
}

static const char *confirm(const struct prints_scan *scan, uint16_t mark)
{
	const struct secret_prints *prints = scan->prints;
	uint8_t room[PRINTS_FORM_MAX];
	uint8_t digest[DIGEST_LEN];

	for (size_t i = 0; i < prints->count; i++) {
		const struct print *print = &prints->prints[i];

		if (print->mark != mark || print->len > scan->count)
			continue;
		digest_sha256(bytes_from(prints->key, sizeof(prints->key)),
			      last_bytes(scan, print->len, room), digest);
		if (!memcmp(digest, print->digest, DIGEST_LEN))
			return prints->names[print->secret];
	}
	return NULL;
}

static void roll(struct prints_scan *scan, uint8_t c)
{
	uint64_t left = 0;

	if (scan->count >= PRINTS_WINDOW)
		left = prints_multiply(
			scan->leaving,
			scan->ring[(scan->count - PRINTS_WINDOW) % RING]);
	scan->hash = prints_add_byte(scan->prints, scan->hash, c);
	scan->hash += scan->hash < left ? PRINTS_MODULUS - left : -left;
	scan->ring[scan->count++ % RING] = c;
}

const char *prints_scan_feed(struct prints_scan *scan, struct bytes bytes)
{
	const uint8_t *marks = scan->prints->marks;

	for (size_t i = 0; i < bytes.len; i++) {
		const char *name;
		uint16_t mark;

		roll(scan, bytes.data[i]);
		mark = prints_mark(scan->hash);
		if (!(marks[mark / 8] >> mark % 8 & 1))
			continue;
		name = confirm(scan, mark);
		if (name)
			return name;
	}
	return NULL;
}

void prints_scan_reset(struct prints_scan *scan)
{
	scan->hash = 0;
	scan->count = 0;
}

void prints_scan_close(struct prints_scan *scan)
{
	free(scan);
}
