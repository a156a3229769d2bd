#include "sandbox-host/ignore.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

#define RULES_FIRST 32

static int grow(struct ignore *ignore, struct err *err)
{
	size_t size = ignore->size ? ignore->size * 2 : RULES_FIRST;
	struct ignore_rule *rules;

	if (ignore->count == IGNORE_RULES_MAX)
		return err_set(err, ERR_TOO_LARGE,
			       "ignore files: more than %d rules",
			       IGNORE_RULES_MAX);
	if (ignore->count < ignore->size)
		return 0;
	rules = reallocarray(ignore->rules, size, sizeof(*rules));
	if (!rules)
		return err_set(err, ERR_TOO_LARGE, "ignore files: no memory");
	ignore->rules = rules;
	ignore->size = size;
	return 0;
}

/* Without trailing blanks, unless the last has a backslash before it. */
static struct bytes trimmed(struct bytes line)
{
	while (line.len && line.data[line.len - 1] == ' ') {
		size_t escapes = 0;

		while (escapes + 1 < line.len &&
		       line.data[line.len - 2 - escapes] == '\\')
			escapes++;
		if (escapes % 2)
			break;
		line.len--;
	}
	return line;
}

/* A line into a rule. 1: it is none; -1: it is no pattern. */
static int read_rule(struct bytes line, struct ignore_rule *rule)
{
	struct glob_fault fault;

	line = trimmed(line);
	if (line.len == 0 || line.data[0] == '#')
		return 1;
	rule->shows = line.data[0] == '!';
	if (rule->shows)
		line = bytes_slice(line, 1, line.len);
	rule->is_for_directories = line.len && line.data[line.len - 1] == '/';
	if (rule->is_for_directories)
		line.len--;
	rule->is_anchored = bytes_find(line, '/', 0) >= 0;
	if (line.len && line.data[0] == '/')
		line = bytes_slice(line, 1, line.len);
	return line.len ? glob_parse(&rule->glob, line, GLOB_IGNORE, &fault)
			: 1;
}

static int add_line(struct ignore *ignore, const char *base, unsigned kind,
		    struct bytes line, unsigned *faults, struct err *err)
{
	struct ignore_rule *rule;
	int rc;

	if (grow(ignore, err) < 0)
		return -1;
	rule = &ignore->rules[ignore->count];
	rc = read_rule(line, rule);
	*faults += rc < 0;
	if (rc)
		return 0;
	rule->kind = kind;
	rule->base = strdup(base);
	if (!rule->base)
		return err_set(err, ERR_TOO_LARGE, "ignore files: no memory");
	ignore->count++;
	return 0;
}

int ignore_add(struct ignore *ignore, const char *base, unsigned kind,
	       struct bytes text, unsigned *faults, struct err *err)
{
	static const struct bytes mark = BYTES_LITERAL("\xef\xbb\xbf");
	bool more = true;

	if (bytes_starts_with(text, mark))
		text = bytes_slice(text, mark.len, text.len);
	while (more) {
		struct bytes line;

		more = bytes_split(&text, '\n', &line);
		if (line.len && line.data[line.len - 1] == '\r')
			line.len--;
		if (add_line(ignore, base, kind, line, faults, err) < 0)
			return -1;
	}
	return 0;
}

void ignore_release(struct ignore *ignore)
{
	for (size_t i = 0; i < ignore->count; i++)
		free(ignore->rules[i].base);
	free(ignore->rules);
	*ignore = (struct ignore){0};
}

/* path below base; NULL: it is not. */
static const char *below(const char *path, const char *base)
{
	size_t len = strlen(base);

	return !strncmp(path, base, len) && path[len] == '/' ? path + len + 1
							     : NULL;
}

static bool matches(const struct ignore_rule *rule, const char *path,
		    bool is_directory)
{
	const char *rest = below(path, rule->base);
	const char *name = strrchr(path, '/');

	if (!rest || !name || (rule->is_for_directories && !is_directory))
		return false;
	return glob_matches(&rule->glob,
			    bytes_str(rule->is_anchored ? rest : name + 1));
}

static bool rule_keeps(const struct ignore_rule *rule, const char *from,
		       const char *to)
{
	const char *before = below(from, rule->base);
	const char *after = below(to, rule->base);
	struct bytes one = bytes_str(before), other = bytes_str(after);

	if (!rule->is_anchored)
		return !before || after;
	return glob_keeps(&rule->glob, before ? &one : NULL,
			  after ? &other : NULL);
}

/* Of what a rule shows there must not be more. */
bool ignore_keeps(const struct ignore *ignore, const char *from, const char *to)
{
	for (size_t i = 0; i < ignore->count; i++) {
		const struct ignore_rule *rule = &ignore->rules[i];

		if (rule->shows ? !rule_keeps(rule, to, from)
				: !rule_keeps(rule, from, to))
			return false;
	}
	return true;
}

bool ignore_hides(const struct ignore *ignore, const char *path,
		  bool is_directory)
{
	uint64_t decided = 0; /* kinds, a bit each */

	for (size_t i = ignore->count; i-- > 0;) {
		const struct ignore_rule *rule = &ignore->rules[i];

		if (decided >> rule->kind & 1 ||
		    !matches(rule, path, is_directory))
			continue;
		if (!rule->shows)
			return true;
		decided |= UINT64_C(1) << rule->kind;
	}
	return false;
}

bool ignore_is_anywhere(const struct ignore *ignore, const char *tree,
			const char *name, bool is_directory)
{
	bool is_hidden = false;

	for (size_t i = 0; i < ignore->count; i++) {
		const struct ignore_rule *rule = &ignore->rules[i];
		bool is_of_name = (!rule->is_for_directories || is_directory) &&
				  (rule->is_anchored ||
				   glob_matches(&rule->glob, bytes_str(name)));

		if (is_of_name && rule->shows)
			return false;
		is_hidden |= is_of_name && !rule->is_anchored &&
			     !strcmp(rule->base, tree);
	}
	return is_hidden;
}

bool ignore_covers(const struct ignore *ignore, const char *path,
		   bool is_directory)
{
	char text[PATH_MAX];
	size_t len = strlen(path);

	if (ignore->count == 0)
		return false;
	if (len >= sizeof(text))
		return true;
	memcpy(text, path, len + 1);
	for (char *at = strchr(text + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		if (ignore_hides(ignore, text, true))
			return true;
		*at = '/';
	}
	return ignore_hides(ignore, text, is_directory);
}
