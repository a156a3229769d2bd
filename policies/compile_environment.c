#include "common/cleanup.h"
#include "policies/compile.h"
#include "policies/quiet.h"

/* ---- environment ---- */

static bool is_placeholder(const struct policy *policy, struct bytes name)
{
	for (size_t i = 0; i < policy->credential_count; i++) {
		const struct policy_strings *env =
			&policy->credentials[i].placeholder_env;

		for (size_t j = 0; j < env->count; j++)
			if (bytes_equal(env->items[j], name))
				return true;
	}
	return false;
}

static bool read_pair(struct reader *reader, const struct text_node *node,
		      struct policy_pair *pair)
{
	struct text_node name = {
		.kind = TEXT_SCALAR, .at = node->key_at, .value = node->key};

	if (!compile_env_item(reader, &name, &pair->name) ||
	    !reader_word(reader, node, &pair->value))
		return false;
	if (is_placeholder(compile_of(reader)->policy, pair->name))
		return reader_error(reader, &name,
				    "a credential has this variable for its "
				    "placeholder");
	return true;
}

static void read_set(struct reader *reader, const struct text_node *node,
		     void *target, size_t offset)
{
	struct policy_environment *environment = target;
	struct policy_pair *pairs;

	(void)offset;
	if (!reader_kind(reader, node, TEXT_MAP))
		return;
	pairs = arena_array(reader->arena, node->count, sizeof(*pairs));
	if (!pairs) {
		(void)reader_error(reader, node, "no memory");
		return;
	}
	environment->set = pairs;
	for (const struct text_node *item = node->first; item;
	     item = item->next)
		if (read_pair(reader, item, &pairs[environment->set_count]))
			environment->set_count++;
}

static void read_pass(struct reader *reader, const struct text_node *node,
		      void *target, size_t offset)
{
	struct policy_environment *environment = target;

	(void)offset;
	(void)reader_strings(reader, node, compile_env_item,
			     &environment->pass);
}

/* ---- ignore-violations ---- */

static bool read_pattern(struct reader *reader, const struct text_node *node,
			 void *item)
{
	struct bytes *word = item;

	if (!reader_word(reader, node, word))
		return false;
	for (size_t i = 0; i < word->len; i++)
		if (word->data[i] != '*' && word->data[i] != ' ')
			return true;
	return reader_error(reader, node, "this would hide every violation");
}

void compile_quiet(struct compile *compile, const struct text_node *node)
{
	struct policy_strings *quiet = &compile->policy->quiet;

	if (!node ||
	    !reader_strings(&compile->reader, node, read_pattern, quiet))
		return;
	if (quiet->count > QUIET_PATTERNS_MAX)
		(void)reader_error(&compile->reader, node, "more than %d items",
				   QUIET_PATTERNS_MAX);
}

void compile_environment(struct compile *compile, const struct text_node *node)
{
	static const struct reader_field fields[] = {
		{"pass", read_pass, 0},
		{"set", read_set, 0},
	};

	if (node)
		(void)reader_map(&compile->reader, node, fields,
				 ARRAY_SIZE(fields),
				 &compile->policy->environment);
}
