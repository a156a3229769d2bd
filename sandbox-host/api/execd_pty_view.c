#include <signal.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "gateway/websocket/frames.h"
#include "sandbox-host/api/execd_pty.h"

#define OUT_MAX	   (512 * 1024) /* frames of one event */
#define OFFSET_LEN 8

/* The client of a terminal; of the exchange, freed in its on_end. */
struct view {
	struct exchange *exchange;
	struct guest *guest; /* NULL: it is not its any more */
	struct bytes accept;
	struct websocket_end end;
	bool has_end, is_open, is_pipe, has_asked;
	struct io_timer *ping;
	unsigned silent_pings;
	struct buf out;
};

/* ---- frames to it ---- */

/* Send what was put into out. */
static void flush(struct view *view)
{
	(void)exchange_stream_write(view->exchange, buf_view(&view->out));
	buf_clear(&view->out);
}

static void send_frame(struct view *view, enum websocket_opcode opcode,
		       struct bytes payload)
{
	if (!view->is_open)
		return;
	(void)websocket_write(&view->end, opcode, true, payload, &view->out);
	flush(view);
}

/* A frame of one byte, head, and bytes. */
static void send_binary(struct view *view, enum pty_byte kind,
			struct bytes head, struct bytes bytes)
{
	auto_type(buf_release) struct buf payload;

	buf_init(&payload, 1 + OFFSET_LEN + RESIDENT_REPLAY_MAX);
	if (buf_add_byte(&payload, (uint8_t)kind) == 0 &&
	    buf_add(&payload, head) == 0 && buf_add(&payload, bytes) == 0)
		send_frame(view, WEBSOCKET_BINARY, buf_view(&payload));
}

/* Takes value. */
static void send_json(struct view *view, json_t *value)
{
	auto_free char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;

	json_decref(value);
	if (text)
		send_frame(view, WEBSOCKET_TEXT, bytes_str(text));
}

static void send_error(struct view *view, const char *code, const char *words)
{
	send_json(view, json_pack("{s:s,s:s,s:s}", "type", "error", "code",
				  code, "error", words));
}

/* ---- its end ---- */

static void leave(struct view *view)
{
	guest_free(view->guest);
	view->guest = NULL;
}

/* The view must not be touched afterwards. */
static void close_view(struct view *view, uint16_t code, const char *reason)
{
	struct exchange *exchange = view->exchange;

	leave(view);
	if (!view->is_open) {
		exchange_fail(exchange, 409, "RUNTIME_ERROR", "%s", reason);
		return;
	}
	view->is_open = false;
	if (websocket_write_close(&view->end, code, bytes_str(reason),
				  &view->out) == 0)
		flush(view);
	exchange_stream_end(exchange);
}

static void on_ended(struct view *view)
{
	send_json(view, json_pack("{s:s,s:i}", "type", "exit", "exit_code",
				  guest_exit_code(view->guest)));
	close_view(view, WEBSOCKET_NORMAL, "process exited");
}

static void on_lost(struct view *view)
{
	if (guest_is_taken_over(view->guest))
		close_view(view, PTY_CLOSE_TAKEN_OVER, "taken over");
	else
		close_view(view, WEBSOCKET_NORMAL, "deleted");
}

static void on_end(struct exchange *exchange)
{
	struct view *view = exchange->task;

	view->is_open = false;
	leave(view);
	if (view->has_end)
		websocket_end_release(&view->end);
	if (view->ping)
		io_timer_free(view->ping);
	buf_release(&view->out);
	free(view);
}

/* ---- what it says ---- */

static void on_signal(struct view *view, const char *name)
{
	static const struct {
		const char *name;
		int number;
	} signals[] = {
		{"SIGINT", SIGINT},   {"SIGTERM", SIGTERM},
		{"SIGKILL", SIGKILL}, {"SIGHUP", SIGHUP},
		{"SIGQUIT", SIGQUIT}, {"SIGUSR1", SIGUSR1},
		{"SIGUSR2", SIGUSR2}, {"SIGTSTP", SIGTSTP},
		{"SIGCONT", SIGCONT}, {"SIGSTOP", SIGSTOP},
	};

	for (size_t i = 0; name && i < ARRAY_SIZE(signals); i++)
		if (!strcmp(name, signals[i].name)) {
			guest_signal(view->guest, signals[i].number);
			return;
		}
	send_error(view, "INVALID_FRAME", "there is no such signal");
}

static void on_resize(struct view *view, const json_t *frame)
{
	json_int_t rows = json_integer_value(json_object_get(frame, "rows"));
	json_int_t columns = json_integer_value(json_object_get(frame, "cols"));

	if (rows > 0 && rows <= UINT16_MAX && columns > 0 &&
	    columns <= UINT16_MAX)
		guest_resize(view->guest, (uint16_t)rows, (uint16_t)columns);
	else
		send_error(view, "INVALID_FRAME", "rows and cols: 1 to 65535");
}

static void send_no_input(struct view *view)
{
	send_error(view, "STDIN_WRITE_FAILED",
		   "the input has ended, or is full");
}

static void on_stdin(struct view *view, struct bytes bytes)
{
	if (guest_write(view->guest, bytes) < 0)
		send_no_input(view);
	else if (guest_is_waiting(view->guest))
		exchange_body_pause(view->exchange, true);
}

static void on_heard(struct view *view)
{
	if (guest_is_deaf(view->guest))
		send_no_input(view);
	exchange_body_pause(view->exchange, false);
}

static void on_control(struct view *view, struct bytes text)
{
	json_t *frame = json_loadb((const char *)text.data, text.len,
				   JSON_REJECT_DUPLICATES, NULL);
	const char *type = json_string_value(json_object_get(frame, "type"));
	const json_t *input = json_object_get(frame, "data");

	if (!type)
		send_error(view, "INVALID_FRAME", "no JSON with a type");
	else if (!strcmp(type, "stdin") && json_is_string(input))
		on_stdin(view, bytes_from(json_string_value(input),
					  json_string_length(input)));
	else if (!strcmp(type, "signal"))
		on_signal(view,
			  json_string_value(json_object_get(frame, "signal")));
	else if (!strcmp(type, "resize"))
		on_resize(view, frame);
	else if (!strcmp(type, "ping"))
		send_json(view, json_pack("{s:s}", "type", "pong"));
	else
		send_error(view, "INVALID_FRAME", "unknown type of a frame");
	json_decref(frame);
}

static void on_message(struct view *view)
{
	struct bytes message = buf_view(&view->end.message);

	if (view->end.opcode == WEBSOCKET_TEXT)
		on_control(view, message);
	else if (message.len > 0 && message.data[0] == PTY_STDIN)
		on_stdin(view, bytes_slice(message, 1, message.len));
}

static void on_piece(struct exchange *exchange, struct bytes piece)
{
	struct view *view = exchange->task;
	enum websocket_result result = WEBSOCKET_MESSAGE;

	view->silent_pings = 0;
	while (view->is_open && view->guest && result != WEBSOCKET_MORE) {
		result = websocket_take(&view->end, &piece);
		switch (result) {
		case WEBSOCKET_MESSAGE:
			on_message(view);
			break;
		case WEBSOCKET_PING:
			send_frame(view, WEBSOCKET_OP_PONG, view->end.control);
			break;
		case WEBSOCKET_CLOSE:
			close_view(view, WEBSOCKET_NORMAL, "");
			return;
		case WEBSOCKET_INVALID:
			close_view(view, view->end.code, view->end.reason);
			return;
		case WEBSOCKET_MORE:
		case WEBSOCKET_PONG:
		default:
			break;
		}
	}
}

static void on_complete(struct exchange *exchange)
{
	exchange_break(exchange);
}

/* ---- what it gets ---- */

/* One piece at a time, as long as its client reads. */
static void read_on(struct view *view)
{
	if (!view->guest || !view->is_open || view->has_asked ||
	    exchange_stream_is_full(view->exchange))
		return;
	view->has_asked = true;
	guest_read(view->guest);
}

static void on_room(struct exchange *exchange)
{
	read_on(exchange->task);
}

static void on_output(struct view *view)
{
	struct resident_output piece = guest_view(view->guest)->piece;

	view->has_asked = false;
	send_binary(view, piece.stream == 1 ? PTY_STDOUT : PTY_STDERR,
		    (struct bytes){0}, piece.bytes);
	read_on(view);
}

static void send_replay(struct view *view)
{
	const struct guest_view *seen = guest_view(view->guest);
	uint64_t from = seen->taken.start;
	uint8_t offset[OFFSET_LEN];

	if (seen->replay.len == 0)
		return;
	for (int i = 0; i < OFFSET_LEN; i++)
		offset[i] = (uint8_t)(from >> (8 * (OFFSET_LEN - 1 - i)));
	send_binary(view, PTY_REPLAY, bytes_from(offset, sizeof(offset)),
		    seen->replay);
}

static void on_ping(void *owner)
{
	struct view *view = owner;

	if (++view->silent_pings > PTY_SILENT_PINGS) {
		exchange_break(view->exchange);
		return;
	}
	send_frame(view, WEBSOCKET_OP_PING, (struct bytes){0});
	io_timer_set(view->ping, PTY_PING_MS);
}

/* ---- its beginning ---- */

static void on_runs(struct view *view)
{
	struct exchange *exchange = view->exchange;
	bool is_pipe = guest_view(view->guest)->taken.is_pipe;

	exchange_add_field(exchange, "Sec-WebSocket-Accept", view->accept);
	if (exchange_upgrade(exchange) < 0)
		return;
	view->is_open = true;
	exchange->on_piece = on_piece;
	exchange->on_complete = on_complete;
	exchange->on_room = on_room;
	io_timer_set(view->ping, PTY_PING_MS);
	send_replay(view);
	send_json(view, json_pack("{s:s,s:s,s:s}", "type", "connected",
				  "session_id", guest_id(view->guest), "mode",
				  is_pipe ? "pipe" : "pty"));
	read_on(view);
	/* What came with the handshake. */
	exchange_body_pause(exchange, false);
}

static void on_event(struct guest *guest, enum guest_event event, void *owner)
{
	struct view *view = owner;

	switch (event) {
	case GUEST_TAKEN:
		if (!guest_view(guest)->taken.is_running)
			guest_start(guest, view->is_pipe);
		break;
	case GUEST_RUNS:
		on_runs(view);
		break;
	case GUEST_OUTPUT:
		on_output(view);
		break;
	case GUEST_HEARD:
		on_heard(view);
		break;
	case GUEST_ENDED:
		on_ended(view);
		break;
	case GUEST_LOST:
	default:
		on_lost(view);
		break;
	}
}

static void on_channel(struct exchange *exchange, const void *message, int *fd)
{
	const struct view *view = exchange->task;

	(void)message;
	guest_channel(view->guest, fd);
}

static bool prepare(struct view *view)
{
	view->ping = io_timer_new(exchange_loop(view->exchange), on_ping, view);
	view->has_end = websocket_end_init(&view->end, WEBSOCKET_CLIENT,
					   PTY_MESSAGE_MAX) == 0;
	if (view->ping && view->has_end)
		return true;
	exchange_fail_memory(view->exchange);
	return false;
}

/* NULL: answered. */
static struct view *new_view(struct exchange *exchange, struct bytes accept)
{
	struct view *view = calloc(1, sizeof(*view));

	if (!view) {
		exchange_fail_memory(exchange);
		return NULL;
	}
	view->exchange = exchange;
	view->accept = accept;
	buf_init(&view->out, OUT_MAX);
	exchange->task = view;
	exchange->on_end = on_end;
	return prepare(view) ? view : NULL;
}

/* The handshake is judged before anybody is sent away for it. */
void view_begin(struct exchange *exchange)
{
	struct guest_wish wish = {
		.take = {.kind = RESIDENT_TERMINAL,
			 .id = bytes_slice(exchange->pieces[0], 0,
					   RESIDENT_ID_MAX)}};
	bool has_terminal = true;
	struct bytes accept;
	struct guest *guest;
	struct view *view;

	if (!exchange_query_number(exchange, "since", INT64_MAX,
				   &wish.take.since) ||
	    !exchange_query_flag(exchange, "takeover", &wish.take.takes_over) ||
	    !exchange_query_flag(exchange, "pty", &has_terminal) ||
	    !exchange_websocket(exchange, &accept))
		return;
	view = new_view(exchange, accept);
	if (!view)
		return;
	view->is_pipe = !has_terminal;
	guest = guest_new(exchange, &wish, on_event, view);
	if (!guest)
		return;
	view->guest = guest;
	exchange_channel(exchange, HOST_CHANNEL_RESIDENT, on_channel);
}
