#include "sandbox-host/names.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define FNV_PRIME   16777619u
#define SIZE_FIRST  64
#define ENTRIES_MAX (1u << 20)

static_assert(PATH_MAX <= UINT16_MAX,
	      "the length of a name is kept in 16 bits");

static uint32_t mix(uint32_t hash, char byte)
{
	return (hash ^ (uint8_t)byte) * FNV_PRIME;
}

/* Its place: the entry itself, or where it would be. There is a free one. */
static struct names_entry *place_of(const struct names *names, const char *text,
				    size_t len, uint32_t hash)
{
	size_t mask = names->size - 1;
	size_t at = hash & mask;

	for (;; at = (at + 1) & mask) {
		struct names_entry *entry = &names->entries[at];

		if (!entry->text || (entry->hash == hash && entry->len == len &&
				     !memcmp(entry->text, text, len)))
			return entry;
	}
}

/* At most half of the places are taken. */
static int grow(struct names *names, struct err *err)
{
	struct names larger = {.seed = names->seed,
			       .size = names->size ? 2 * names->size
						   : SIZE_FIRST,
			       .count = names->count};

	if (2 * (names->count + 1) <= names->size)
		return 0;
	if (larger.size <= ENTRIES_MAX)
		larger.entries = calloc(larger.size, sizeof(*larger.entries));
	if (!larger.entries)
		return err_set(err, ERR_TOO_LARGE, "names: no memory");
	for (size_t i = 0; i < names->size; i++) {
		const struct names_entry *entry = &names->entries[i];

		if (entry->text)
			*place_of(&larger, entry->text, entry->len,
				  entry->hash) = *entry;
	}
	free(names->entries);
	*names = larger;
	return 0;
}

static int add(struct names *names, const char *text, size_t len, uint32_t hash,
	       struct err *err)
{
	struct names_entry *entry;

	if (grow(names, err) < 0)
		return -1;
	entry = place_of(names, text, len, hash);
	if (!entry->text) {
		*entry = (struct names_entry){text, (uint16_t)len, false, hash};
		names->count++;
	}
	entry->is_name |= text[len] == '\0';
	return 0;
}

int names_add(struct names *names, const char *name, struct err *err)
{
	uint32_t hash;
	size_t len = 0;

	assert(name[0] == '/');
	if (names->count == 0 &&
	    getrandom(&names->seed, sizeof(names->seed), 0) < 0)
		return err_system(err, "names: a seed");
	hash = names->seed;
	if (strnlen(name, PATH_MAX) == PATH_MAX)
		return err_set(err, ERR_TOO_LARGE, "names: a long name");
	/* "/" is the name without a byte. */
	do {
		if (add(names, name[1] ? name : "", len, hash, err) < 0)
			return -1;
		if (!name[1])
			break;
		do
			hash = mix(hash, name[len++]);
		while (name[len] && name[len] != '/');
	} while (name[len]);
	return name[1] ? add(names, name, len, hash, err) : 0;
}

void names_release(struct names *names)
{
	free(names->entries);
	*names = (struct names){0};
}

bool names_cover(const struct names *names, const char *path)
{
	uint32_t hash = names->seed;

	if (names->count == 0)
		return false;
	for (size_t len = 0;; len++) {
		const struct names_entry *entry;

		if (path[len] == '/' || path[len] == '\0') {
			entry = place_of(names, path, len, hash);
			if (entry->text && entry->is_name)
				return true;
		}
		if (path[len] == '\0')
			return false;
		hash = mix(hash, path[len]);
	}
}

bool names_are_below(const struct names *names, const char *path)
{
	uint32_t hash = names->seed;
	size_t len = strcmp(path, "/") ? strlen(path) : 0;

	if (names->count == 0)
		return false;
	for (size_t i = 0; i < len; i++)
		hash = mix(hash, path[i]);
	return place_of(names, path, len, hash)->text != NULL;
}
