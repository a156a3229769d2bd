#include "policies/text.h"

#include <libfyaml.h>

#include "common/cleanup.h"
#include "common/utf8.h"

static const char no_memory[] = "the text is too large to be read";

/* ---- before libfyaml: what no part of a text may hold ---- */

static bool is_control(uint8_t c)
{
	return c < 0x20 || c == 0x7f;
}

static bool check_bytes(const struct text_source *source)
{
	struct bytes text = source->bytes;
	size_t valid = utf8_valid_len(text);

	if (text.len > POLICY_TEXT_MAX) {
		text_error(source, 0, "the text is larger than %d bytes",
			   POLICY_TEXT_MAX);
		return false;
	}
	if (valid < text.len) {
		text_error(source, valid, "this is not UTF-8");
		return false;
	}
	for (size_t i = 0; i < text.len; i++) {
		uint8_t c = text.data[i];

		if (is_control(c) && c != '\t' && c != '\n' && c != '\r') {
			text_error(source, i, "control character 0x%02x", c);
			return false;
		}
	}
	return true;
}

/* ---- events to tree ---- */

struct builder {
	const struct text_source *source;
	struct arena *arena;
	struct text_node *root;
	/* The lists and maps that are open, and the last item of each. */
	struct text_node *open[TEXT_DEPTH_MAX];
	struct text_node *last[TEXT_DEPTH_MAX];
	size_t depth;
	struct text_node *keyed; /* a map's item that waits for its value */
	size_t documents;
	size_t at; /* of the last event that stood anywhere */
};

/* Where an event stands; of a value that is not there: where the last one
 * stood. */
static size_t event_at(struct builder *builder, struct fy_event *event)
{
	const struct fy_mark *mark = NULL;

	if (event->type != FYET_SCALAR || fy_event_get_token(event))
		mark = fy_event_start_mark(event);
	if (mark)
		builder->at = mark->input_pos;
	return builder->at;
}

/* libfyaml 0.7 leaks memory for a single-quoted text in which quotes stand
 * side by side; nobody needs one. */
static bool is_leaky(const struct builder *builder, struct fy_token *token)
{
	const struct fy_mark *start = fy_token_start_mark(token);
	const struct fy_mark *end = fy_token_end_mark(token);

	if (fy_token_scalar_style(token) != FYSS_SINGLE_QUOTED || !start ||
	    !end)
		return false;
	return bytes_find_bytes(bytes_slice(builder->source->bytes,
					    start->input_pos, end->input_pos),
				bytes_str("''''"), 0) >= 0;
}

/* The text of a scalar, copied; *lines when it has more than one, which is
 * an error without. -1: told. */
static int scalar_text(struct builder *builder, struct fy_event *event,
		       struct bytes *text, bool *lines)
{
	struct fy_token *token = fy_event_get_token(event);
	size_t len = 0;
	const char *data;

	if (token && is_leaky(builder, token)) {
		text_error(builder->source, event_at(builder, event),
			   "write this in double quotes");
		return -1;
	}
	data = token ? fy_token_get_text(token, &len) : NULL;
	*text = arena_copy(builder->arena, bytes_from(data, data ? len : 0));
	if (data && text->len != len) {
		text_error(builder->source, event_at(builder, event),
			   no_memory);
		return -1;
	}
	for (size_t i = 0; i < text->len; i++) {
		uint8_t c = text->data[i];

		if (lines && (c == '\n' || c == '\t')) {
			*lines = true;
		} else if (is_control(c)) {
			text_error(builder->source, event_at(builder, event),
				   "the value holds control character 0x%02x",
				   c);
			return -1;
		}
	}
	return 0;
}

static bool is_open_map(const struct builder *builder)
{
	return builder->depth &&
	       builder->open[builder->depth - 1]->kind == TEXT_MAP;
}

/* A new item at the end of the innermost list or map; NULL: told. */
static struct text_node *add_item(struct builder *builder, size_t at)
{
	struct text_node *node = arena_alloc(builder->arena, sizeof(*node));
	struct text_node *parent;

	if (!node) {
		text_error(builder->source, at, no_memory);
		return NULL;
	}
	node->at = at;
	if (builder->depth == 0) {
		builder->root = node;
		return node;
	}
	parent = builder->open[builder->depth - 1];
	if (parent->first)
		builder->last[builder->depth - 1]->next = node;
	else
		parent->first = node;
	builder->last[builder->depth - 1] = node;
	parent->count++;
	return node;
}

static int check_key(struct builder *builder, struct bytes key, size_t at)
{
	const struct text_node *map = builder->open[builder->depth - 1];

	for (const struct text_node *item = map->first; item;
	     item = item->next) {
		if (bytes_equal(item->key, key)) {
			text_error(builder->source, at,
				   "\"%.*s\" stands here twice",
				   BYTES_ARGS(key));
			return -1;
		}
	}
	if (map->count < TEXT_KEYS_MAX)
		return 0;
	text_error(builder->source, at, "more than %d keys", TEXT_KEYS_MAX);
	return -1;
}

/* A map's key came: its item waits for the value. */
static int on_key(struct builder *builder, struct fy_event *event)
{
	size_t at = event_at(builder, event);
	struct text_node *item;
	struct bytes key;

	if (event->type != FYET_SCALAR) {
		text_error(builder->source, at, "a key must be a word");
		return -1;
	}
	if (scalar_text(builder, event, &key, NULL) ||
	    check_key(builder, key, at))
		return -1;
	item = add_item(builder, at);
	if (!item)
		return -1;
	item->key = key;
	item->key_at = at;
	builder->keyed = item;
	return 0;
}

static int on_value(struct builder *builder, struct fy_event *event,
		    enum text_kind kind)
{
	struct text_node *node = builder->keyed;

	builder->keyed = NULL;
	if (!node)
		node = add_item(builder, event_at(builder, event));
	if (!node)
		return -1;
	node->kind = kind;
	node->at = event_at(builder, event);
	if (kind == TEXT_SCALAR) {
		struct fy_token *token = fy_event_get_token(event);

		node->is_plain =
			!token || fy_token_scalar_style(token) == FYSS_PLAIN;
		return scalar_text(builder, event, &node->value,
				   &node->has_lines);
	}
	if (builder->depth == TEXT_DEPTH_MAX) {
		text_error(builder->source, node->at,
			   "more than %d levels deep", TEXT_DEPTH_MAX);
		return -1;
	}
	builder->open[builder->depth++] = node;
	return 0;
}

static int on_document(struct builder *builder, struct fy_event *event)
{
	struct fy_document_state *state = event->document_start.document_state;

	if (builder->documents++) {
		text_error(builder->source, event_at(builder, event),
			   "a second document");
		return -1;
	}
	if (state && (fy_document_state_version_explicit(state) ||
		      fy_document_state_tags_explicit(state))) {
		text_error(builder->source, 0, "directives are not accepted");
		return -1;
	}
	return 0;
}

/* Anchors and tags; NULL when there is none. Mostly somebody wants a word that
 * begins so, as *.example.com. */
static const char *refused_property(struct fy_event *event)
{
	if (event->type == FYET_ALIAS)
		return "aliases are not accepted: a value that begins with * "
		       "needs quotes";
	if (fy_event_get_anchor_token(event))
		return "anchors are not accepted: a value that begins with & "
		       "needs quotes";
	return fy_event_get_tag_token(event)
		       ? "tags are not accepted: a value that begins with ! "
			 "needs quotes"
		       : NULL;
}

static int on_node(struct builder *builder, struct fy_event *event,
		   enum text_kind kind)
{
	const char *refused = refused_property(event);

	if (refused) {
		text_error(builder->source, event_at(builder, event), "%s",
			   refused);
		return -1;
	}
	if (is_open_map(builder) && !builder->keyed)
		return on_key(builder, event);
	return on_value(builder, event, kind);
}

static int on_event(struct builder *builder, struct fy_event *event)
{
	switch (event->type) {
	case FYET_DOCUMENT_START:
		return on_document(builder, event);
	case FYET_MAPPING_START:
		return on_node(builder, event, TEXT_MAP);
	case FYET_SEQUENCE_START:
		return on_node(builder, event, TEXT_LIST);
	case FYET_SCALAR:
	case FYET_ALIAS:
		return on_node(builder, event, TEXT_SCALAR);
	case FYET_MAPPING_END:
	case FYET_SEQUENCE_END:
		builder->depth--;
		return 0;
	case FYET_NONE:
	case FYET_STREAM_START:
	case FYET_STREAM_END:
	case FYET_DOCUMENT_END:
		break;
	}
	return 0;
}

/* ---- libfyaml ---- */

/* The offset of libfyaml's line and column, both from 1. */
static size_t offset_of(struct bytes text, int line, int column)
{
	size_t at = 0;

	while (line-- > 1) {
		ptrdiff_t end = bytes_find(text, '\n', at);

		if (end < 0)
			return text.len;
		at = (size_t)end + 1;
	}
	while (column-- > 1 && at < text.len && text.data[at] != '\n')
		at += utf8_len(bytes_slice(text, at, text.len));
	return at;
}

/* What libfyaml has to say about a text that is not YAML. */
static void tell_diag(const struct text_source *source, struct fy_diag *diag)
{
	void *cursor = NULL;
	struct fy_diag_error *error = fy_diag_errors_iterate(diag, &cursor);

	if (error && error->msg)
		text_error(source,
			   offset_of(source->bytes, error->line, error->column),
			   "%s", error->msg);
	else
		text_error(source, 0, "this is not YAML");
}

static int parse_events(struct fy_parser *parser, struct builder *builder)
{
	struct fy_event *event;
	int rc = 0;

	while (rc == 0 && (event = fy_parser_parse(parser))) {
		rc = on_event(builder, event);
		fy_parser_event_free(parser, event);
	}
	return rc;
}

static void cleanup_parser(struct fy_parser **parser)
{
	if (*parser)
		fy_parser_destroy(*parser);
}

static void cleanup_diag(struct fy_diag **diag)
{
	if (*diag)
		fy_diag_destroy(*diag);
}

static int parse(const struct text_source *source, struct builder *builder)
{
	const struct fy_diag_cfg diag_cfg = {.level = FYET_ERROR};
	struct fy_parse_cfg cfg = {.flags = FYPCF_DEFAULT_VERSION_1_2};
	auto_type(cleanup_diag) struct fy_diag *diag =
		fy_diag_create(&diag_cfg);
	auto_type(cleanup_parser) struct fy_parser *parser = NULL;

	if (diag) {
		fy_diag_set_collect_errors(diag, true);
		cfg.diag = diag;
		parser = fy_parser_create(&cfg);
	}
	if (!parser ||
	    fy_parser_set_string(parser, (const char *)source->bytes.data,
				 source->bytes.len)) {
		text_error(source, 0, no_memory);
		return -1;
	}
	if (parse_events(parser, builder))
		return -1;
	if (fy_parser_get_stream_error(parser)) {
		tell_diag(source, diag);
		return -1;
	}
	return 0;
}

struct text_node *text_parse(const struct text_source *source,
			     struct arena *arena)
{
	struct builder builder = {.source = source, .arena = arena};

	if (!check_bytes(source))
		return NULL;
	if (source->bytes.len && parse(source, &builder))
		return NULL;
	if (!builder.root)
		text_error(source, 0, "the text is empty");
	return builder.root;
}

struct text_node *text_child(const struct text_node *map, const char *key)
{
	struct text_node *item = map->kind == TEXT_MAP ? map->first : NULL;

	while (item && !bytes_is(item->key, key))
		item = item->next;
	return item;
}
