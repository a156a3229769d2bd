#include "gateway/h2/section.h"

#include "common/cleanup.h"
#include "gateway/h2/h2.h"
#include "gateway/http/trailers.h"
#include "gateway/http/write.h"

#define FIELD_OVERHEAD 32 /* RFC 9113 6.5.2 */
/* Pseudo-fields and those we add. */
#define FIELDS_SPARE 8
/* Of the handshake in HTTP/1.1, between us and our own lane: RFC 8441 has
 * none. */
#define INNER_KEY "AAAAAAAAAAAAAAAAAAAAAA=="

static const struct {
	struct bytes name;
	enum section_kind kind;
} pseudos[PSEUDO_MAX] = {
	[PSEUDO_METHOD] = {BYTES_LITERAL(":method"), SECTION_REQUEST},
	[PSEUDO_SCHEME] = {BYTES_LITERAL(":scheme"), SECTION_REQUEST},
	[PSEUDO_AUTHORITY] = {BYTES_LITERAL(":authority"), SECTION_REQUEST},
	[PSEUDO_PATH] = {BYTES_LITERAL(":path"), SECTION_REQUEST},
	[PSEUDO_PROTOCOL] = {BYTES_LITERAL(":protocol"), SECTION_REQUEST},
	[PSEUDO_STATUS] = {BYTES_LITERAL(":status"), SECTION_RESPONSE},
};

void section_begin(struct section *section, enum section_kind kind,
		   struct arena *arena)
{
	*section = (struct section){.kind = kind, .arena = arena};
	section->fields.room = HEAD_FIELDS_MAX + FIELDS_SPARE;
	section->fields.items = arena_array(arena, section->fields.room,
					    sizeof(*section->fields.items));
	if (!section->fields.items)
		section_refuse(section, CONSTRAINT_internal, "memory is out");
}

void section_refuse(struct section *section, enum constraint constraint,
		    const char *reason)
{
	if (section->fault.constraint == CONSTRAINT_none)
		section->fault = (struct http_fault){constraint, reason};
}

static void malformed(struct section *section, const char *reason)
{
	section_refuse(section,
		       section->kind == SECTION_REQUEST
			       ? CONSTRAINT_request_malformed
			       : CONSTRAINT_response_malformed,
		       reason);
}

static struct bytes keep(struct section *section, struct bytes text)
{
	static const struct bytes empty = BYTES_LITERAL("");
	struct bytes copy = arena_copy(section->arena, text);

	if (text.len == 0)
		return empty;
	if (!copy.data)
		section_refuse(section, CONSTRAINT_internal, "memory is out");
	return copy;
}

static void add_pseudo(struct section *section, struct bytes name,
		       struct bytes value)
{
	enum pseudo i = PSEUDO_METHOD;

	while (i < PSEUDO_MAX && !bytes_equal(name, pseudos[i].name))
		i++;
	if (i == PSEUDO_MAX || pseudos[i].kind != section->kind)
		malformed(section, "a pseudo-field does not belong here");
	else if (section->pseudo[i].data)
		malformed(section, "a pseudo-field is there twice");
	else if (section->fields.count > 0 || section->host.data)
		malformed(section, "a pseudo-field follows a field");
	else
		section->pseudo[i] = keep(section, value);
}

/* RFC 9113 8.2.2 */
static bool is_of_a_connection(struct bytes name)
{
	static const char *const names[] = {"connection", "keep-alive",
					    "proxy-connection", "upgrade",
					    "transfer-encoding"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (bytes_is(name, names[i]))
			return true;
	return false;
}

static bool is_lower(struct bytes name)
{
	for (size_t i = 0; i < name.len; i++)
		if (name.data[i] >= 'A' && name.data[i] <= 'Z')
			return false;
	return http_is_token(name);
}

static void take_host(struct section *section, struct bytes value)
{
	if (section->host.data)
		malformed(section, "there are two Host fields");
	section->host = keep(section, value);
}

static void take_te(struct section *section, struct bytes value)
{
	if (!bytes_is_nocase(value, "trailers"))
		malformed(section, "TE is not trailers");
	section->takes_trailers = true;
}

static void add_regular(struct section *section, struct bytes name,
			struct bytes value)
{
	if (!is_lower(name))
		malformed(section, "a field name is not in lower case");
	else if (!http_is_value(value) || bytes_trim(value).len != value.len)
		malformed(section, "a field value has bytes that it may not");
	else if (is_of_a_connection(name))
		malformed(section, "a field is one of HTTP/1.1's connections");
	else if (section->kind == SECTION_REQUEST && bytes_is(name, "host"))
		take_host(section, value);
	else if (section->kind == SECTION_REQUEST && bytes_is(name, "te"))
		take_te(section, value);
	else if (section->fields.count >= HEAD_FIELDS_MAX)
		section_refuse(section, CONSTRAINT_request_too_large,
			       "there are more than 100 fields");
	else
		(void)fields_add(&section->fields, keep(section, name),
				 keep(section, value));
	section->has_length |= bytes_is(name, "content-length");
}

void section_add(struct section *section, struct bytes name, struct bytes value)
{
	section->bytes += name.len + value.len + FIELD_OVERHEAD;
	if (section->bytes > H2_SECTION_MAX) {
		section_refuse(section,
			       section->kind == SECTION_REQUEST
				       ? CONSTRAINT_request_too_large
				       : CONSTRAINT_response_malformed,
			       "the head is longer than its bound");
		return;
	}
	/* What is refused is not kept; trailers are, if they pass. */
	if (section->fault.constraint != CONSTRAINT_none ||
	    (section->kind == SECTION_TRAILERS && !trailer_passes(name)))
		return;
	if (name.len > 0 && name.data[0] == ':')
		add_pseudo(section, name, value);
	else
		add_regular(section, name, value);
}

/* ---- a request ---- */

/* RFC 8441 section 4 and 5. */
static void check_protocol(struct section *section, bool is_whole)
{
	const struct bytes *pseudo = section->pseudo;

	if (!bytes_is(pseudo[PSEUDO_METHOD], "CONNECT"))
		malformed(section, ":protocol is CONNECT's alone");
	else if (!bytes_is(pseudo[PSEUDO_PROTOCOL], "websocket"))
		section_refuse(section, CONSTRAINT_upgrade_not_supported,
			       "of all protocols a WebSocket alone is served");
	else if (is_whole || section->has_length)
		malformed(section, "a WebSocket has no length");
	section->is_websocket = true;
}

static void check_method(struct section *section, struct bytes method)
{
	if (bytes_is(method, "CONNECT"))
		section_refuse(section, CONSTRAINT_method_unknown,
			       "there is no CONNECT inside a connection");
	else if (!http_is_token(method))
		malformed(section, "the method is not one");
}

static void check_request(struct section *section, bool is_whole)
{
	const struct bytes *pseudo = section->pseudo;
	struct bytes path = pseudo[PSEUDO_PATH];

	if (pseudo[PSEUDO_PROTOCOL].data)
		check_protocol(section, is_whole);
	else
		check_method(section, pseudo[PSEUDO_METHOD]);
	if (!bytes_is(pseudo[PSEUDO_SCHEME], "https"))
		malformed(section, "the scheme is not https");
	if (!http_is_target(path) || path.data[0] != '/')
		malformed(section, "the path is not one");
	if (!section->pseudo[PSEUDO_AUTHORITY].data)
		section->pseudo[PSEUDO_AUTHORITY] = section->host;
	else if (section->host.data &&
		 !bytes_equal(section->host, pseudo[PSEUDO_AUTHORITY]))
		malformed(section, "Host and :authority differ");
	if (!http_is_target(section->pseudo[PSEUDO_AUTHORITY]))
		malformed(section, "there is no authority");
}

/* RFC 9113 8.2.3: cookies that came apart are one again. */
static int write_cookies(const struct section *section, struct buf *out)
{
	bool is_first = true;

	for (size_t i = 0; i < section->fields.count; i++) {
		const struct field *field = &section->fields.items[i];

		if (!bytes_is(field->name, "cookie"))
			continue;
		if (buf_add_str(out, is_first ? "cookie: " : "; ") < 0 ||
		    buf_add(out, field->value) < 0)
			return -1;
		is_first = false;
	}
	return is_first ? 0 : buf_add_str(out, "\r\n");
}

static int write_fields(const struct section *section, struct buf *out)
{
	for (size_t i = 0; i < section->fields.count; i++) {
		const struct field *field = &section->fields.items[i];

		if (section->kind == SECTION_REQUEST &&
		    bytes_is(field->name, "cookie"))
			continue;
		if (section->is_websocket &&
		    bytes_is(field->name, "sec-websocket-key"))
			continue;
		if (write_field(out, field->name, field->value) < 0)
			return -1;
	}
	return 0;
}

static int write_request_start(const struct section *section, struct buf *out)
{
	static const struct bytes host = BYTES_LITERAL("host");
	struct bytes method = section->is_websocket
				      ? bytes_str("GET")
				      : section->pseudo[PSEUDO_METHOD];

	if (buf_add(out, method) < 0 || buf_add_byte(out, ' ') < 0 ||
	    buf_add(out, section->pseudo[PSEUDO_PATH]) < 0 ||
	    buf_add_str(out, " HTTP/1.1\r\n") < 0)
		return -1;
	return write_field(out, host, section->pseudo[PSEUDO_AUTHORITY]);
}

/* What the head says of what comes behind it. */
static int write_rest(const struct section *section, enum framing framing,
		      struct buf *out)
{
	if (section->is_websocket)
		return buf_add_str(out, "connection: Upgrade\r\n"
					"upgrade: websocket\r\n"
					"sec-websocket-key: " INNER_KEY "\r\n");
	if (section->takes_trailers && buf_add_str(out, "te: trailers\r\n") < 0)
		return -1;
	return framing == FRAMING_CHUNKED ? write_framing(out, framing, 0) : 0;
}

int section_write_request(struct section *section, bool is_whole,
			  struct buf *out, enum framing *framing)
{
	if (section->fault.constraint == CONSTRAINT_none)
		check_request(section, is_whole);
	*framing = section->is_websocket ? FRAMING_TO_CLOSE
		   : section->has_length ? FRAMING_LENGTH
		   : is_whole		 ? FRAMING_NONE
					 : FRAMING_CHUNKED;
	if (section->fault.constraint != CONSTRAINT_none)
		return -1;
	if (write_request_start(section, out) < 0 ||
	    write_fields(section, out) < 0 || write_cookies(section, out) < 0 ||
	    write_rest(section, *framing, out) < 0 || write_end(out) < 0) {
		section_refuse(section, CONSTRAINT_request_too_large,
			       "the head is longer than its bound");
		return -1;
	}
	return 0;
}

/* ---- a response ---- */

unsigned section_status(const struct section *section)
{
	struct bytes text = section->pseudo[PSEUDO_STATUS];
	uint64_t status;

	if (text.len != 3 || bytes_to_u64(text, 3, &status) < 0 ||
	    status < 100 || status > 599)
		return 0;
	return (unsigned)status;
}

/* Content-Length stays as it came: the guard reads it. gRPC's trailers need
 * chunks. */
static enum framing frame_response(const struct section *section,
				   struct bytes method, bool is_whole)
{
	unsigned status = section_status(section);

	if (status < 200 || status == 204 || status == 304 ||
	    bytes_is(method, "HEAD"))
		return FRAMING_NONE;
	if (section->has_length)
		return FRAMING_LENGTH;
	return is_whole ? FRAMING_LENGTH : FRAMING_CHUNKED;
}

int section_write_response(struct section *section, struct bytes method,
			   bool is_whole, struct buf *out,
			   enum framing *framing)
{
	bool must_say;

	*framing = frame_response(section, method, is_whole);
	if (section_status(section) == 0)
		malformed(section, "the status is not from 100 to 599");
	if (section->fault.constraint != CONSTRAINT_none)
		return -1;
	must_say = *framing != FRAMING_NONE && !section->has_length;
	if (buf_add_str(out, "HTTP/1.1 ") < 0 ||
	    buf_add(out, section->pseudo[PSEUDO_STATUS]) < 0 ||
	    buf_add_str(out, " \r\n") < 0 || write_fields(section, out) < 0 ||
	    (must_say && write_framing(out, *framing, 0) < 0) ||
	    write_end(out) < 0) {
		section_refuse(section, CONSTRAINT_response_malformed,
			       "the head is longer than its bound");
		return -1;
	}
	return 0;
}
