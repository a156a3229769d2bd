#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "gateway/h2/inside.h"

static uint64_t now_ms(const struct h2_session *session)
{
	return io_loop_now_ms(session->loop);
}

static void tell_fault(struct h2_session *session, enum constraint constraint,
		       const char *reason)
{
	const struct http_fault fault = {constraint, reason};

	if (session->events.on_fault)
		session->events.on_fault(session->owner, &fault);
}

void h2_session_condemn(struct h2_session *session, const char *reason)
{
	if (session->is_condemned)
		return;
	session->is_condemned = session->is_retired = true;
	tell_fault(session, CONSTRAINT_limit_rate, reason);
	if (nghttp2_session_terminate_session(session->ng,
					      NGHTTP2_ENHANCE_YOUR_CALM) != 0)
		session->is_broken = true;
}

static void charge_frame(struct h2_session *session)
{
	if (!h2_budget_frame(&session->budget, now_ms(session)))
		h2_session_condemn(session,
				   "HTTP/2: a flood of frames without work");
}

/* Of clients: an upstream answers what was asked. */
static void charge_reset(struct h2_session *session)
{
	if (session->is_server &&
	    !h2_budget_reset(&session->budget, now_ms(session)))
		h2_session_condemn(session, "HTTP/2: a flood of resets");
}

/* ---- what nghttp2 tells ---- */

static struct h2_stream *stream_of(nghttp2_session *ng, int32_t id)
{
	return id > 0 ? nghttp2_session_get_stream_user_data(ng, id) : NULL;
}

static int on_begin_frame(nghttp2_session *ng, const nghttp2_frame_hd *head,
			  void *user)
{
	(void)ng;
	if (head->type != NGHTTP2_DATA && head->type != NGHTTP2_HEADERS)
		charge_frame(user);
	return 0;
}

static void widen(struct h2_session *session, int32_t id, int32_t window)
{
	(void)nghttp2_session_set_local_window_size(
		session->ng, NGHTTP2_FLAG_NONE, id, window);
}

static int begin_request(struct h2_session *session, int32_t id, bool is_whole)
{
	struct h2_stream *stream = h2_stream_new(session);

	if (!stream)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	stream->id = id;
	stream->is_wide = session->wide_count < H2_WIDE_STREAMS_MAX;
	session->wide_count += stream->is_wide;
	if (stream->is_wide && !is_whole)
		widen(session, id, H2_CLIENT_WINDOW);
	(void)nghttp2_session_set_stream_user_data(session->ng, id, stream);
	section_begin(&stream->section, SECTION_REQUEST, &stream->arena_in);
	return 0;
}

static int on_begin_headers(nghttp2_session *ng, const nghttp2_frame *frame,
			    void *user)
{
	struct h2_session *session = user;
	struct h2_stream *stream = stream_of(ng, frame->hd.stream_id);
	bool is_trailers;

	if (frame->hd.type != NGHTTP2_HEADERS)
		return 0;
	if (frame->headers.cat == NGHTTP2_HCAT_REQUEST)
		return begin_request(session, frame->hd.stream_id,
				     frame->hd.flags & NGHTTP2_FLAG_END_STREAM);
	if (!stream)
		return 0;
	is_trailers = session->is_server || stream->in_began;
	arena_reset(&stream->arena_in);
	section_begin(&stream->section,
		      is_trailers ? SECTION_TRAILERS : SECTION_RESPONSE,
		      &stream->arena_in);
	return 0;
}

static struct bytes text_of(nghttp2_rcbuf *text)
{
	nghttp2_vec vec = nghttp2_rcbuf_get_buf(text);

	return bytes_from(vec.base, vec.len);
}

static int on_header(nghttp2_session *ng, const nghttp2_frame *frame,
		     nghttp2_rcbuf *name, nghttp2_rcbuf *value, uint8_t flags,
		     void *user)
{
	struct h2_stream *stream = stream_of(ng, frame->hd.stream_id);

	(void)flags;
	if (!stream)
		return 0;
	section_add(&stream->section, text_of(name), text_of(value));
	if (stream->section.bytes > H2_SECTION_FLOOD)
		h2_session_condemn(user, "HTTP/2: a flood of fields");
	return 0;
}

/* What nghttp2 would leave out in silence is not left out: it is refused. */
static int on_invalid_header(nghttp2_session *ng, const nghttp2_frame *frame,
			     nghttp2_rcbuf *name, nghttp2_rcbuf *value,
			     uint8_t flags, void *user)
{
	struct h2_session *session = user;
	struct h2_stream *stream = stream_of(ng, frame->hd.stream_id);

	(void)name;
	(void)value;
	(void)flags;
	if (stream && stream->section.kind != SECTION_TRAILERS)
		section_refuse(&stream->section,
			       session->is_server
				       ? CONSTRAINT_request_malformed
				       : CONSTRAINT_response_malformed,
			       "a field has bytes that it may not have");
	return 0;
}

static int on_invalid_frame(nghttp2_session *ng, const nghttp2_frame *frame,
			    int code, void *user)
{
	struct h2_session *session = user;

	(void)ng;
	(void)code;
	if (!session->is_server)
		session->is_retired = true;
	else if (frame->hd.type == NGHTTP2_HEADERS ||
		 frame->hd.type == NGHTTP2_DATA)
		tell_fault(session, CONSTRAINT_request_malformed,
			   "HTTP/2: a message does not follow RFC 9113");
	return 0;
}

static int on_frame_recv(nghttp2_session *ng, const nghttp2_frame *frame,
			 void *user)
{
	struct h2_session *session = user;
	struct h2_stream *stream = stream_of(ng, frame->hd.stream_id);
	bool is_end = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;

	if (frame->hd.type == NGHTTP2_DATA && !is_end &&
	    frame->hd.length <= frame->data.padlen)
		charge_frame(session);
	if (!stream)
		return 0;
	if (frame->hd.type == NGHTTP2_RST_STREAM) {
		stream->was_reset = true;
		charge_reset(session);
	}
	if (frame->hd.type == NGHTTP2_HEADERS)
		h2_stream_take_section(stream, is_end);
	if (is_end && (frame->hd.type == NGHTTP2_HEADERS ||
		       frame->hd.type == NGHTTP2_DATA))
		h2_stream_take_end(stream);
	return 0;
}

static int on_data(nghttp2_session *ng, uint8_t flags, int32_t id,
		   const uint8_t *data, size_t len, void *user)
{
	struct h2_stream *stream = stream_of(ng, id);

	(void)flags;
	(void)user;
	/* One stream that is not read does not hold the others up. */
	(void)nghttp2_session_consume_connection(ng, len);
	if (stream)
		h2_stream_take_data(stream, bytes_from(data, len));
	return 0;
}

static int on_stream_close(nghttp2_session *ng, int32_t id, uint32_t code,
			   void *user)
{
	struct h2_session *session = user;
	struct h2_stream *stream = stream_of(ng, id);

	if (!stream)
		return 0;
	/* Also what a client makes us reset. */
	if (code != NGHTTP2_NO_ERROR && !stream->was_reset)
		charge_reset(session);
	if (!session->is_server && code != NGHTTP2_NO_ERROR &&
	    !stream->was_reset)
		session->is_retired = true;
	(void)nghttp2_session_set_stream_user_data(ng, id, NULL);
	h2_stream_over(stream, code);
	return 0;
}

/* A response that is complete before its request: clients take a reset that
 * comes at once for a failure, so they may finish first. */
static void after_end(struct h2_session *session, struct h2_stream *stream)
{
	if (session->is_server && !stream->in_ended && stream->io)
		io_deadline(stream->io, H2_LINGER_MS);
}

static int on_frame_send(nghttp2_session *ng, const nghttp2_frame *frame,
			 void *user)
{
	struct h2_session *session = user;
	struct h2_stream *stream = stream_of(ng, frame->hd.stream_id);

	if (frame->hd.type == NGHTTP2_GOAWAY && session->is_server &&
	    frame->goaway.error_code != NGHTTP2_NO_ERROR &&
	    !session->is_condemned)
		tell_fault(session, CONSTRAINT_request_malformed,
			   "HTTP/2: the connection does not follow RFC 9113");
	if (!stream || (frame->hd.type != NGHTTP2_DATA &&
			frame->hd.type != NGHTTP2_HEADERS))
		return 0;
	if (!session->is_server && frame->hd.type == NGHTTP2_HEADERS &&
	    stream->is_wide)
		widen(session, stream->id, H2_UPSTREAM_WINDOW);
	h2_budget_earn(&session->budget, frame->hd.length,
		       frame->hd.type == NGHTTP2_DATA && stream->io &&
			       buf_len(io_in(stream->io)) > 0);
	if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
		after_end(session, stream);
	return 0;
}

/* A request that could not be sent, since the peer wants no more of them. */
static int on_frame_not_send(nghttp2_session *ng, const nghttp2_frame *frame,
			     int code, void *user)
{
	struct h2_session *session = user;
	struct h2_stream *stream;

	(void)code;
	if (session->is_server || frame->hd.type != NGHTTP2_HEADERS)
		return 0;
	DL_FOREACH(session->streams, stream)
	if (stream->id == frame->hd.stream_id)
		break;
	if (!stream)
		return 0;
	/* nghttp2 opened a stream for it, and is about to close that. */
	(void)nghttp2_session_set_stream_user_data(ng, stream->id, NULL);
	stream->was_reset = true;
	h2_stream_over(stream, NGHTTP2_REFUSED_STREAM);
	return 0;
}

/* ---- life ---- */

static nghttp2_session_callbacks *callbacks_new(void)
{
	nghttp2_session_callbacks *to;

	if (nghttp2_session_callbacks_new(&to) != 0)
		return NULL;
	nghttp2_session_callbacks_set_on_begin_frame_callback(to,
							      on_begin_frame);
	nghttp2_session_callbacks_set_on_begin_headers_callback(
		to, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback2(to, on_header);
	nghttp2_session_callbacks_set_on_invalid_header_callback2(
		to, on_invalid_header);
	nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(
		to, on_invalid_frame);
	nghttp2_session_callbacks_set_on_frame_recv_callback(to, on_frame_recv);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(to, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(to,
							       on_stream_close);
	nghttp2_session_callbacks_set_on_frame_send_callback(to, on_frame_send);
	nghttp2_session_callbacks_set_on_frame_not_send_callback(
		to, on_frame_not_send);
	return to;
}

static nghttp2_option *options_new(void)
{
	nghttp2_option *to;

	if (nghttp2_option_new(&to) != 0)
		return NULL;
	nghttp2_option_set_no_auto_window_update(to, 1);
	nghttp2_option_set_no_closed_streams(to, 1);
	/* The budget comes first. */
	nghttp2_option_set_max_outbound_ack(to, 2 * H2_FRAMES_MAX);
	nghttp2_option_set_max_deflate_dynamic_table_size(to, H2_TABLE_MAX);
	nghttp2_option_set_peer_max_concurrent_streams(to, H2_STREAMS_MAX);
	return to;
}

static int nghttp2_begin(struct h2_session *session)
{
	nghttp2_session_callbacks *callbacks = callbacks_new();
	nghttp2_option *options = options_new();
	int result = -1;

	if (callbacks && options)
		result = session->is_server
				 ? nghttp2_session_server_new2(&session->ng,
							       callbacks,
							       session, options)
				 : nghttp2_session_client_new2(
					   &session->ng, callbacks, session,
					   options);
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_option_del(options);
	return result;
}

static int say_settings(struct h2_session *session)
{
	const nghttp2_settings_entry server[] = {
		{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, H2_STREAMS_MAX},
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, H2_NARROW_CLIENT_WINDOW},
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, H2_SECTION_MAX},
		{NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
		{NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1},
	};
	const nghttp2_settings_entry client[] = {
		{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
		 H2_NARROW_UPSTREAM_WINDOW},
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, H2_SECTION_MAX},
	};

	if (nghttp2_submit_settings(session->ng, NGHTTP2_FLAG_NONE,
				    session->is_server ? server : client,
				    session->is_server
					    ? ARRAY_SIZE(server)
					    : ARRAY_SIZE(client)) != 0)
		return -1;
	return nghttp2_session_set_local_window_size(
		session->ng, NGHTTP2_FLAG_NONE, 0, H2_CONNECTION_WINDOW);
}

static struct h2_session *session_new(struct h2_session spec)
{
	struct h2_session *session = calloc(1, sizeof(*session));

	if (!session)
		return NULL;
	*session = spec;
	h2_budget_init(&session->budget, now_ms(session));
	if (nghttp2_begin(session) != 0 || say_settings(session) != 0) {
		nghttp2_session_del(session->ng);
		free(session);
		return NULL;
	}
	h2_session_flush(session);
	return session;
}

struct h2_session *h2_server_new(struct io_loop *loop, struct io *io,
				 const struct h2_stream_limits *stream_limits,
				 const struct h2_events *events, void *owner)
{
	return session_new((struct h2_session){
		.loop = loop,
		.io = io,
		.is_server = true,
		.stream_limits = *stream_limits,
		.events = *events,
		.owner = owner,
	});
}

struct h2_session *h2_client_new(struct io_loop *loop, struct io *io,
				 const struct h2_events *events, void *owner)
{
	return session_new((struct h2_session){
		.loop = loop,
		.io = io,
		.events = *events,
		.owner = owner,
	});
}

void h2_session_free(struct h2_session *session)
{
	assert(!session->is_inside);
	if (!h2_session_is_over(session)) {
		(void)nghttp2_session_terminate_session(session->ng,
							NGHTTP2_NO_ERROR);
		h2_session_flush(session);
	}
	while (session->streams) {
		session->streams->was_reset = true;
		h2_stream_over(session->streams, NGHTTP2_CANCEL);
	}
	nghttp2_session_del(session->ng);
	free(session);
}

/* ---- bytes ---- */

void h2_session_flush(struct h2_session *session)
{
	const uint8_t *data;
	ssize_t len = 1;

	assert(!session->is_inside);
	session->is_inside = true;
	while (!session->is_broken && len > 0 && !io_is_full(session->io)) {
		len = nghttp2_session_mem_send(session->ng, &data);
		if (len < 0 ||
		    (len > 0 &&
		     io_write(session->io, bytes_from(data, (size_t)len)) < 0))
			session->is_broken = true;
	}
	session->is_inside = false;
}

void h2_session_moved(struct h2_session *session)
{
	h2_session_flush(session);
	session->events.on_moved(session->owner);
}

void h2_session_receive(struct h2_session *session)
{
	struct buf *in = io_in(session->io);
	struct bytes bytes = buf_view(in);

	session->is_inside = true;
	if (!session->is_broken && bytes.len > 0 &&
	    nghttp2_session_mem_recv(session->ng, bytes.data, bytes.len) < 0) {
		session->is_broken = true;
		tell_fault(session,
			   session->is_server ? CONSTRAINT_request_malformed
					      : CONSTRAINT_response_malformed,
			   "HTTP/2: the connection does not follow RFC 9113");
	}
	session->is_inside = false;
	buf_clear(in);
	h2_session_flush(session);
	/* Who does not read what it was answered is asked for no more. */
	if (io_is_full(session->io))
		io_read_stop(session->io);
}

void h2_session_drained(struct h2_session *session)
{
	io_read_start(session->io);
	h2_session_flush(session);
}

bool h2_session_is_over(const struct h2_session *session)
{
	return session->is_broken || (!nghttp2_session_want_read(session->ng) &&
				      !nghttp2_session_want_write(session->ng));
}

size_t h2_session_streams(const struct h2_session *session)
{
	return session->stream_count;
}

/* ---- client ---- */

bool h2_client_has_room(const struct h2_session *session)
{
	uint32_t theirs = nghttp2_session_get_remote_settings(
		session->ng, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);

	return !session->is_retired && !h2_session_is_over(session) &&
	       nghttp2_session_check_request_allowed(session->ng) &&
	       session->stream_count < H2_STREAMS_MAX &&
	       session->stream_count < theirs;
}

struct io *h2_client_open(struct h2_session *session,
			  const struct io_limits *limits, bool is_wide)
{
	struct h2_stream *stream = h2_stream_new(session);
	struct io *far;

	if (!stream)
		return NULL;
	stream->is_wide = is_wide;
	if (h2_stream_open_io(stream, limits, &far) < 0) {
		h2_stream_over(stream, NGHTTP2_INTERNAL_ERROR);
		return NULL;
	}
	return far;
}

void h2_client_retire(struct h2_session *session)
{
	session->is_retired = true;
}
