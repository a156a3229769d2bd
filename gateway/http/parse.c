#include "gateway/http/parse.h"

#include <assert.h>

#include "common/cleanup.h"
#include "gateway/http/head.h"

/* What the callbacks work on. */
struct parse {
	struct parsed_head *parsed;
	struct field field; /* the one that is being read */
	size_t seen;	    /* complete fields */
	bool is_complete;
};

static int on_start(llhttp_t *parser, const char *at, size_t len)
{
	struct parse *parse = parser->data;

	parse->parsed->start = bytes_from(at, len);
	return 0;
}

static int on_name(llhttp_t *parser, const char *at, size_t len)
{
	struct parse *parse = parser->data;

	parse->field.name = bytes_from(at, len);
	return 0;
}

static int on_value(llhttp_t *parser, const char *at, size_t len)
{
	struct parse *parse = parser->data;

	parse->field.value = bytes_trim(bytes_from(at, len));
	return 0;
}

/* What becomes of a field. */
enum place {
	PLACE_FIELDS, /* it goes with the message */
	PLACE_NONE,   /* ends at this hop (RFC 9110 7.6.1), or delimits it */
	PLACE_HOST,
	PLACE_TE,
	PLACE_PROXY_AUTHORIZATION,
};

struct placed {
	struct bytes name;
	enum place place;
};

/* By length: at most this many of one. */
#define PLACED_MAX 2
static const struct placed placed[][PLACED_MAX] = {
	[2] = {{BYTES_LITERAL("te"), PLACE_TE}},
	[4] = {{BYTES_LITERAL("host"), PLACE_HOST}},
	[6] = {{BYTES_LITERAL("expect"), PLACE_NONE}},
	[7] = {{BYTES_LITERAL("upgrade"), PLACE_NONE},
	       {BYTES_LITERAL("trailer"), PLACE_NONE}},
	[10] = {{BYTES_LITERAL("connection"), PLACE_NONE},
		{BYTES_LITERAL("keep-alive"), PLACE_NONE}},
	[14] = {{BYTES_LITERAL("content-length"), PLACE_NONE},
		{BYTES_LITERAL("http2-settings"), PLACE_NONE}},
	[17] = {{BYTES_LITERAL("transfer-encoding"), PLACE_NONE}},
	[19] = {{BYTES_LITERAL("proxy-authorization"),
		 PLACE_PROXY_AUTHORIZATION}},
};

static enum place place_of(struct bytes name)
{
	static const struct bytes proxy = BYTES_LITERAL("proxy-");
	const struct placed *row;

	if (name.len < ARRAY_SIZE(placed)) {
		row = placed[name.len];
		for (size_t i = 0; i < PLACED_MAX && row[i].name.len; i++)
			if (bytes_equal_nocase(name, row[i].name))
				return row[i].place;
	}
	return name.len >= proxy.len && (name.data[0] | 0x20) == 'p' &&
			       bytes_same_nocase(name.data, proxy.data,
						 proxy.len)
		       ? PLACE_NONE
		       : PLACE_FIELDS;
}

static int on_field(llhttp_t *parser)
{
	struct parse *parse = parser->data;
	struct parsed_head *parsed = parse->parsed;
	struct field field = parse->field;

	parse->field = (struct field){{NULL, 0}, {NULL, 0}};
	parse->seen++;
	switch (place_of(field.name)) {
	case PLACE_FIELDS:
		return fields_add(&parsed->fields, field.name, field.value);
	case PLACE_HOST:
		parsed->host = field.value;
		break;
	case PLACE_TE:
		parsed->takes_trailers |=
			bytes_is_nocase(field.value, "trailers");
		break;
	case PLACE_PROXY_AUTHORIZATION:
		parsed->proxy_authorization = field.value;
		parsed->proxy_authorizations++;
		break;
	case PLACE_NONE:
		break;
	}
	return 0;
}

static int on_complete(llhttp_t *parser)
{
	struct parse *parse = parser->data;

	parse->is_complete = true;
	return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
	.on_url = on_start,
	.on_status = on_start,
	.on_header_field = on_name,
	.on_header_value = on_value,
	.on_header_value_complete = on_field,
	.on_headers_complete = on_complete,
};

static int refuse(struct http_fault *fault, const struct guard *guard,
		  const char *reason)
{
	fault->reason = reason;
	fault->constraint = guard->kind == GUARD_RESPONSE
				    ? CONSTRAINT_response_malformed
				    : CONSTRAINT_request_malformed;
	return -1;
}

/* Do both readers of these bytes delimit the body in the same way? */
static bool agrees(const struct guard *guard, const llhttp_t *parser,
		   const struct parse *parse)
{
	const struct guard_facts *facts = &guard->facts;
	bool has_length = parser->flags & F_CONTENT_LENGTH;
	bool is_chunked = parser->flags & F_CHUNKED;

	return parse->seen == guard->fields &&
	       has_length == facts->has_length &&
	       is_chunked == facts->is_chunked &&
	       (!has_length || parser->content_length == facts->length);
}

static int reserve(struct arena *arena, size_t fields, struct bytes head,
		   struct parsed_head *parsed)
{
	size_t room = fields + HEAD_FIELDS_SPARE;

	*parsed = (struct parsed_head){
		.head = arena_copy(arena, head),
		.fields.room = room,
	};
	parsed->fields.items =
		arena_array(arena, room, sizeof(*parsed->fields.items));
	return parsed->head.data && parsed->fields.items ? 0 : -1;
}

int parse_head(struct arena *arena, const struct guard *guard,
	       struct bytes head, struct parsed_head *parsed,
	       struct http_fault *fault)
{
	struct parse parse = {.parsed = parsed};
	llhttp_errno_t result;
	llhttp_t parser;

	assert(guard->scanned == head.len);
	if (reserve(arena, guard->fields, head, parsed) < 0) {
		*fault = (struct http_fault){CONSTRAINT_internal,
					     "memory is out"};
		return -1;
	}
	llhttp_init(&parser,
		    guard->kind == GUARD_REQUEST ? HTTP_REQUEST : HTTP_RESPONSE,
		    &settings);
	parser.data = &parse;
	result = llhttp_execute(&parser, (const char *)parsed->head.data,
				head.len);
	if (result != HPE_PAUSED || !parse.is_complete)
		return refuse(fault, guard, "the head is not strict HTTP/1.1");
	if (!agrees(guard, &parser, &parse))
		return refuse(fault, guard, "the head can be read in two ways");
	parsed->status = parser.status_code;
	return 0;
}
