#include "common/apart.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/dense.h"

#define STEP 16 /* bytes: how malloc aligns */
/* The bits before them are a multiple of STEP then. */
#define PLACES(bytes)                                                          \
	{.size = (bytes), .max = APART_AREA / (bytes) / (8 * STEP) * (8 * STEP)}

/* What an SSL of OpenSSL 3.0 and 3.5 is made of, and steps of a quarter. */
static struct dense sizes[] = {
	PLACES(32),   PLACES(48),	 PLACES(64),   PLACES(80),
	PLACES(96),   PLACES(112),	 PLACES(128),  PLACES(160),
	PLACES(192),  PLACES(256),	 PLACES(320),  PLACES(416),
	PLACES(544),  PLACES(768),	 PLACES(976),  PLACES(1216),
	PLACES(1536), PLACES(2112),	 PLACES(3072), PLACES(4224),
	PLACES(5632), PLACES(APART_MAX),
};
/* In sizes: which one a piece of so many steps takes. */
static uint8_t size_of[APART_MAX / STEP + 1];
static uintptr_t low = UINTPTR_MAX, high; /* of all their areas */
static bool is_set;

void apart_set(bool is_apart)
{
	is_set = is_apart;
}

static struct dense *place_of(const void *taken)
{
	if ((uintptr_t)taken < low || (uintptr_t)taken >= high)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		if (dense_has(&sizes[i], taken))
			return &sizes[i];
	return NULL;
}

bool apart_has(const void *taken)
{
	return place_of(taken) != NULL;
}

static void note_area(const struct dense *dense)
{
	uintptr_t at = (uintptr_t)dense->places;

	if (!dense->places)
		return;
	if (at < low)
		low = at;
	if (at + dense->size * dense->max > high)
		high = at + dense->size * dense->max;
}

static void *take(size_t len, const char *file, int line)
{
	struct dense *dense;
	bool is_first;
	void *taken;

	(void)file;
	(void)line;
	if (len == 0)
		return NULL;
	if (!is_set || len > APART_MAX)
		return malloc(len);
	dense = &sizes[size_of[(len + STEP - 1) / STEP]];
	is_first = !dense->places;
	taken = dense_take(dense, len);
	if (is_first)
		note_area(dense);
	return taken;
}

static void give(void *taken, const char *file, int line)
{
	struct dense *place = place_of(taken);

	(void)file;
	(void)line;
	if (place)
		dense_give(place, taken);
	else
		free(taken);
}

static void *resize(void *taken, size_t len, const char *file, int line)
{
	struct dense *place = place_of(taken);
	void *other;

	if (!taken)
		return take(len, file, line);
	if (len == 0) {
		give(taken, file, line);
		return NULL;
	}
	if (!place)
		return realloc(taken, len);
	if (len <= place->size)
		return taken;
	other = take(len, file, line);
	if (!other)
		return NULL;
	memcpy(other, taken, place->size);
	dense_give(place, taken);
	return other;
}

void apart_begin(void)
{
	size_t size = 0;
	int is_ours;

	for (size_t steps = 0; steps < ARRAY_SIZE(size_of); steps++) {
		while (sizes[size].size < steps * STEP)
			size++;
		size_of[steps] = (uint8_t)size;
	}
	/* It says no when it has memory already. */
	is_ours = CRYPTO_set_mem_functions(take, resize, give);
	assert(is_ours);
}
