#include <stdio.h>

#include "common/cleanup.h"
#include "policies/compile.h"

#define DEFAULT_NAME "sallyport"

struct sign_nodes {
	const struct text_node *key, *author;
};

/* What git would take away from a name or an email, or stumble over. */
static bool is_plain(struct bytes word, size_t max)
{
	if (word.len == 0 || word.len > max)
		return false;
	for (size_t i = 0; i < word.len; i++)
		if (word.data[i] < ' ' || word.data[i] == 0x7f ||
		    word.data[i] == '<' || word.data[i] == '>')
			return false;
	return !strchr(" .,:;\"\\'", word.data[0]) &&
	       !strchr(" .,:;\"\\'", word.data[word.len - 1]);
}

static bool read_author(struct compile *compile, const struct text_node *node,
			struct policy_sign *sign)
{
	struct bytes text, name;

	if (!compile_expand(compile, node, EXPAND_TEXT, &text))
		return false;
	if (bytes_split(&text, '<', &name) &&
	    bytes_ends_with(text, bytes_str(">")) &&
	    bytes_ends_with(name, bytes_str(" "))) {
		sign->name = bytes_slice(name, 0, name.len - 1);
		sign->email = bytes_slice(text, 0, text.len - 1);
	}
	if (is_plain(sign->name, SIGN_NAME_MAX) &&
	    is_plain(sign->email, SIGN_EMAIL_MAX) &&
	    bytes_find(sign->email, ' ', 0) < 0)
		return true;
	return reader_error(&compile->reader, node,
			    "an author is \"Name <email>\"");
}

static void default_author(struct compile *compile,
			   const struct text_node *node,
			   struct policy_sign *sign)
{
	struct bytes id = compile->variables->session_id;
	const char *email =
		arena_format(compile->reader.arena, "%.*s@sallyport.internal",
			     BYTES_ARGS(id));

	if (!email || id.len == 0)
		text_error(&compile->reader.source, node->at,
			   "this session has no id: say an "
			   "\"author\"");
	sign->name = bytes_str(DEFAULT_NAME);
	sign->email = bytes_str(email);
}

static bool read_map(struct compile *compile, const struct text_node *node,
		     struct policy_sign *sign)
{
	static const struct reader_field fields[] = {
		{"key", reader_keep, offsetof(struct sign_nodes, key)},
		{"author", reader_keep, offsetof(struct sign_nodes, author)},
	};
	struct sign_nodes nodes = {NULL, NULL};

	if (!reader_map(&compile->reader, node, fields, ARRAY_SIZE(fields),
			&nodes) ||
	    !reader_require(&compile->reader, node, "key") ||
	    !reader_name(&compile->reader, nodes.key, &sign->secret))
		return false;
	if (bytes_is(sign->secret, "session"))
		sign->secret = bytes_from(NULL, 0);
	if (nodes.author)
		return read_author(compile, nodes.author, sign);
	default_author(compile, node, sign);
	return true;
}

static bool is_same(const struct policy_sign *a, const struct policy_sign *b)
{
	return bytes_equal(a->secret, b->secret) &&
	       bytes_equal(a->name, b->name) && bytes_equal(a->email, b->email);
}

void compile_sign(struct compile *compile, const struct text_node *node,
		  struct policy_repo *repo)
{
	struct policy_sign *sign = &compile->policy->sign;
	struct policy_sign read = {.is_on = true};

	if (compile->policy->is_guardrail) {
		text_error(&compile->reader.source, node->at,
			   "a guardrail has no \"sign\" here");
		return;
	}
	if (node->kind == TEXT_MAP) {
		if (!read_map(compile, node, &read))
			return;
	} else {
		static const struct choice choices[] = {{"session", 1}};
		int value;

		if (!reader_choice(&compile->reader, node, choices,
				   ARRAY_SIZE(choices), &value))
			return;
		default_author(compile, node, &read);
	}
	if (sign->is_on && !is_same(sign, &read))
		text_error(&compile->reader.source, node->at,
			   "another repository of this policy signs with "
			   "another key or author");
	*sign = read;
	repo->signs = true;
}

/* A lease may have taken away what a repository could be pushed. */
static bool any_signs(const struct policy *policy)
{
	for (size_t i = 0; i < policy->repo_count; i++)
		if (policy->repos[i].signs && policy->repos[i].verbs)
			return true;
	return false;
}

void compile_sign_settle(struct compile *compile, const struct text_node *node)
{
	struct policy *policy = compile->policy;
	struct policy_sign *sign = &policy->sign;

	/* It would be sent where the credential goes. */
	for (size_t i = 0; i < policy->credential_count; i++)
		if (sign->secret.len > 0 &&
		    bytes_equal(policy->credentials[i].secret, sign->secret))
			text_error(&compile->reader.source, node->at,
				   "\"%.*s\" is a credential's secret as well: "
				   "a key that signs goes nowhere",
				   BYTES_ARGS(sign->secret));
	sign->is_on = any_signs(policy);
}
