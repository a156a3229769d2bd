#include "sandbox-host/pattern.h"

#include <string.h>

#include "sandbox-host/walk.h"

#define EXPAND_ENTRIES_MAX 1000000

bool pattern_is_glob(const char *path)
{
	return glob_is_one(bytes_str(path));
}

/* Where the first component with a pattern in it begins. */
static size_t base_len(struct bytes glob)
{
	size_t start = 1;

	for (size_t i = 1; i <= glob.len; i++) {
		if (i < glob.len && glob.data[i] != '/')
			continue;
		if (glob_is_one(bytes_slice(glob, start, i)))
			return start;
		start = i + 1;
	}
	return start < glob.len ? start : glob.len;
}

static unsigned depth_of(struct bytes rest)
{
	unsigned slashes = 0;

	for (size_t i = 0; i < rest.len; i++) {
		slashes += rest.data[i] == '/';
		if (i && rest.data[i] == '*' && rest.data[i - 1] == '*')
			return WALK_DEPTH_MAX;
	}
	return slashes;
}

int pattern_parse(struct pattern *pattern, const char *glob, struct err *err)
{
	struct bytes text = bytes_str(glob);
	struct glob_fault fault;
	struct bytes rest;
	size_t base;

	if (text.len == 0 || text.data[0] != '/' ||
	    text.len >= sizeof(pattern->base))
		return err_set(err, ERR_INVALID, "pattern %.128s: not a path",
			       glob);
	base = base_len(text);
	rest = bytes_slice(text, base, text.len);
	if (glob_parse(&pattern->rest, rest, GLOB_POLICY, &fault) < 0)
		return err_set(err, ERR_INVALID, "pattern %.128s: %s", glob,
			       fault.why);
	glob_unescape(bytes_slice(text, 0, base > 1 ? base - 1 : 1),
		      pattern->base);
	pattern->rest_at = base;
	pattern->depth_max = depth_of(rest);
	return 0;
}

/* What of path is below the base. False: it is not. */
static bool rest_of(const struct pattern *pattern, const char *path,
		    struct bytes *rest)
{
	size_t len = strlen(pattern->base);

	if (len == 1)
		len = 0;
	if (strncmp(path, pattern->base, len) != 0 || path[len] != '/')
		return false;
	*rest = bytes_str(path + len + 1);
	return true;
}

bool pattern_matches(const struct pattern *pattern, const char *path)
{
	struct bytes rest;

	return rest_of(pattern, path, &rest) &&
	       glob_matches(&pattern->rest, rest);
}

bool pattern_keeps(const struct pattern *pattern, const char *from,
		   const char *to)
{
	struct bytes before, after;
	bool is_before = rest_of(pattern, from, &before);
	bool is_after = rest_of(pattern, to, &after);

	return glob_keeps(&pattern->rest, is_before ? &before : NULL,
			  is_after ? &after : NULL);
}

struct expansion {
	const struct pattern *pattern;
	pattern_on_path *on_path, *on_closed;
	void *owner;
	size_t found;
};

static enum walk_answer on_entry(void *owner, const struct walk_entry *entry,
				 struct err *err)
{
	struct expansion *expansion = owner;

	if (!pattern_matches(expansion->pattern, entry->path))
		return WALK_INTO;
	if (expansion->found++ == PATTERN_FOUND_MAX) {
		err_set(err, ERR_TOO_LARGE,
			"pattern in %.256s: stands for more than %d paths",
			expansion->pattern->base, PATTERN_FOUND_MAX);
		return WALK_FAIL;
	}
	if (expansion->on_path(expansion->owner, entry->path, err) < 0)
		return WALK_FAIL;
	return WALK_SKIP;
}

static int on_closed(void *owner, const char *path, struct err *err)
{
	const struct expansion *expansion = owner;

	return expansion->on_closed(expansion->owner, path, err);
}

int pattern_expand(const struct pattern *pattern, pattern_on_path *on_path,
		   pattern_on_path *on_closed_path, void *owner,
		   struct err *err)
{
	struct expansion expansion = {pattern, on_path, on_closed_path, owner,
				      0};
	struct walk walk = {
		.entries_max = EXPAND_ENTRIES_MAX,
		.depth_max = pattern->depth_max,
		.on_entry = on_entry,
		.on_closed = on_closed,
		.owner = &expansion,
	};

	if (walk_tree(&walk, pattern->base, err) < 0)
		return -1;
	/* A shallow pattern is cut by its own depth, and misses nothing. */
	if (walk.is_cut && pattern->depth_max == WALK_DEPTH_MAX)
		return err_set(err, ERR_TOO_LARGE,
			       "pattern in %.256s: the tree is too large to be "
			       "looked through",
			       pattern->base);
	return 0;
}
