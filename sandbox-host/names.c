/* What found no room has no hh.tbl then. */
#define HASH_NONFATAL_OOM 1

#include "sandbox-host/names.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <uthash.h>

/* FNV-1a from a seed: the hash of a path grows out of that of what is above
 * it, so that one pass over the path asks for each of its beginnings. */
#define FNV_PRIME   16777619u
#define ENTRIES_MAX (1u << 19)

struct names_entry {
	const char *text; /* borrowed, with more after it perhaps */
	bool is_name;	  /* else only above one */
	UT_hash_handle hh;
};

static uint32_t mix(uint32_t hash, char byte)
{
	return (hash ^ (uint8_t)byte) * FNV_PRIME;
}

static struct names_entry *find(const struct names *names, const char *text,
				size_t len, uint32_t hash)
{
	struct names_entry *entry = NULL;

	HASH_FIND_BYHASHVALUE(hh, names->entries, text, len, hash, entry);
	return entry;
}

static int add(struct names *names, const char *text, size_t len, uint32_t hash,
	       struct err *err)
{
	struct names_entry *entry = find(names, text, len, hash);

	if (!entry && HASH_COUNT(names->entries) < ENTRIES_MAX) {
		entry = calloc(1, sizeof(*entry));
		if (entry) {
			entry->text = text;
			HASH_ADD_KEYPTR_BYHASHVALUE(hh, names->entries, text,
						    len, hash, entry);
		}
		if (entry && !entry->hh.tbl) {
			free(entry);
			entry = NULL;
		}
	}
	if (!entry)
		return err_set(err, ERR_TOO_LARGE, "names: no memory");
	entry->is_name |= text[len] == '\0';
	return 0;
}

int names_add(struct names *names, const char *name, struct err *err)
{
	uint32_t hash;
	size_t len = 0;

	assert(name[0] == '/');
	if (!names->entries &&
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
	struct names_entry *entry = names->entries;

	HASH_CLEAR(hh, names->entries);
	while (entry) {
		struct names_entry *next = entry->hh.next;

		free(entry);
		entry = next;
	}
	*names = (struct names){0};
}

bool names_cover(const struct names *names, const char *path)
{
	uint32_t hash = names->seed;

	for (size_t len = 0; names->entries; len++) {
		const struct names_entry *entry;

		if (path[len] == '/' || path[len] == '\0') {
			entry = find(names, path, len, hash);
			if (entry && entry->is_name)
				return true;
		}
		if (path[len] == '\0')
			return false;
		hash = mix(hash, path[len]);
	}
	return false;
}

bool names_are_below(const struct names *names, const char *path)
{
	uint32_t hash = names->seed;
	size_t len = strcmp(path, "/") ? strlen(path) : 0;

	if (!names->entries)
		return false;
	for (size_t i = 0; i < len; i++)
		hash = mix(hash, path[i]);
	return find(names, path, len, hash) != NULL;
}
