/*
 * "name: regex" maps and the regular expressions in them.
 */
#include "common/cleanup.h"
#include "policies/compile.h"
#include "policies/pattern.h"

#define TCHARS "!#$%&'*+-.^_`|~"

bool compile_pattern(struct compile *compile, const struct text_node *node,
		     const struct pattern **pattern)
{
	struct pattern_fault fault;
	struct bytes text;
	size_t at = node->at;

	if (!compile_expand(compile, node, EXPAND_PATTERN, &text))
		return false;
	*pattern = pattern_new(compile->reader.arena, text, &fault);
	if (*pattern)
		return true;
	/* As far as the text is what stands there. */
	if (bytes_equal(text, node->value))
		at += fault.at + !node->is_plain;
	text_error(&compile->reader.source, at,
		   "no regular expression: %s, at its byte %zu", fault.why,
		   fault.at);
	return false;
}

/* ---- names ---- */

bool compile_is_header(struct bytes name)
{
	for (size_t i = 0; i < name.len; i++) {
		uint8_t c = name.data[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
		    !(c >= '0' && c <= '9') && !(c && strchr(TCHARS, c)))
			return false;
	}
	return name.len > 0;
}

/* What no rule gets to see: it is the gateway's own (RFC 9110 7.6.1). */
static bool is_unseen(struct bytes name)
{
	static const char *const names[] = {
		"host",
		"content-length",
		"transfer-encoding",
		"connection",
		"keep-alive",
		"proxy-connection",
		"te",
		"proxy-authorization",
		"upgrade",
		"trailer",
		"expect",
		"http2-settings",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (bytes_is_nocase(name, names[i]))
			return true;
	return false;
}

static bool read_name(struct compile *compile, const struct text_node *node,
		      bool is_header, struct bytes *name)
{
	struct text_node key = {
		.kind = TEXT_SCALAR, .at = node->key_at, .value = node->key};

	if (!reader_word(&compile->reader, &key, name))
		return false;
	if (is_header && !compile_is_header(*name))
		return reader_error(&compile->reader, &key,
				    "this is no header's name");
	if (is_header && is_unseen(*name))
		return reader_error(&compile->reader, &key,
				    "rules do not see this header");
	return true;
}

static bool is_twice(const struct policy_match *items, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes_equal_nocase(items[i].name, items[count].name))
			return true;
	return false;
}

void *compile_named(struct compile *compile, const struct text_node *node,
		    size_t size)
{
	void *items;

	if (!reader_kind(&compile->reader, node, TEXT_MAP))
		return NULL;
	if (node->count == 0 || node->count > POLICY_MATCHES_MAX) {
		(void)reader_error(&compile->reader, node,
				   "this must have 1 to %d names",
				   POLICY_MATCHES_MAX);
		return NULL;
	}
	items = arena_array(compile->reader.arena, node->count, size);
	if (!items)
		(void)reader_error(&compile->reader, node,
				   "the text is too large to be read");
	return items;
}

void compile_matches(struct compile *compile, const struct text_node *node,
		     bool is_header, struct policy_matches *matches)
{
	struct policy_match *items =
		compile_named(compile, node, sizeof(*items));
	size_t count = 0;

	if (!items)
		return;
	for (const struct text_node *item = node->first; item;
	     item = item->next) {
		if (!read_name(compile, item, is_header, &items[count].name) ||
		    !compile_pattern(compile, item, &items[count].pattern))
			continue;
		if (is_twice(items, count))
			text_error(&compile->reader.source, item->key_at,
				   "this name stands here twice");
		count++;
	}
	*matches = (struct policy_matches){items, count};
}
