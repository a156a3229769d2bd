#include "common/dense.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/watched.h"

static struct dense *all;

/* Of used. */
static size_t words(const struct dense *dense)
{
	return dense->max / 64;
}

static size_t used_bytes(const struct dense *dense)
{
	return words(dense) * sizeof(uint64_t);
}

/* Address space; a page takes memory once something in it was used. */
static int make_area(struct dense *dense)
{
	void *area;
	size_t len;

	if (dense->max == 0)
		dense->max = DENSE_PLACES_MAX;
	assert(dense->size % sizeof(uint64_t) == 0 && dense->max % 64 == 0);
	len = used_bytes(dense) + dense->size * dense->max;
	area = mmap(NULL, len, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (area == MAP_FAILED)
		return -1;
	/* Where huge ones are given unasked: a page would be 2 MiB. */
	(void)madvise(area, len, MADV_NOHUGEPAGE);
	dense->used = area;
	dense->places = (uint8_t *)area + used_bytes(dense);
	dense->next = all;
	all = dense;
	return 0;
}

static void *take_place(struct dense *dense)
{
	size_t word, bit;

	while (dense->low < words(dense) &&
	       dense->used[dense->low] == UINT64_MAX)
		dense->low++;
	word = dense->low;
	if (word == words(dense))
		return NULL;
	bit = (size_t)__builtin_ctzll(~dense->used[word]);
	dense->used[word] |= UINT64_C(1) << bit;
	if (word >= dense->high)
		dense->high = word + 1;
	return dense->places + (word * 64 + bit) * dense->size;
}

void *dense_take(struct dense *dense, size_t len)
{
	void *place = NULL;

	if (!IS_WATCHED && len <= dense->size &&
	    (dense->places || make_area(dense) == 0))
		place = take_place(dense);
	return place ? memset(place, 0, dense->size) : calloc(1, len);
}

bool dense_has(const struct dense *dense, const void *taken)
{
	uintptr_t at = (uintptr_t)taken - (uintptr_t)dense->places;

	return dense->places && at < dense->size * dense->max;
}

void dense_give(struct dense *dense, void *taken)
{
	size_t at, place;
	uint64_t bit;

	if (!dense_has(dense, taken)) {
		free(taken);
		return;
	}
	at = (size_t)((uint8_t *)taken - dense->places);
	place = at / dense->size;
	bit = UINT64_C(1) << place % 64;
	assert(at % dense->size == 0 && (dense->used[place / 64] & bit));
	dense->used[place / 64] &= ~bit;
	if (place / 64 < dense->low)
		dense->low = place / 64;
	dense->has_given = true;
}

/* Of the places from first to before end none is used. */
static void give_back(const struct dense *dense, size_t first, size_t end)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t from = first * dense->size + used_bytes(dense);
	size_t to = end * dense->size + used_bytes(dense);

	from = (from + page - 1) / page * page;
	to = to / page * page;
	if (from < to)
		(void)madvise((uint8_t *)dense->used + from, to - from,
			      MADV_DONTNEED);
}

static void give_back_all(struct dense *dense)
{
	size_t end = dense->high * 64;
	size_t first = 0; /* place behind the last used one */

	for (size_t i = 0; i < end; i++) {
		if (!(dense->used[i / 64] >> i % 64 & 1))
			continue;
		give_back(dense, first, i);
		first = i + 1;
	}
	/* The last page may lie beyond what any word was used for. */
	give_back(dense, first, dense->max);
	dense->high = (first + 63) / 64;
	dense->has_given = false;
}

void dense_give_back(void)
{
	for (struct dense *dense = all; dense; dense = dense->next) {
		if (dense->has_given)
			give_back_all(dense);
	}
}
