#include "sandbox-host/api/execd_pty.h"

/* A piece of the path as an id; one that can be none is as unknown as any. */
static struct resident_ref ref_of(const struct exchange *exchange)
{
	return (struct resident_ref){
		RESIDENT_TERMINAL,
		bytes_slice(exchange->pieces[0], 0, RESIDENT_ID_MAX)};
}

/* ---- POST /pty ---- */

static void on_made(struct exchange *exchange, const void *message, int *fd)
{
	const struct resident_ref *ref = message;

	(void)fd;
	exchange_reply_json(exchange, 201,
			    json_pack("{s:s%}", "session_id",
				      (const char *)ref->id.data, ref->id.len));
}

static void make(struct exchange *exchange, struct bytes cwd,
		 struct bytes command)
{
	static const struct resident_wish wish = {.kind = RESIDENT_TERMINAL};
	const struct text_item argv[] = {
		{bytes_str("bash")}, {bytes_str("-c")}, {command}};
	const struct text_item env[] = {{bytes_str("TERM=xterm-256color")}};
	const struct exec_request request = {
		.argv = argv,
		.argv_count = command.len > 0 ? 3 : 1,
		.env = env,
		.env_count = 1,
		.cwd = cwd,
		.rows = PTY_ROWS,
		.columns = PTY_COLUMNS,
	};
	struct err err;
	const struct exchange_question question = {
		.type = MSG_RESIDENT_MAKE,
		.schema = &resident_wish_schema,
		.message = &wish,
		.fd = exec_request_seal(&request, &err),
		.reply_schema = &resident_ref_schema,
	};

	if (question.fd < 0)
		execd_fail_err(exchange, &err);
	else
		resident_ask(exchange, RESIDENT_TERMINAL, &question, on_made);
}

static void post_pty(struct exchange *exchange)
{
	struct bytes cwd = {0}, command = {0};
	json_t *body;
	bool is_good;

	if (!execd_body(exchange, false, &body))
		return;
	is_good = !body ||
		  (execd_cwd(exchange, body, &cwd) &&
		   execd_text(exchange, body, "command", false, &command));
	json_decref(body);
	if (is_good)
		make(exchange, cwd, command);
}

/* ---- one that is there ---- */

static void on_shown(struct exchange *exchange, const void *message, int *fd)
{
	const struct resident_state *state = message;
	struct bytes id = exchange->pieces[0];

	(void)fd;
	exchange_reply_json(exchange, 200,
			    json_pack("{s:s%,s:b,s:I}", "session_id",
				      (const char *)id.data, id.len, "running",
				      state->is_running, "output_offset",
				      (json_int_t)state->written));
}

static void get_pty(struct exchange *exchange)
{
	const struct resident_ref ref = ref_of(exchange);
	const struct exchange_question question = {
		.type = MSG_RESIDENT_SHOW,
		.schema = &resident_ref_schema,
		.message = &ref,
		.fd = -1,
		.reply_schema = &resident_state_schema,
	};

	resident_ask(exchange, RESIDENT_TERMINAL, &question, on_shown);
}

static void on_dropped(struct exchange *exchange, const void *message, int *fd)
{
	(void)message;
	(void)fd;
	exchange_reply_empty(exchange, 200);
}

static void delete_pty(struct exchange *exchange)
{
	const struct resident_ref ref = ref_of(exchange);
	const struct exchange_question question = {
		.type = MSG_RESIDENT_DROP,
		.schema = &resident_ref_schema,
		.message = &ref,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
	};

	resident_ask(exchange, RESIDENT_TERMINAL, &question, on_dropped);
}

const struct route execd_pty_routes[] = {
	{"POST", "/pty", ROUTE_TOKEN, EXECD_BODY_MAX, ROUTE_WHOLE, post_pty},
	{"GET", "/pty/{}", ROUTE_TOKEN, 0, ROUTE_WHOLE, get_pty},
	{"DELETE", "/pty/{}", ROUTE_TOKEN, 0, ROUTE_WHOLE, delete_pty},
	{"GET", "/pty/{}/ws", ROUTE_TOKEN, 0, ROUTE_WHOLE, view_begin},
	{0},
};
