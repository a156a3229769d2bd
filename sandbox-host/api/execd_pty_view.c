#include <signal.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "sandbox-host/api/execd_pty.h"

#define OUT_MAX	   (512 * 1024) /* frames of one event */
#define OFFSET_LEN 8

/* The client of a terminal; of the exchange, freed in its on_end. */
struct view {
	struct exchange *exchange;
	struct pty *pty; /* NULL: it is not its any more */
	struct websocket_end end;
	bool has_end, is_open;
	uint64_t since;
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

	buf_init(&payload, 1 + OFFSET_LEN + PTY_REPLAY_MAX);
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
	struct pty *pty = view->pty;

	view->pty = NULL;
	if (!pty || pty->view != view)
		return;
	pty->view = NULL;
	pty->used_ms = clock_monotonic_ms();
	/* What was held back for it. */
	pty_pump(pty);
}

bool view_is_open(const struct view *view)
{
	return view->is_open;
}

/* The view must not be touched afterwards. */
void view_close(struct view *view, uint16_t code, const char *reason)
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

void view_ended(struct view *view, int exit_code)
{
	send_json(view, json_pack("{s:s,s:i}", "type", "exit", "exit_code",
				  exit_code));
	view_close(view, WEBSOCKET_NORMAL, "process exited");
}

static void on_end(struct exchange *exchange)
{
	struct view *view = exchange->task;
	struct pty *pty = view->pty;

	/* Nobody waits for the shell that was to be started for it. */
	if (pty && pty->view == view && !view->is_open)
		pty_stop(pty);
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
			exec_client_signal(view->pty->exec, signals[i].number);
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
		exec_client_resize(view->pty->exec, (uint16_t)rows,
				   (uint16_t)columns);
	else
		send_error(view, "INVALID_FRAME", "rows and cols: 1 to 65535");
}

static void on_stdin(struct view *view, struct bytes bytes)
{
	if (exec_client_write(view->pty->exec, bytes) < 0)
		send_error(view, "STDIN_WRITE_FAILED",
			   "the input has ended, or is full");
	else if (exec_client_is_full(view->pty->exec))
		exchange_body_pause(view->exchange, true);
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
	while (view->is_open && view->pty && result != WEBSOCKET_MORE) {
		result = websocket_take(&view->end, &piece);
		switch (result) {
		case WEBSOCKET_MESSAGE:
			on_message(view);
			break;
		case WEBSOCKET_PING:
			send_frame(view, WEBSOCKET_OP_PONG, view->end.control);
			break;
		case WEBSOCKET_CLOSE:
			view_close(view, WEBSOCKET_NORMAL, "");
			return;
		case WEBSOCKET_INVALID:
			view_close(view, view->end.code, view->end.reason);
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

static void on_room(struct exchange *exchange)
{
	const struct view *view = exchange->task;

	if (view->pty)
		pty_pump(view->pty);
}

void view_drained(struct view *view)
{
	exchange_body_pause(view->exchange, false);
}

/* ---- what it gets ---- */

bool view_is_full(const struct view *view)
{
	return !view->is_open || exchange_stream_is_full(view->exchange);
}

void view_output(struct view *view, enum pty_byte kind, struct bytes bytes)
{
	send_binary(view, kind, (struct bytes){0}, bytes);
}

static void send_replay(struct view *view)
{
	const struct pty *pty = view->pty;
	struct bytes kept = buf_view(&pty->replay);
	uint64_t from = view->since > pty->replay_start ? view->since
							: pty->replay_start;
	uint8_t offset[OFFSET_LEN];

	if (from >= pty->replay_start + kept.len)
		return;
	for (int i = 0; i < OFFSET_LEN; i++)
		offset[i] = (uint8_t)(from >> (8 * (OFFSET_LEN - 1 - i)));
	send_binary(view, PTY_REPLAY, bytes_from(offset, sizeof(offset)),
		    bytes_slice(kept, (size_t)(from - pty->replay_start),
				kept.len));
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

/* The handshake comes before anybody is sent away for it. */
void view_started(struct view *view)
{
	struct exchange *exchange = view->exchange;
	struct pty *pty = view->pty;

	if (exchange_websocket(exchange, NULL) < 0)
		return;
	view->is_open = true;
	exchange->on_piece = on_piece;
	exchange->on_complete = on_complete;
	exchange->on_room = on_room;
	if (pty->view && pty->view != view)
		view_close(pty->view, PTY_CLOSE_TAKEN_OVER, "taken over");
	pty->view = view;
	io_timer_set(view->ping, PTY_PING_MS);
	send_replay(view);
	send_json(view,
		  json_pack("{s:s,s:s,s:s}", "type", "connected", "session_id",
			    pty->id, "mode", pty->is_pipe ? "pipe" : "pty"));
	pty_pump(pty);
}

void view_refused(struct view *view, const struct exec_client *client)
{
	execd_fail(view->exchange, client);
}

static void on_channel(struct exchange *exchange, const void *message, int *fd)
{
	struct view *view = exchange->task;
	struct err err;

	(void)message;
	if (pty_start(view->pty, take_fd(fd), &err) < 0)
		execd_fail_err(exchange, &err);
}

static struct view *new_view(struct exchange *exchange, struct pty *pty)
{
	struct view *view = calloc(1, sizeof(*view));

	if (!view)
		return NULL;
	view->exchange = exchange;
	view->pty = pty;
	buf_init(&view->out, OUT_MAX);
	view->ping = io_timer_new(exchange_loop(exchange), on_ping, view);
	view->has_end = websocket_end_init(&view->end, WEBSOCKET_CLIENT,
					   PTY_MESSAGE_MAX) == 0;
	exchange->task = view;
	exchange->on_end = on_end;
	return view;
}

void view_begin(struct exchange *exchange, struct pty *pty)
{
	uint64_t since = 0;
	bool has_terminal = true;
	struct view *view;

	if (!exchange_query_number(exchange, "since", INT64_MAX, &since) ||
	    !exchange_query_flag(exchange, "pty", &has_terminal))
		return;
	if (!exchange->is_websocket) {
		exchange_fail(exchange, 426, "INVALID_REQUEST",
			      "this is a WebSocket");
		return;
	}
	view = new_view(exchange, pty);
	if (!view || !view->ping || !view->has_end) {
		exchange_fail_memory(exchange);
		return;
	}
	view->since = since;
	if (pty->exec) {
		view_started(view);
		return;
	}
	pty->view = view;
	pty->is_pipe = !has_terminal;
	exchange_channel(exchange, HOST_CHANNEL_EXEC, on_channel);
}
