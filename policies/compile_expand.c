#include <stdio.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "policies/compile.h"
#include "policies/ref.h"

struct variable {
	const char *name;
	bool is_github;	   /* a member of struct compile_github */
	size_t offset;	   /* there, or in struct policy_variables */
	const char *empty; /* why it has no value; is_github: see why_empty() */
};

static const struct variable variables[] = {
	{"session.branch", false, offsetof(struct policy_variables, branch),
	 "this session was created without a branch, which the "
	 "policy needs for"},
	{"session.id", false, offsetof(struct policy_variables, session_id),
	 "this session has no id for"},
	{"session.repo", false, offsetof(struct policy_variables, repo),
	 "this session was created without a repository, which the "
	 "policy needs for"},
	{"github.owner", true, offsetof(struct compile_github, owner), NULL},
	{"github.repo", true, offsetof(struct compile_github, repo), NULL},
	{"github.credential", true, offsetof(struct compile_github, credential),
	 NULL},
};

static struct bytes value_in(const struct compile *compile,
			     const struct variable *variable)
{
	const char *from = variable->is_github
				   ? (const char *)&compile->github
				   : (const char *)compile->variables;
	struct bytes value;

	memcpy(&value, from + variable->offset, sizeof(value));
	return value;
}

static const char *why_empty(const struct compile *compile,
			     const struct variable *variable)
{
	if (!variable->is_github)
		return variable->empty;
	if (compile->github.owner.len)
		return "the first repository of github.com in \"git\" has no";
	return "no repository of github.com stands in \"git\" for";
}

static const struct variable *variable_named(struct bytes name)
{
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		if (bytes_is(name, variables[i].name))
			return &variables[i];
	return NULL;
}

bool compile_has_values(struct compile *compile, const struct text_node *node,
			const char *what, struct bytes text)
{
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
		char word[64];

		(void)snprintf(word, sizeof(word), "${%s}", variables[i].name);
		if (value_in(compile, &variables[i]).len == 0 &&
		    bytes_find_bytes(text, bytes_str(word), 0) >= 0)
			return reader_error(&compile->reader, node,
					    "%s cannot be used: %s %s", what,
					    why_empty(compile, &variables[i]),
					    word);
	}
	return true;
}

static bool tell_unknown(struct compile *compile, const struct text_node *node,
			 struct bytes name)
{
	const char *names[ARRAY_SIZE(variables)];

	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		names[i] = variables[i].name;
	return reader_error(
		&compile->reader, node, "there is no variable \"%.*s\"%s",
		BYTES_ARGS(name),
		reader_hint(&compile->reader, name, names, ARRAY_SIZE(names)));
}

static bool is_branch(struct bytes value)
{
	char ref[REF_NAME_MAX + 1];
	int len = snprintf(ref, sizeof(ref), "refs/heads/%.*s",
			   BYTES_ARGS(value));

	return len > 0 && (size_t)len < sizeof(ref) &&
	       bytes_find(value, 0, 0) < 0 && ref_is_valid(bytes_str(ref));
}

/* The value of a variable: printable ASCII without a glob's characters. */
static bool value_of(struct compile *compile, const struct text_node *node,
		     struct bytes name, struct bytes *value)
{
	const struct variable *variable = variable_named(name);

	if (!variable)
		return tell_unknown(compile, node, name);
	*value = value_in(compile, variable);
	if (value->len == 0)
		return reader_error(&compile->reader, node, "%s ${%s}",
				    why_empty(compile, variable),
				    variable->name);
	for (size_t i = 0; i < value->len; i++)
		if (value->data[i] <= ' ' || value->data[i] >= 0x7f ||
		    value->data[i] == '*')
			return reader_error(&compile->reader, node,
					    "the value of ${%s} cannot be "
					    "taken literally: it has a blank, "
					    "a '*' or what is not ASCII",
					    variable->name);
	if (bytes_is(name, "session.branch") && !is_branch(*value))
		return reader_error(&compile->reader, node,
				    "the value of ${%s} is not a branch",
				    variable->name);
	return true;
}

static bool is_path_byte(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c && strchr("-._~/", c));
}

static bool is_word_byte(uint8_t c)
{
	return c == '_' || (is_path_byte(c) && !strchr("-.~/", c));
}

static int add_value(struct buf *out, enum expand_use use, struct bytes value)
{
	int rc = 0;

	if (use == EXPAND_TEXT)
		return buf_add(out, value);
	for (size_t i = 0; rc == 0 && i < value.len; i++) {
		uint8_t c = value.data[i];
		bool is_plain = use == EXPAND_PATTERN ? is_word_byte(c)
						      : is_path_byte(c);

		if (is_plain)
			rc = buf_add_byte(out, c);
		else
			rc = buf_add_format(
				out, use == EXPAND_PATTERN ? "\\%c" : "%%%02X",
				c);
	}
	return rc;
}

/* Append in with its variables replaced. */
static bool expand(struct compile *compile, const struct text_node *node,
		   enum expand_use use, struct buf *out)
{
	static const struct bytes open = BYTES_LITERAL("${");
	struct bytes in = node->value;
	ptrdiff_t from;
	int rc = 0;

	while (rc == 0 && (from = bytes_find_bytes(in, open, 0)) >= 0) {
		ptrdiff_t to = bytes_find(in, '}', (size_t)from);
		struct bytes value;

		if (to < 0)
			return reader_error(&compile->reader, node,
					    "\"${\" is not closed");
		if (!value_of(compile, node,
			      bytes_slice(in, (size_t)from + open.len,
					  (size_t)to),
			      &value))
			return false;
		rc = buf_add(out, bytes_slice(in, 0, (size_t)from));
		if (rc == 0)
			rc = add_value(out, use, value);
		in = bytes_slice(in, (size_t)to + 1, in.len);
	}
	if (rc || buf_add(out, in))
		return reader_error(&compile->reader, node,
				    "longer than %d bytes", READER_WORD_MAX);
	return true;
}

bool compile_expand(struct compile *compile, const struct text_node *node,
		    enum expand_use use, struct bytes *text)
{
	auto_type(buf_release) struct buf out;
	struct bytes in;
	struct bytes copy;

	buf_init(&out, READER_WORD_MAX);
	if (!reader_scalar(&compile->reader, node, &in) ||
	    !expand(compile, node, use, &out))
		return false;
	copy = arena_copy(compile->reader.arena, buf_view(&out));
	if (copy.len != buf_len(&out))
		return reader_error(&compile->reader, node,
				    "the text is too large to be read");
	*text = copy;
	return true;
}
