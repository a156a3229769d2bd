/*
 * Paths and globs from anybody. A normalised path is its own normal form
 * and holds none of what can be read in two ways; path_matches() agrees
 * with a matcher that is slow and plain.
 */
#include <assert.h>
#include <stdint.h>

#include "policies/path.h"

#define SLOW_MAX 48

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_plain(struct bytes path)
{
	static const char *const refused[] = {"//",  "/../", "%2F", "%5C",
					      "%00", "\\",   ";",   "/./"};

	assert(path.len > 0 && path.data[0] == '/');
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert(bytes_find_bytes(path, bytes_str(refused[i]), 0) < 0);
	assert(!bytes_ends_with(path, bytes_str("/..")));
	assert(!bytes_ends_with(path, bytes_str("/.")));
	for (size_t i = 0; i < path.len; i++)
		assert(path.data[i] > ' ' && path.data[i] < 0x7f);
}

static void check_normal(struct bytes in)
{
	struct arena arena;
	struct bytes out;
	struct bytes again;
	struct err err;

	arena_init(&arena, 16 * PATH_MAX_LEN);
	if (path_normalise(&arena, in, &out, &err) == 0) {
		check_plain(out);
		assert(path_normalise(&arena, out, &again, &err) == 0);
		assert(bytes_equal(out, again));
	} else {
		assert(err.code == ERR_INVALID);
	}
	arena_release(&arena);
}

/* One row of the table "glob up to here matches path up to there". */
static void next_row(bool *row, struct bytes glob, size_t g, struct bytes path)
{
	bool next[SLOW_MAX + 1] = {false};
	bool is_star = glob.data[g] == '*';
	size_t from = g;
	size_t to = g;
	bool across;

	while (from > 0 && glob.data[from - 1] == '*')
		from--;
	while (to + 1 < glob.len && glob.data[to + 1] == '*')
		to++;
	across = to > from;
	for (size_t p = 0; p <= path.len; p++) {
		if (is_star)
			next[p] =
				row[p] || (p > 0 && next[p - 1] &&
					   (across || path.data[p - 1] != '/'));
		else
			next[p] = p > 0 && row[p - 1] &&
				  path.data[p - 1] == glob.data[g];
	}
	memcpy(row, next, sizeof(next));
}

static bool slow_matches(struct bytes glob, struct bytes path)
{
	bool row[SLOW_MAX + 1] = {true};

	for (size_t g = 0; g < glob.len; g++)
		next_row(row, glob, g, path);
	return row[path.len];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct bytes in = bytes_from(data, len);
	struct bytes glob;

	check_normal(in);
	if (bytes_split(&in, '\n', &glob)) {
		bool fast = path_matches(glob, in);

		if (in.len <= SLOW_MAX)
			assert(fast == slow_matches(glob, in));
	}
	return 0;
}
