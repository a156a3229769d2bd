#include <stdlib.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/io_pair.h"
#include "common/secret.h"
#include "gateway/framer/framer.h"
#include "gateway/http/framing.h"

#define CUT_MAX	      (256 * 1024) /* of what came at once */
#define FLUSH_MS      2000
#define HEAD_TEXT_MAX 256
#define ZEROS_MAX     16384

static const struct io_limits courier_limits = {
	.in_max = 128 * 1024,
	.out_high = 1024 * 1024,
	.out_max = 4 * 1024 * 1024,
};
/* Of HTTP/2 in memory: its two ends. */
static const struct io_limits wire_limits[2] = {
	{.in_max = CUT_MAX / 2, .out_high = 128 * 1024, .out_max = 1024 * 1024},
	{.in_max = 128 * 1024, .out_high = 128 * 1024, .out_max = 1024 * 1024},
};
/* A request's zeros, and a response that is not taken. */
static const struct io_limits stream_limits[2] = {
	{H2_NARROW_BEHIND_IN_MAX, H2_NARROW_BEHIND_OUT_HIGH, UPSTREAM_OUT_MAX},
	{H2_BEHIND_IN_MAX, H2_BEHIND_OUT_HIGH, UPSTREAM_OUT_MAX},
};

struct connection {
	struct framer *framer;
	struct io *courier;
	struct io *near, *wire;	    /* near: what the courier has of wire */
	struct h2_session *session; /* on wire; NULL: over */
	struct io *stream;	    /* the request at hand; NULL: none */
	unsigned ios;		    /* that are not released */
	struct cut cut;
	size_t said_left; /* that the courier takes */
	bool is_wide;
	bool is_closed;
	bool has_ended; /* the stream, in order */
	bool is_silent; /* nothing more goes upstream */
	struct connection *next, *prev;
};

/* ---- the end ---- */

static void connection_free(struct connection *connection)
{
	DL_DELETE(connection->framer->connections, connection);
	connection->framer->count--;
	connection->framer->wide_count -= connection->is_wide;
	free(connection);
}

static void one_released(struct connection *connection)
{
	if (--connection->ios == 0)
		connection_free(connection);
}

static void end_session(struct connection *connection)
{
	if (connection->session)
		h2_session_free(connection->session);
	connection->session = NULL;
	/* GOAWAY is on its way. */
	if (connection->wire)
		io_close_flushed(connection->wire, FLUSH_MS);
	connection->wire = NULL;
}

static void drop_stream(struct connection *connection)
{
	if (connection->stream)
		io_close(connection->stream);
	connection->stream = NULL;
	connection->has_ended = false;
}

static void connection_close(struct connection *connection)
{
	if (connection->is_closed)
		return;
	connection->is_closed = true;
	drop_stream(connection);
	end_session(connection);
	if (connection->near)
		io_close(connection->near);
	io_close_flushed(connection->courier, FLUSH_MS);
}

/* ---- to the courier ---- */

static int tell(struct connection *connection, enum frame_type type,
		struct bytes payload)
{
	const struct frame frame = {
		.type = (uint8_t)type,
		.stream = connection->cut.asked,
		.payload = payload,
	};
	auto_type(buf_release) struct buf out;
	int result = -1;

	buf_init(&out, FRAME_HEADER + FRAME_PAYLOAD_MAX);
	if (frame_add(&out, &frame) == 0)
		result = io_write(connection->courier, buf_view(&out));
	if (out.data)
		secret_wipe(out.data, out.size);
	if (result < 0)
		connection_close(connection);
	return result;
}

/* There is nothing left to be done, or said. */
static void end_if_silent(struct connection *connection)
{
	if (connection->is_silent && !connection->stream)
		connection_close(connection);
}

/* As much of the response as the courier takes, or all of it. */
static void say(struct connection *connection, size_t most)
{
	struct buf *in = io_in(connection->stream);

	while (most > 0 && buf_len(in) > 0 && !connection->is_closed) {
		size_t len =
			most < FRAME_PAYLOAD_MAX ? most : FRAME_PAYLOAD_MAX;
		struct bytes piece = bytes_slice(buf_view(in), 0, len);

		if (tell(connection, FRAME_SAID, piece) < 0)
			return;
		most -= piece.len;
		connection->said_left -= piece.len < connection->said_left
						 ? piece.len
						 : connection->said_left;
		buf_consume(in, piece.len);
	}
}

static void stream_said(struct connection *connection)
{
	say(connection, connection->said_left);
	if (connection->is_closed)
		return;
	if (buf_len(io_in(connection->stream)) > 0)
		io_read_stop(connection->stream);
	else if (connection->has_ended) {
		drop_stream(connection);
		(void)tell(connection, FRAME_OVER, bytes_from(NULL, 0));
		end_if_silent(connection);
	} else {
		io_read_start(connection->stream);
	}
}

static void stream_failed(struct connection *connection)
{
	bool is_malformed = io_error(connection->stream)->code == ERR_INVALID;
	uint8_t fault = is_malformed ? FAULT_MALFORMED : FAULT_CLOSED;

	/* Nothing follows: what came before is let go whole. */
	say(connection, SIZE_MAX);
	if (connection->is_closed)
		return;
	drop_stream(connection);
	(void)tell(connection, FRAME_FAULT, bytes_from(&fault, 1));
	end_if_silent(connection);
}

static void on_stream(struct io *io, enum io_event event, void *owner)
{
	struct connection *connection = owner;

	if (event == IO_RELEASED) {
		one_released(connection);
		return;
	}
	if (io != connection->stream)
		return;
	connection->has_ended |= event == IO_EOF;
	if (event == IO_DATA || event == IO_EOF)
		stream_said(connection);
	else if (event == IO_FAILED)
		stream_failed(connection);
}

/* ---- HTTP/2 ---- */

/* Close what is over, or takes no other request. */
static void tend(struct connection *connection)
{
	const struct h2_session *session = connection->session;

	if (session &&
	    (h2_session_is_over(session) || (h2_session_streams(session) == 0 &&
					     !h2_client_has_room(session))))
		end_session(connection);
}

static void on_moved(void *owner)
{
	tend(owner);
}

static void on_wire(struct io *io, enum io_event event, void *owner)
{
	struct connection *connection = owner;

	(void)io;
	if (event == IO_RELEASED) {
		one_released(connection);
		return;
	}
	if (!connection->session)
		return;
	if (event == IO_DATA)
		h2_session_receive(connection->session);
	else if (event == IO_DRAINED)
		h2_session_drained(connection->session);
	if (event == IO_DATA || event == IO_DRAINED)
		tend(connection);
	else
		end_session(connection);
}

static void pass_frames(struct connection *connection)
{
	auto_type(buf_release) struct buf out;

	buf_init(&out, CUT_MAX);
	if (cut_frames(&connection->cut, io_in(connection->near), &out) < 0 ||
	    (buf_len(&out) > 0 &&
	     io_write(connection->courier, buf_view(&out)) < 0))
		connection_close(connection);
}

static void take_frames(struct connection *connection);

static void on_near(struct io *io, enum io_event event, void *owner)
{
	struct connection *connection = owner;

	(void)io;
	if (event == IO_RELEASED) {
		one_released(connection);
		return;
	}
	if (connection->is_closed)
		return;
	if (event == IO_DATA) {
		pass_frames(connection);
	} else if (event == IO_DRAINED) {
		take_frames(connection);
	} else {
		connection->is_silent = true;
		end_if_silent(connection);
	}
}

/* ---- from the courier ---- */

static void say_fault(struct connection *connection)
{
	static const uint8_t fault = FAULT_CLOSED;

	(void)tell(connection, FRAME_FAULT, bytes_from(&fault, 1));
}

/* The one before was answered whole, or the courier would not ask. */
static void ask(struct connection *connection, uint32_t number, uint8_t how)
{
	const char *method = how & ASK_HAS_BODY ? "POST" : "GET";
	char head[HEAD_TEXT_MAX];

	drop_stream(connection);
	connection->cut.asked = number;
	if (!connection->session || !h2_client_has_room(connection->session)) {
		say_fault(connection);
		return;
	}
	connection->stream = h2_client_open(connection->session,
					    &stream_limits[connection->is_wide],
					    connection->is_wide);
	if (!connection->stream) {
		say_fault(connection);
		return;
	}
	connection->ios++;
	io_set_owner(connection->stream, on_stream, connection);
	io_read_start(connection->stream);
	(void)snprintf(head, sizeof(head),
		       "%s / HTTP/1.1\r\nHost: framer.invalid\r\n%s\r\n",
		       how & ASK_IS_HEAD ? "HEAD" : method,
		       how & ASK_HAS_BODY ? "Transfer-Encoding: chunked\r\n"
					  : "");
	(void)io_write(connection->stream, bytes_str(head));
}

/* Zeros, for as many bytes as the courier has. */
static void more(struct connection *connection, size_t len)
{
	static const uint8_t zeros[ZEROS_MAX];
	char header[CHUNK_HEADER_MAX];

	while (connection->stream && len > 0) {
		struct bytes piece =
			bytes_slice(bytes_from(zeros, sizeof(zeros)), 0, len);

		if (io_write(connection->stream,
			     bytes_from(header,
					chunk_header(piece.len, header))) < 0 ||
		    io_write(connection->stream, piece) < 0 ||
		    io_write(connection->stream, bytes_str(CHUNK_TAIL)) < 0)
			return;
		len -= piece.len;
	}
}

static bool is_number(const struct connection *connection,
		      const struct frame *frame)
{
	return frame->payload.len == 4 &&
	       frame->stream == connection->cut.asked;
}

/* 0, or -1: the courier does not say this. */
static int take_frame(struct connection *connection, const struct frame *frame)
{
	switch (frame->type) {
	case FRAME_WIRE:
		return io_write(connection->near, frame->payload);
	case FRAME_EOF:
		io_end(connection->near);
		return 0;
	case FRAME_ASK:
		if (frame->payload.len != 1)
			return -1;
		ask(connection, frame->stream, frame->payload.data[0]);
		return 0;
	case FRAME_MORE:
		if (!is_number(connection, frame))
			return -1;
		more(connection, frame_u32(frame->payload));
		return 0;
	case FRAME_LAST:
		if (connection->stream)
			(void)io_write(connection->stream,
				       bytes_str(CHUNK_LAST));
		return 0;
	case FRAME_TAKEN:
		if (frame->payload.len != 4)
			return -1;
		connection->said_left += frame_u32(frame->payload);
		if (connection->stream)
			stream_said(connection);
		return 0;
	default:
		return -1;
	}
}

static void take_frames(struct connection *connection)
{
	struct buf *in = io_in(connection->courier);
	struct frame frame;
	size_t used;
	int got = 1;

	while (!connection->is_closed && got > 0 &&
	       !io_is_full(connection->near)) {
		got = frame_next(buf_view(in), &frame, &used);
		if (got < 0 ||
		    (got > 0 && take_frame(connection, &frame) < 0)) {
			connection_close(connection);
			return;
		}
		if (got > 0)
			buf_consume(in, used);
	}
	if (connection->is_closed)
		return;
	if (io_is_full(connection->near))
		io_read_stop(connection->courier);
	else
		io_read_start(connection->courier);
}

static void on_courier(struct io *io, enum io_event event, void *owner)
{
	struct connection *connection = owner;

	(void)io;
	if (event == IO_RELEASED) {
		one_released(connection);
		return;
	}
	if (connection->is_closed)
		return;
	if (event == IO_DATA)
		take_frames(connection);
	else if (event != IO_DRAINED)
		connection_close(connection);
}

/* ---- the beginning ---- */

static int begin_session(struct connection *connection)
{
	static const struct h2_events events = {.on_moved = on_moved};

	connection->session =
		h2_client_new(connection->framer->keeper->loop,
			      connection->wire, &events, connection);
	return connection->session ? 0 : -1;
}

static int begin(struct connection *connection, int fd)
{
	struct io_loop *loop = connection->framer->keeper->loop;
	struct io *ends[2];

	connection->courier =
		io_new(loop, fd, &courier_limits, on_courier, connection);
	if (!connection->courier)
		return -1;
	connection->ios = 1;
	if (io_pair_new(loop, wire_limits, ends) < 0)
		return -1;
	connection->ios += 2;
	connection->near = ends[0];
	connection->wire = ends[1];
	io_set_owner(connection->near, on_near, connection);
	io_set_owner(connection->wire, on_wire, connection);
	return begin_session(connection);
}

static void give_up(struct connection *connection)
{
	if (connection->ios > 0)
		connection_close(connection);
	else
		connection_free(connection);
}

int connection_open(struct framer *framer, int fd, struct err *err)
{
	struct connection *connection = calloc(1, sizeof(*connection));

	if (!connection || framer->count >= FRAMER_CONNECTIONS_MAX) {
		(void)close(fd);
		free(connection);
		return err_set(err, ERR_TOO_LARGE, "open: too many");
	}
	connection->framer = framer;
	connection->said_left = FRAMES_SAID_MAX;
	connection->is_wide = framer->wide_count < H2_WIDE_STREAMS_MAX;
	framer->wide_count += connection->is_wide;
	framer->count++;
	DL_APPEND(framer->connections, connection);
	if (begin(connection, fd) < 0) {
		give_up(connection);
		return err_set(err, ERR_SYSTEM, "open: memory is out");
	}
	io_read_start(connection->courier);
	io_read_start(connection->near);
	io_read_start(connection->wire);
	return 0;
}
