/* Secrets in a request, however its strings are written. */
#include <string.h>

#include "policies/inspect/graphql.h"
#include "policies/inspect/json.h"
#include "policies/inspect/parts.h"
#include "policies/inspect/secrets.h"
#include "policies/inspect/unwrap.h"

#define ROOM 4096

struct search {
	struct secret_scan *scan;
	const char *found; /* the first */
};

/* A text of its own. */
static void end_text(struct search *search)
{
	const char *found = secret_scan_end(search->scan);

	if (!search->found)
		search->found = found;
}

/* A line of a text: what names a token may stand before it. */
static void feed_line(struct search *search, struct bytes line)
{
	(void)secret_scan_feed(search->scan, line);
	(void)secret_scan_feed(search->scan, bytes_str("\n"));
}

static void search_raw(struct search *search, struct bytes text)
{
	(void)secret_scan_feed(search->scan, text);
	end_text(search);
}

/* With every escape decoded that is one: of forms, queries and anything
 * that may be read as such. */
static void search_escaped(struct search *search, struct bytes text)
{
	uint8_t room[ROOM];
	size_t len = 0;

	if (bytes_find(text, '%', 0) < 0)
		return;
	for (size_t i = 0; i < text.len && !search->found; i++) {
		struct bytes digits = bytes_slice(text, i + 1, i + 3);
		uint8_t c = text.data[i];
		uint8_t escaped;

		if (c == '%' && digits.len == 2 &&
		    bytes_from_hex(digits, &escaped) == 0) {
			c = escaped;
			i += 2;
		}
		room[len++] = c;
		if (len < ROOM)
			continue;
		(void)secret_scan_feed(search->scan, bytes_from(room, len));
		len = 0;
	}
	search_raw(search, bytes_from(room, len));
}

/* Keys and strings; json_read() bounds the depth. */
static void feed_json(struct search *search, json_t *json)
{
	const char *key;
	size_t key_len;
	json_t *value;
	size_t i;

	if (json_is_string(json))
		feed_line(search, bytes_from(json_string_value(json),
					     json_string_length(json)));
	json_array_foreach(json, i, value)
	{
		feed_json(search, value);
	}
	json_object_keylen_foreach(json, key, key_len, value)
	{
		feed_line(search, bytes_from(key, key_len));
		feed_json(search, value);
	}
}

static void search_graphql(struct search *search, struct inspection *inspection)
{
	const struct inspected_graphql *asked;
	size_t count;

	asked = inspection_graphql(inspection, &count);
	for (size_t i = 0; asked && i < count; i++) {
		struct bytes string;
		size_t at = 0;

		while (graphql_string(asked[i].document, &at, &string))
			feed_line(search, string);
	}
	/* Of the URL; a body's are in its JSON. */
	if (inspection->variables)
		feed_json(search, inspection->variables);
	end_text(search);
}

/* The byte that a JSON escape means (RFC 8259 7), and its length. Tokens are
 * ASCII: what lies beyond is a blank. What is no escape is as it stands. */
static uint8_t unescape(struct bytes text, size_t *len)
{
	static const char names[] = "bfnrt";
	static const char bytes[] = "\b\f\n\r\t";
	struct bytes digits = bytes_slice(text, 2, 6);
	const char *name;
	uint8_t code[2];

	*len = 1;
	if (text.len < 2 || text.data[0] != '\\')
		return text.data[0];
	*len = 2;
	name = memchr(names, text.data[1], sizeof(names) - 1);
	if (name)
		return (uint8_t)bytes[name - names];
	if (text.data[1] != 'u' || digits.len != 2 * sizeof(code) ||
	    bytes_from_hex(digits, code))
		return text.data[1];
	*len += digits.len;
	return code[0] ? ' ' : code[1];
}

/* Lines of JSON, and what a server may read as JSON that we do not. */
static void search_unescaped(struct search *search, struct bytes text)
{
	uint8_t room[ROOM];
	size_t len = 0;

	if (bytes_find(text, '\\', 0) < 0)
		return;
	while (text.len && !search->found) {
		size_t took;

		room[len++] = unescape(text, &took);
		text = bytes_slice(text, took, text.len);
		if (len < ROOM)
			continue;
		(void)secret_scan_feed(search->scan, bytes_from(room, len));
		len = 0;
	}
	search_raw(search, bytes_from(room, len));
}

/* Who decodes a text once may do so again, in any of these ways: each time
 * is a text of its own. */
static void search_unwrapped(struct search *search, struct bytes text)
{
	struct unwrap unwrap = {.may_go_on = unwrap_is_wrapped(text)};

	for (size_t rounds = 1;
	     rounds <= UNWRAP_ROUNDS_MAX && !search->found && unwrap.may_go_on;
	     rounds++) {
		struct bytes rest = text;
		uint8_t room[ROOM];

		unwrap_begin(&unwrap, rounds);
		while (rest.len) {
			size_t len = unwrap_some(&unwrap, &rest, room, ROOM);

			(void)secret_scan_feed(search->scan,
					       bytes_from(room, len));
		}
		search_raw(search, bytes_from(room, unwrap_end(&unwrap, room)));
	}
}

/* What says that it is JSON must be; what looks like it may be. */
static const char *search_json(struct search *search,
			       struct inspection *inspection)
{
	struct bytes content = inspection->body.content;
	bool is_said =
		inspection->is_typed && media_is_json(&inspection->media);
	json_t *json;

	if (content.len == 0)
		return NULL;
	json = is_said ? json_incref(inspection_json(inspection))
		       : json_read(content);
	if (!json) {
		search_unescaped(search, content);
		return is_said ? "the body is not sound JSON" : NULL;
	}
	feed_json(search, json);
	end_text(search);
	json_decref(json);
	return NULL;
}

static const char *search_all(struct search *search,
			      struct inspection *inspection)
{
	struct bytes content = inspection->body.content;
	const char *fault;

	search_raw(search, inspection->source.query);
	search_escaped(search, inspection->source.query);
	search_raw(search, content);
	search_escaped(search, content);
	/* What is packed has room for words beside it (gzip's comment). */
	if (content.data != inspection->source.body.data)
		search_raw(search, inspection->source.body);
	search_unwrapped(search, inspection->source.query);
	search_unwrapped(search, content);
	fault = search_json(search, inspection);
	search_graphql(search, inspection);
	return search->found ? NULL : fault;
}

static const char *read_secret(struct inspection *inspection)
{
	const struct secret_look look = {
		.prints = inspection->source.prints,
		.exempt = inspection->source.exempt,
		.exempt_count = inspection->source.exempt_count,
		.exempt_digest = inspection->source.exempt_digest};
	struct search search = {0};
	const char *fault;
	struct err err;

	search.scan = secret_scan_open(&look, &err);
	if (!search.scan)
		return "secrets cannot be looked for here";
	fault = search_all(&search, inspection);
	secret_scan_close(search.scan);
	if (search.found) {
		/* The prints may be gone when it is told. */
		(void)snprintf(inspection->secret_name,
			       sizeof(inspection->secret_name), "%s",
			       search.found);
		inspection->secret = inspection->secret_name;
	}
	return fault;
}

const char *inspection_secret(struct inspection *inspection)
{
	if (inspection_first(inspection, INSPECT_SECRET, 0)) {
		const char *fault = read_secret(inspection);

		inspection_answered(inspection, INSPECT_SECRET, fault);
	}
	return inspection->secret;
}
