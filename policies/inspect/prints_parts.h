/*
 * What fingerprints are; shared by prints*.c alone.
 */
#ifndef POLICIES_INSPECT_PRINTS_PARTS_H
#define POLICIES_INSPECT_PRINTS_PARTS_H

#include <stdbool.h>

#include "common/digest.h"
#include "policies/inspect/prints.h"

#define PRINTS_CORE_MAX	 32 /* of a secret's bytes */
#define PRINTS_FORMS_MAX 12 /* of one secret */
#define PRINTS_WINDOW	 16 /* bytes that the rolling hash covers */
#define PRINTS_FORM_MAX	 (3 * PRINTS_CORE_MAX)
#define PRINTS_KEY_LEN	 32
#define PRINTS_MARKS	 65536
#define PRINTS_MODULUS	 (((uint64_t)1 << 61) - 1)
#define PRINTS_FORMAT	 1 /* of their bytes */

struct print {
	uint16_t mark; /* of the rolling hash of its last bytes */
	uint8_t len;
	uint8_t secret; /* whose */
	uint8_t digest[DIGEST_LEN];
};

struct secret_prints {
	uint64_t base; /* 256 to PRINTS_MODULUS - 1 */
	uint8_t key[PRINTS_KEY_LEN];
	char names[PRINTS_SECRETS_MAX][PRINTS_NAME_MAX + 1];
	size_t secrets;
	struct print prints[PRINTS_SECRETS_MAX * PRINTS_FORMS_MAX];
	size_t count;
	uint8_t marks[PRINTS_MARKS / 8]; /* a bit for each that is there */
	unsigned keepers;		 /* beside who made them */
};

/* a * b modulo PRINTS_MODULUS; both below it. */
static inline uint64_t prints_multiply(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;
	uint64_t sum = ((uint64_t)product & PRINTS_MODULUS) +
		       (uint64_t)(product >> 61);

	return sum >= PRINTS_MODULUS ? sum - PRINTS_MODULUS : sum;
}

/* The hash with one more byte at its end. */
static inline uint64_t prints_add_byte(const struct secret_prints *prints,
				       uint64_t hash, uint8_t c)
{
	uint64_t sum = prints_multiply(hash, prints->base) + c;

	return sum >= PRINTS_MODULUS ? sum - PRINTS_MODULUS : sum;
}

static inline uint16_t prints_mark(uint64_t hash)
{
	return (uint16_t)hash;
}

static inline void prints_set_mark(struct secret_prints *prints, uint16_t mark)
{
	prints->marks[mark / 8] |= (uint8_t)(1u << mark % 8);
}

/* The forms of a secret's core, each at most PRINTS_FORM_MAX bytes. */
struct prints_forms {
	struct {
		uint8_t text[PRINTS_FORM_MAX];
		size_t len;
	} items[PRINTS_FORMS_MAX];
	size_t count;
};

/* Every form once; core has PRINTS_SECRET_MIN to PRINTS_CORE_MAX bytes. The
 * caller wipes them. */
void prints_forms_make(struct bytes core, struct prints_forms *forms);

#endif
