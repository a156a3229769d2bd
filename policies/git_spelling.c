#include "policies/git_spelling.h"

#include <string.h>

#include "common/cleanup.h"
#include "policies/path.h"

static bool cut_end(struct bytes *path, const char *end)
{
	if (!bytes_ends_with(*path, bytes_str(end)))
		return false;
	path->len -= strlen(end);
	return true;
}

/* The last segment, without its slash; empty when there is no slash. */
static struct bytes cut_segment(struct bytes *path)
{
	size_t at = path->len;
	struct bytes segment;

	while (at > 0 && path->data[at - 1] != '/')
		at--;
	segment = bytes_slice(*path, at, path->len);
	if (at > 0)
		path->len = at - 1;
	return at > 0 ? segment : bytes_from(NULL, 0);
}

static bool is_word(const char *word, struct bytes segment)
{
	return path_matches_loosely(bytes_str(word), segment);
}

static bool cut_endpoint(struct bytes *path)
{
	struct bytes last;

	while (cut_end(path, "/") || cut_end(path, ".") || cut_end(path, "%20"))
		;
	last = cut_segment(path);
	if (is_word("refs", last))
		return is_word("info", cut_segment(path));
	return is_word("git-upload-pack", last) ||
	       is_word("git-receive-pack", last);
}

bool git_is_spelled_loosely(struct bytes path, struct bytes *rest)
{
	static const char *const ends[] = {"%3B", "%3F", "%23"};

	*rest = path;
	if (cut_endpoint(rest))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		ptrdiff_t at = bytes_find_bytes(path, bytes_str(ends[i]), 0);

		if (at >= 0)
			path = bytes_slice(path, 0, (size_t)at);
	}
	*rest = path;
	return cut_endpoint(rest);
}
