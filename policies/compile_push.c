#include "common/cleanup.h"
#include "policies/compile.h"
#include "policies/pattern.h"

/* ---- protect ---- */

/* Is each segment of the path one that a tree can have? */
static bool is_path(struct bytes path)
{
	struct bytes segment;
	bool more = true;

	while (more) {
		more = bytes_split(&path, '/', &segment);
		if (segment.len == 0 || bytes_is(segment, ".") ||
		    bytes_is(segment, ".."))
			return false;
	}
	return true;
}

static bool protect_item(struct reader *reader, const struct text_node *node,
			 void *item)
{
	struct bytes *path = item;

	if (!reader_word(reader, node, path))
		return false;
	if (path->len > PUSH_PROTECT_LEN_MAX)
		return reader_error(reader, node, "more than %d bytes",
				    PUSH_PROTECT_LEN_MAX);
	if (!is_path(*path))
		return reader_error(reader, node,
				    "this must be a path from the top of the "
				    "repository, as \".github/workflows/**\"");
	return true;
}

void compile_push_protect(struct compile *compile, const struct text_node *node,
			  struct push_checks *checks)
{
	if (node->count > PUSH_PROTECT_MAX)
		text_error(&compile->reader.source, node->at,
			   "more than %d protected paths", PUSH_PROTECT_MAX);
	else
		(void)reader_strings(&compile->reader, node, protect_item,
				     &checks->protect);
}

/* ---- secrets ---- */

void compile_push_secrets(struct compile *compile, const struct text_node *node,
			  struct push_checks *checks)
{
	static const struct choice choices[] = {{"deny", 1}};
	int value;

	if (reader_choice(&compile->reader, node, choices, ARRAY_SIZE(choices),
			  &value))
		checks->deny_secrets = true;
}

/* ---- limits ---- */

static void read_bytes(struct reader *reader, const struct text_node *node,
		       void *target, size_t offset)
{
	uint64_t *to = (void *)((uint8_t *)target + offset);
	uint64_t value;

	if (!reader_size(reader, node, &value))
		return;
	if (value > PUSH_LIMIT_BYTES_MAX)
		(void)reader_error(
			reader, node,
			"a pack that is looked at has at most 512MiB");
	else
		*to = value;
}

static void read_objects(struct reader *reader, const struct text_node *node,
			 void *target, size_t offset)
{
	uint64_t *to = (void *)((uint8_t *)target + offset);

	(void)reader_number(reader, node, 1, PUSH_LIMIT_OBJECTS_MAX, to);
}

void compile_push_limits(struct compile *compile, const struct text_node *node,
			 struct push_checks *checks)
{
	static const struct reader_field fields[] = {
		{"pack", read_bytes,
		 offsetof(struct push_checks, pack_bytes_max)},
		{"objects", read_objects,
		 offsetof(struct push_checks, objects_max)},
		{"file", read_bytes,
		 offsetof(struct push_checks, file_bytes_max)},
	};

	(void)reader_map(&compile->reader, node, fields, ARRAY_SIZE(fields),
			 checks);
}

/* ---- options and commits ---- */

static bool push_pattern(struct reader *reader, const struct text_node *node,
			 const struct pattern **pattern)
{
	if (!compile_pattern(compile_of(reader), node, pattern))
		return false;
	/* It travels to packcheck. */
	if (pattern_text(*pattern).len > PUSH_PATTERN_LEN_MAX)
		return reader_error(reader, node, "more than %d bytes",
				    PUSH_PATTERN_LEN_MAX);
	return true;
}

static bool option_item(struct reader *reader, const struct text_node *node,
			void *item)
{
	return push_pattern(reader, node, item);
}

void compile_push_options(struct compile *compile, const struct text_node *node,
			  struct policy_patterns *options)
{
	void *items = NULL;

	if (node->count > PUSH_OPTION_PATTERNS_MAX)
		text_error(&compile->reader.source, node->at,
			   "more than %d options", PUSH_OPTION_PATTERNS_MAX);
	else if (reader_list(&compile->reader, node,
			     sizeof(const struct pattern *), option_item,
			     &items, &options->count))
		options->items = items;
}

static void read_pattern(struct reader *reader, const struct text_node *node,
			 void *target, size_t offset)
{
	const struct pattern *pattern;

	if (push_pattern(reader, node, &pattern))
		memcpy((uint8_t *)target + offset, &pattern, sizeof(pattern));
}

static void read_count(struct reader *reader, const struct text_node *node,
		       void *target, size_t offset)
{
	uint64_t *to = (void *)((uint8_t *)target + offset);

	(void)reader_number(reader, node, 1, PUSH_LIMIT_OBJECTS_MAX, to);
}

void compile_push_commits(struct compile *compile, const struct text_node *node,
			  struct push_commits *commits)
{
	static const struct reader_field fields[] = {
		{"author", read_pattern, offsetof(struct push_commits, author)},
		{"committer", read_pattern,
		 offsetof(struct push_commits, committer)},
		{"subject", read_pattern,
		 offsetof(struct push_commits, subject)},
		{"message", read_pattern,
		 offsetof(struct push_commits, message)},
		{"max", read_count, offsetof(struct push_commits, count_max)},
	};

	(void)reader_map(&compile->reader, node, fields, ARRAY_SIZE(fields),
			 commits);
}
