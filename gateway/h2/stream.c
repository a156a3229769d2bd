#include <stdlib.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "gateway/h2/inside.h"
#include "gateway/http/trailers.h"

/* ---- life ---- */

struct h2_stream *h2_stream_new(struct h2_session *session)
{
	struct h2_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->session = session;
	arena_init(&stream->arena_in, HEAD_ARENA_BYTES);
	arena_init(&stream->arena_out, HEAD_ARENA_BYTES);
	buf_init(&stream->trailer, GUARD_TRAILER_MAX);
	h2_stream_expect_head(stream);
	DL_APPEND(session->streams, stream);
	session->stream_count++;
	return stream;
}

static void stream_free(struct h2_stream *stream)
{
	arena_release(&stream->arena_in);
	arena_release(&stream->arena_out);
	buf_release(&stream->trailer);
	free(stream);
}

/* The io's peer reads why it failed. */
static void abort_io(struct h2_stream *stream, bool is_server, uint32_t code)
{
	struct err err;

	if (is_server || stream->was_reset)
		err_set(&err, ERR_CLOSED, "the peer ended the stream: %s",
			nghttp2_http2_strerror(code));
	else
		err_set(&err, ERR_INVALID, "%s",
			stream->section.fault.reason
				? stream->section.fault.reason
				: "the upstream breaks HTTP/2");
	io_pair_abort(stream->io, &err);
}

void h2_stream_over(struct h2_stream *stream, uint32_t code)
{
	struct h2_session *session = stream->session;
	bool is_in_order = code == NGHTTP2_NO_ERROR;

	DL_DELETE(session->streams, stream);
	session->stream_count--;
	if (session->is_server)
		session->wide_count -= stream->is_wide;
	stream->session = NULL;
	/* An end behind a head that was refused is none. */
	if (!session->is_server)
		is_in_order = stream->in_ended && stream->in_began;
	if (!stream->io)
		stream_free(stream);
	else if (!is_in_order)
		abort_io(stream, session->is_server, code);
	else if (io_out_len(stream->io) == 0)
		io_close(stream->io);
}

void h2_stream_reset(struct h2_stream *stream, uint32_t code)
{
	struct h2_session *session = stream->session;

	if (stream->id == 0)
		h2_stream_over(stream, code);
	else
		(void)nghttp2_submit_rst_stream(session->ng, NGHTTP2_FLAG_NONE,
						stream->id, code);
}

/* ---- its io ---- */

/* What the reader has taken the peer may send again. */
static void give_back(struct h2_stream *stream)
{
	size_t held = stream->held;

	stream->held = 0;
	if (held > 0 && stream->id > 0)
		(void)nghttp2_session_consume_stream(stream->session->ng,
						     stream->id, held);
}

/* The other side has closed: what it left may still be a whole response. */
static void on_gone(struct h2_stream *stream)
{
	stream->is_eof = true;
	h2_stream_pull(stream);
}

/* Long enough was waited for the rest of a request that is answered. */
static void on_late(struct h2_stream *stream)
{
	if (stream->is_late || stream->out == OUT_DONE)
		h2_stream_reset(stream, NGHTTP2_NO_ERROR);
	stream->is_late = true;
	h2_stream_pull(stream);
}

static void on_event(struct h2_stream *stream, enum io_event event)
{
	switch ((unsigned)event) {
	case IO_DATA:
		h2_stream_pull(stream);
		break;
	case IO_EOF:
		stream->is_eof = true;
		h2_stream_pull(stream);
		break;
	case IO_DRAINED:
		give_back(stream);
		h2_stream_pull(stream);
		break;
	case IO_FAILED:
		on_gone(stream);
		break;
	case IO_TIMEOUT:
		on_late(stream);
		break;
	default:
		break;
	}
}

static void on_io(struct io *io, enum io_event event, void *owner)
{
	struct h2_stream *stream = owner;
	struct h2_session *session = stream->session;

	if (event == IO_RELEASED) {
		stream->io = NULL;
		stream_free(stream);
		return;
	}
	/* Over, but for what the reader had not taken yet. */
	if (!session) {
		if (event != IO_DATA)
			io_close(io);
		return;
	}
	on_event(stream, event);
	h2_session_moved(session);
}

int h2_stream_open_io(struct h2_stream *stream, const struct io_limits *limits,
		      struct io **far)
{
	/* Full as soon as the queue between is: then windows wait. */
	const struct io_limits both[2] = {
		{.in_max = stream->is_wide ? H2_STREAM_IN_MAX
					   : H2_NARROW_STREAM_IN_MAX,
		 .out_max = H2_STREAM_OUT_MAX},
		*limits,
	};
	struct io *ends[2];

	if (io_pair_new(stream->session->loop, both, ends) < 0)
		return -1;
	stream->io = ends[0];
	*far = ends[1];
	io_set_owner(stream->io, on_io, stream);
	io_read_start(stream->io);
	return 0;
}

/* ---- h2 to HTTP/1.1 ---- */

static void refuse_stream(struct h2_stream *stream)
{
	h2_stream_reset(stream, NGHTTP2_REFUSED_STREAM);
}

static void take_request(struct h2_stream *stream, bool is_whole)
{
	struct h2_session *session = stream->session;
	struct section *section = &stream->section;
	auto_type(buf_release) struct buf head;
	struct bytes method;
	struct io *far;
	bool is_good;

	buf_init(&head, 2 * HEAD_BYTES_MAX);
	is_good = section_write_request(section, is_whole, &head,
					&stream->in_framing) == 0;
	stream->is_websocket = section->is_websocket;
	method = stream->is_websocket ? bytes_str("GET")
				      : section->pseudo[PSEUDO_METHOD];
	method = bytes_slice(method, 0, GUARD_METHOD_MAX);
	if (method.len > 0)
		memcpy(stream->method, method.data, method.len);
	h2_stream_expect_head(stream);
	if (h2_stream_open_io(stream,
			      stream->is_wide ? &session->stream_limits.wide
					      : &session->stream_limits.narrow,
			      &far) < 0) {
		refuse_stream(stream);
		return;
	}
	if (session->events.on_stream(session->owner, far, stream->is_wide,
				      is_good ? NULL : &section->fault) < 0) {
		io_close(far);
		refuse_stream(stream);
		return;
	}
	if (is_good)
		(void)io_write(stream->io, buf_view(&head));
	stream->in_began = is_good;
}

static void take_response(struct h2_stream *stream, bool is_whole)
{
	auto_type(buf_release) struct buf head;
	unsigned status = section_status(&stream->section);

	buf_init(&head, 2 * HEAD_BYTES_MAX);
	if (section_write_response(&stream->section, bytes_str(stream->method),
				   is_whole, &head, &stream->in_framing) < 0 ||
	    (is_whole && status < 200)) {
		h2_stream_reset(stream, NGHTTP2_PROTOCOL_ERROR);
		return;
	}
	(void)io_write(stream->io, buf_view(&head));
	stream->in_began = status >= 200;
}

void h2_stream_take_section(struct h2_stream *stream, bool is_whole)
{
	if (stream->section.kind == SECTION_REQUEST)
		take_request(stream, is_whole);
	else if (stream->section.kind == SECTION_RESPONSE)
		take_response(stream, is_whole);
	if (stream->section.kind != SECTION_TRAILERS)
		arena_release(&stream->arena_in);
}

static int write_data(struct h2_stream *stream, struct bytes bytes)
{
	char header[CHUNK_HEADER_MAX];

	if (stream->in_framing != FRAMING_CHUNKED)
		return io_write(stream->io, bytes);
	if (io_write(stream->io,
		     bytes_from(header, chunk_header(bytes.len, header))) < 0 ||
	    io_write(stream->io, bytes) < 0)
		return -1;
	return io_write(stream->io, bytes_str(CHUNK_TAIL));
}

void h2_stream_take_data(struct h2_stream *stream, struct bytes bytes)
{
	bool is_read =
		stream->io && stream->in_began && !io_pair_is_alone(stream->io);

	stream->held += bytes.len;
	stream->has_data = true;
	if (is_read && bytes.len > 0 && write_data(stream, bytes) < 0)
		h2_stream_reset(stream, NGHTTP2_INTERNAL_ERROR);
	if (!is_read || !io_is_full(stream->io))
		give_back(stream);
}

/* Only a response's trailers pass. */
static void end_chunks(struct h2_stream *stream)
{
	auto_type(buf_release) struct buf out;
	const struct fields none = {.count = 0};
	bool has = stream->section.kind == SECTION_TRAILERS &&
		   !stream->session->is_server;

	buf_init(&out, 2 * H2_SECTION_MAX);
	if (trailers_write(&out, has ? &stream->section.fields : &none) == 0)
		(void)io_write(stream->io, buf_view(&out));
}

/* curl 7.88 does not look whether its own end closed a stream that was
 * answered already, until a frame comes: so one does. */
static void wake_client(struct h2_stream *stream)
{
	nghttp2_session *ng = stream->session->ng;

	if (stream->session->is_server &&
	    nghttp2_session_get_stream_local_close(ng, stream->id) == 1)
		(void)nghttp2_submit_ping(ng, NGHTTP2_FLAG_NONE, NULL);
}

void h2_stream_take_end(struct h2_stream *stream)
{
	stream->in_ended = true;
	wake_client(stream);
	if (stream->io && stream->in_began &&
	    stream->in_framing == FRAMING_CHUNKED)
		end_chunks(stream);
	/* RFC 8441 section 5: as TCP's end would be. */
	if (stream->io && stream->is_websocket)
		io_end(stream->io);
	arena_release(&stream->arena_in);
	/* A response may have waited for it. */
	if (stream->io && stream->session->is_server)
		h2_stream_pull(stream);
}
