#include "gateway/packcheck/protect.h"

#include "policies/path.h"

bool protect_names(struct bytes glob, struct bytes path)
{
	static const struct bytes anywhere = BYTES_LITERAL("**/");

	if (path_matches_nocase(glob, path))
		return true;
	return bytes_starts_with(glob, anywhere) &&
	       path_matches_nocase(bytes_slice(glob, anywhere.len, glob.len),
				   path);
}

/* What stands before the first star. */
static struct bytes spelt_out(struct bytes glob)
{
	ptrdiff_t star = bytes_find(glob, '*', 0);

	return star < 0 ? glob : bytes_slice(glob, 0, (size_t)star);
}

/* Is the directory, with its slash, as the literal goes on? */
static bool agrees(struct bytes literal, struct bytes directory)
{
	size_t len = literal.len < directory.len ? literal.len : directory.len;

	if (!bytes_equal_nocase(bytes_slice(literal, 0, len),
				bytes_slice(directory, 0, len)))
		return false;
	return literal.len <= directory.len || literal.data[len] == '/';
}

bool protect_may_hold(struct bytes glob, struct bytes directory)
{
	return agrees(spelt_out(glob), directory);
}

bool protect_leads(struct bytes glob, struct bytes path)
{
	struct bytes literal = spelt_out(glob);

	return literal.len > path.len && agrees(literal, path);
}
