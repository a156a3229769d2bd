/*
 * From HTTP/1.1, as our own stages write it, to HEADERS, DATA and trailers.
 */
#include "common/cleanup.h"
#include "gateway/h2/inside.h"
#include "gateway/http/trailers.h"

#define LENGTH_DIGITS_SIZE 24
/* Beside a head's fields: pseudo-fields, a length, TE. */
#define LINES_SPARE 8

struct lines {
	nghttp2_nv *items;
	size_t count;
	struct arena *arena;
	bool is_short; /* of memory */
};

static void lines_begin(struct lines *lines, struct arena *arena, size_t fields)
{
	*lines = (struct lines){.arena = arena};
	lines->items =
		arena_array(arena, fields + LINES_SPARE, sizeof(*lines->items));
	lines->is_short = !lines->items;
}

/* Both are copied by nghttp2 when they are submitted. */
static void lines_add(struct lines *lines, struct bytes name,
		      struct bytes value)
{
	uint8_t *lower;

	if (lines->is_short)
		return;
	lower = arena_alloc(lines->arena, name.len + 1);
	lines->is_short = !lower;
	if (!lower)
		return;
	for (size_t i = 0; i < name.len; i++) {
		uint8_t c = name.data[i];

		lower[i] = c >= 'A' && c <= 'Z' ? (uint8_t)(c | 0x20) : c;
	}
	lines->items[lines->count++] = (nghttp2_nv){
		.name = lower,
		.namelen = name.len,
		.value = (uint8_t *)(uintptr_t)value.data,
		.valuelen = value.len,
	};
}

static void lines_add_str(struct lines *lines, const char *name,
			  struct bytes value)
{
	lines_add(lines, bytes_str(name), value);
}

static void lines_add_number(struct lines *lines, const char *name,
			     uint64_t number)
{
	const char *text =
		arena_format(lines->arena, "%llu", (unsigned long long)number);

	lines->is_short |= !text;
	lines_add_str(lines, name, bytes_str(text));
}

static void lines_add_fields(struct lines *lines, const struct fields *fields)
{
	for (size_t i = 0; i < fields->count; i++)
		lines_add(lines, fields->items[i].name, fields->items[i].value);
}

/* ---- the body ---- */

static void submit_trailers(struct h2_stream *stream, uint32_t *flags)
{
	struct fields trailers;
	struct lines lines;

	arena_reset(&stream->arena_out);
	if (!stream->session->is_server ||
	    trailers_read(&stream->arena_out, buf_view(&stream->trailer),
			  &trailers) < 0 ||
	    trailers.count == 0)
		return;
	lines_begin(&lines, &stream->arena_out, trailers.count);
	lines_add_fields(&lines, &trailers);
	if (!lines.is_short &&
	    nghttp2_submit_trailer(stream->session->ng, stream->id, lines.items,
				   lines.count) == 0)
		*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
}

/* Up to size bytes of payload into out; how many. */
static size_t decode_some(struct h2_stream *stream, uint8_t *out, size_t size,
			  enum body_result *result)
{
	struct buf *in = io_in(stream->io);
	size_t got = 0, before;

	do {
		struct bytes input = bytes_slice(buf_view(in), 0, size - got);
		struct bytes payload;

		before = input.len;
		*result = body_decode(&stream->decoder, &input, &payload);
		if (payload.len > 0)
			memcpy(out + got, payload.data, payload.len);
		got += payload.len;
		buf_consume(in, before - input.len);
		before -= input.len;
	} while (*result == BODY_MORE && before > 0 && got < size);
	return got;
}

/* nghttp2's signature. */
#define BODY_READER(name)                                                      \
	static ssize_t name(nghttp2_session *ng, int32_t id, uint8_t *out,     \
			    size_t size, uint32_t *flags,                      \
			    nghttp2_data_source *source, void *user)

BODY_READER(read_body)
{
	struct h2_stream *stream = source->ptr;
	enum body_result result;
	size_t got;

	(void)ng;
	(void)id;
	(void)user;
	/* The other side went away, or its body is not one. */
	if (stream->out == OUT_DONE)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	got = decode_some(stream, out, size, &result);
	if (result == BODY_END || (got == 0 && stream->is_eof &&
				   body_decoder_may_end(&stream->decoder))) {
		stream->out = OUT_DONE;
		*flags |= NGHTTP2_DATA_FLAG_EOF;
		submit_trailers(stream, flags);
		return (ssize_t)got;
	}
	if (result == BODY_INVALID || (got == 0 && stream->is_eof))
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	return got > 0 ? (ssize_t)got : NGHTTP2_ERR_DEFERRED;
}

/* ---- the head ---- */

void h2_stream_expect_head(struct h2_stream *stream)
{
	stream->out = OUT_HEAD;
	guard_init(&stream->guard,
		   stream->session->is_server ? GUARD_RESPONSE : GUARD_REQUEST);
	stream->guard.may_switch = stream->is_websocket;
}

static bool has_body(enum framing framing, uint64_t len)
{
	return framing != FRAMING_NONE &&
	       (framing != FRAMING_LENGTH || len > 0);
}

static void expect_body(struct h2_stream *stream, enum framing framing,
			uint64_t len)
{
	body_decoder_init(&stream->decoder, framing, len);
	stream->decoder.keep = &stream->trailer;
	stream->out = has_body(framing, len) ? OUT_BODY : OUT_DONE;
}

/* curl takes nothing in any more once it has a response of known length, and
 * so never ends a request that is longer than its window: git hangs then. As
 * long as the lane reads such a request, the answer waits for its end. */
static bool must_wait(struct h2_stream *stream, const struct response *response)
{
	if (response->framing != FRAMING_LENGTH || !stream->has_data ||
	    stream->is_websocket || stream->in_ended || stream->is_late ||
	    io_pair_is_alone(stream->io))
		return false;
	io_deadline(stream->io, H2_LINGER_MS);
	return true;
}

/* RFC 8441 section 5: 200 stands for 101, so no other answer may be one. */
static int open_websocket(struct response *response)
{
	if (!response->is_websocket)
		return response->status >= 200 && response->status < 300 ? -1
									 : 0;
	response->status = 200;
	response->framing = FRAMING_TO_CLOSE;
	fields_remove(&response->fields, "Sec-WebSocket-Accept");
	return 0;
}

/* 0; 1: later; -1. */
static int respond(struct h2_stream *stream, struct response *response)
{
	nghttp2_session *ng = stream->session->ng;
	nghttp2_data_provider body = {{.ptr = stream}, read_body};
	struct lines lines;

	if (must_wait(stream, response))
		return 1;
	if (stream->is_websocket && open_websocket(response) < 0)
		return -1;
	lines_begin(&lines, &stream->arena_out, response->fields.count);
	lines_add_number(&lines, ":status", response->status);
	lines_add_fields(&lines, &response->fields);
	if (response->framing == FRAMING_LENGTH ||
	    (response->framing == FRAMING_NONE && response->body_len > 0))
		lines_add_number(&lines, "content-length", response->body_len);
	if (lines.is_short)
		return -1;
	if (response->status < 200) {
		h2_stream_expect_head(stream);
		return nghttp2_submit_headers(ng, NGHTTP2_FLAG_NONE, stream->id,
					      NULL, lines.items, lines.count,
					      NULL);
	}
	expect_body(stream, response->framing, response->body_len);
	return nghttp2_submit_response(ng, stream->id, lines.items, lines.count,
				       stream->out == OUT_BODY ? &body : NULL);
}

static struct bytes authority_of(struct h2_stream *stream,
				 const struct request *request)
{
	if (request->port == 0)
		return request->host;
	return bytes_str(arena_format(&stream->arena_out, "%.*s:%u",
				      BYTES_ARGS(request->host),
				      request->port));
}

static void add_request_lines(struct h2_stream *stream, struct lines *lines,
			      const struct request *request)
{
	lines_add_str(lines, ":method", request->method);
	lines_add_str(lines, ":scheme", bytes_str("https"));
	lines_add_str(lines, ":authority", authority_of(stream, request));
	lines_add_str(lines, ":path", request->raw_path);
	lines_add_fields(lines, &request->fields);
	if (request->framing == FRAMING_LENGTH)
		lines_add_number(lines, "content-length", request->body_len);
	if (request->takes_trailers)
		lines_add_str(lines, "te", bytes_str("trailers"));
}

static int ask(struct h2_stream *stream, const struct request *request)
{
	nghttp2_data_provider body = {{.ptr = stream}, read_body};
	struct bytes method = bytes_slice(request->method, 0, GUARD_METHOD_MAX);
	struct lines lines;
	int32_t id;

	memcpy(stream->method, method.data, method.len);
	lines_begin(&lines, &stream->arena_out, request->fields.count);
	add_request_lines(stream, &lines, request);
	if (lines.is_short)
		return -1;
	expect_body(stream, request->framing, request->body_len);
	id = nghttp2_submit_request(
		stream->session->ng, NULL, lines.items, lines.count,
		stream->out == OUT_BODY ? &body : NULL, stream);
	if (id < 0)
		return -1;
	stream->id = id;
	return 0;
}

static int pass_head(struct h2_stream *stream, struct bytes head)
{
	struct bytes authorization;
	struct http_fault fault;
	struct response response;
	struct request request;

	arena_reset(&stream->arena_out);
	if (stream->session->is_server)
		return head_response(&stream->arena_out, &stream->guard, head,
				     bytes_str(stream->method), &response,
				     &fault) < 0
			       ? -1
			       : respond(stream, &response);
	return head_request(&stream->arena_out, &stream->guard, head, &request,
			    &authorization, &fault) < 0
		       ? -1
		       : ask(stream, &request);
}

/* True: a head was passed on, and there may be another. */
static bool pull_head(struct h2_stream *stream)
{
	struct buf *in = io_in(stream->io);
	enum guard_result result;
	int passed = -1;
	size_t len;

	result = guard_scan(&stream->guard, buf_view(in), &len);
	if (result == GUARD_MORE && !stream->is_eof)
		return false;
	if (result == GUARD_COMPLETE)
		passed = pass_head(stream, bytes_slice(buf_view(in), 0, len));
	if (passed > 0)
		return false;
	if (passed < 0) {
		stream->out = OUT_DONE;
		h2_stream_reset(stream, stream->session->is_server
						? NGHTTP2_INTERNAL_ERROR
						: NGHTTP2_CANCEL);
		return false;
	}
	buf_consume(in, len);
	return stream->out == OUT_HEAD;
}

void h2_stream_pull(struct h2_stream *stream)
{
	while (stream->out == OUT_HEAD && pull_head(stream))
		continue;
	/* Whose reader has left is not answered. */
	if (stream->session && stream->is_eof && !stream->session->is_server)
		h2_stream_reset(stream, NGHTTP2_CANCEL);
	else if (stream->session && stream->out == OUT_BODY)
		(void)nghttp2_session_resume_data(stream->session->ng,
						  stream->id);
}
