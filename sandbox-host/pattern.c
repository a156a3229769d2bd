#include "sandbox-host/pattern.h"

#include <string.h>

#include "policies/path.h"
#include "sandbox-host/walk.h"

#define EXPAND_ENTRIES_MAX 1000000

bool pattern_is_glob(const char *path)
{
	return strchr(path, '*') != NULL;
}

static unsigned count_of(const char *text, char c)
{
	unsigned count = 0;

	for (; *text; text++)
		count += *text == c;
	return count;
}

/* Leave out "/" followed by a double star, as often as it is a whole
 * component. */
static void shorten(const char *rest, char *out)
{
	while (*rest) {
		if (!strncmp(rest, "/**/", 4)) {
			rest += 3;
			continue;
		}
		*out++ = *rest++;
	}
	*out = '\0';
}

int pattern_parse(struct pattern *pattern, const char *glob, struct err *err)
{
	size_t len = strlen(glob);
	size_t base = strcspn(glob, "*");

	if (glob[0] != '/' || len >= sizeof(pattern->rest))
		return err_set(err, ERR_INVALID, "pattern %.128s: not a path",
			       glob);
	while (glob[base] && base > 0 && glob[base] != '/')
		base--;
	memcpy(pattern->base, base ? glob : "/", base ? base : 1);
	pattern->base[base ? base : 1] = '\0';
	memcpy(pattern->rest, glob + base, len - base + 1);
	shorten(pattern->rest, pattern->short_rest);
	pattern->depth_max = strstr(pattern->rest, "**")
				     ? WALK_DEPTH_MAX
				     : count_of(pattern->rest, '/') - 1;
	return 0;
}

bool pattern_matches(const struct pattern *pattern, const char *path)
{
	size_t len = strlen(pattern->base);
	struct bytes rest;

	if (len == 1)
		len = 0;
	if (strncmp(path, pattern->base, len) != 0 ||
	    (path[len] != '/' && path[len] != '\0'))
		return false;
	rest = bytes_str(path + len);
	return path_matches(bytes_str(pattern->rest), rest) ||
	       path_matches(bytes_str(pattern->short_rest), rest);
}

struct expansion {
	const struct pattern *pattern;
	int (*on_path)(void *owner, const char *path, struct err *err);
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
			"pattern %.128s%.128s: stands for more than %d paths",
			expansion->pattern->base, expansion->pattern->rest,
			PATTERN_FOUND_MAX);
		return WALK_FAIL;
	}
	if (expansion->on_path(expansion->owner, entry->path, err) < 0)
		return WALK_FAIL;
	return WALK_SKIP;
}

int pattern_expand(const struct pattern *pattern,
		   int (*on_path)(void *owner, const char *path,
				  struct err *err),
		   void *owner, struct err *err)
{
	struct expansion expansion = {pattern, on_path, owner, 0};
	struct walk walk = {
		.entries_max = EXPAND_ENTRIES_MAX,
		.depth_max = pattern->depth_max,
		.on_entry = on_entry,
		.owner = &expansion,
	};

	if (walk_tree(&walk, pattern->base, err) < 0)
		return -1;
	/* A shallow pattern is cut by its own depth, and misses nothing. */
	if (walk.is_cut && pattern->depth_max == WALK_DEPTH_MAX)
		return err_set(err, ERR_TOO_LARGE,
			       "pattern %.128s%.128s: the tree is too large "
			       "to be looked through",
			       pattern->base, pattern->rest);
	return 0;
}
