#include "sandbox-host/api/execd_pty.h"

#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/digest.h"
#include "sandbox-host/api/api.h"
#include "sandbox-host/api/share.h"

/* ---- those that are there ---- */

static void forget(struct pty *pty)
{
	DL_DELETE(pty->execd->ptys, pty);
	pty->execd->pty_count--;
}

static void release(struct pty *pty)
{
	exec_client_free(pty->exec);
	buf_release(&pty->replay);
	free(pty->cwd);
	free(pty->command);
	free(pty);
}

/* NULL: answered. */
static struct pty *find(struct exchange *exchange)
{
	struct execd *execd = execd_of(exchange);
	struct pty *pty;

	if (!execd)
		return NULL;
	DL_FOREACH(execd->ptys, pty)
	if (bytes_is(exchange->sandbox, pty->sandbox) &&
	    bytes_is(exchange->pieces[0], pty->id))
		return pty;
	execd_fail_missing(exchange, "terminal");
	return NULL;
}

void pty_sweep(struct execd *execd, uint64_t now_ms)
{
	struct pty *pty, *next;

	DL_FOREACH_SAFE(execd->ptys, pty, next)
	if (!pty->view && pty->used_ms + PTY_IDLE_MS <= now_ms) {
		forget(pty);
		release(pty);
	}
}

static bool has_room(struct exchange *exchange, const struct execd *execd)
{
	const struct pty *pty;
	size_t count = 0;

	DL_FOREACH(execd->ptys, pty)
	count += bytes_is(exchange->sandbox, pty->sandbox);
	if (share_allows(count, PTYS_SANDBOX_MAX, execd->pty_count, PTYS_MAX))
		return true;
	exchange_fail(exchange, 429, "RUNTIME_ERROR",
		      "a sandbox may have %d terminals, and no more "
		      "than are left for all others, of %d",
		      PTYS_SANDBOX_MAX, PTYS_MAX);
	return false;
}

/* ---- requests ---- */

static struct pty *add(struct execd *execd, struct bytes sandbox,
		       struct bytes cwd, struct bytes command)
{
	struct pty *pty = calloc(1, sizeof(*pty));
	char random[27];

	if (!pty)
		return NULL;
	random_id(random);
	pty->execd = execd;
	pty->used_ms = clock_monotonic_ms();
	pty->cwd = cwd.len > 0 ? bytes_dup(cwd) : NULL;
	pty->command = command.len > 0 ? bytes_dup(command) : NULL;
	buf_init(&pty->replay, PTY_REPLAY_MAX);
	(void)snprintf(pty->id, sizeof(pty->id), "pty-%s", random);
	(void)snprintf(pty->sandbox, sizeof(pty->sandbox), "%.*s",
		       BYTES_ARGS(sandbox));
	DL_APPEND(execd->ptys, pty);
	execd->pty_count++;
	return pty;
}

static void post_pty(struct exchange *exchange)
{
	struct execd *execd = execd_of(exchange);
	struct bytes cwd = {0}, command = {0};
	struct pty *pty = NULL;
	json_t *body;

	if (!execd || !has_room(exchange, execd) ||
	    !execd_body(exchange, false, &body))
		return;
	if (!body || (execd_cwd(exchange, body, &cwd) &&
		      execd_text(exchange, body, "command", false, &command))) {
		pty = add(execd, exchange->sandbox, cwd, command);
		if (!pty)
			exchange_fail_memory(exchange);
	}
	json_decref(body);
	if (pty)
		exchange_reply_json(exchange, 201,
				    json_pack("{s:s}", "session_id", pty->id));
}

static void get_pty(struct exchange *exchange)
{
	const struct pty *pty = find(exchange);

	if (pty)
		exchange_reply_json(
			exchange, 200,
			json_pack("{s:s,s:b,s:I}", "session_id", pty->id,
				  "running", pty->exec != NULL, "output_offset",
				  (json_int_t)(pty->replay_start +
					       buf_len(&pty->replay))));
}

static void delete_pty(struct exchange *exchange)
{
	struct pty *pty = find(exchange);
	struct view *view;

	if (!pty)
		return;
	/* Whoever waited may ask for it again at once. */
	view = pty->view;
	forget(pty);
	if (view)
		view_close(view, WEBSOCKET_NORMAL, "deleted");
	release(pty);
	exchange_reply_empty(exchange, 200);
}

static void get_socket(struct exchange *exchange)
{
	struct pty *pty = find(exchange);
	bool takes_over = false;

	if (!pty || !exchange_query_flag(exchange, "takeover", &takes_over))
		return;
	if (pty->view && !(takes_over && view_is_open(pty->view)))
		exchange_fail(exchange, 409, "ALREADY_CONNECTED",
			      "another client is connected: takeover=1 takes "
			      "its place");
	else
		view_begin(exchange, pty);
}

const struct route execd_pty_routes[] = {
	{"POST", "/pty", ROUTE_TOKEN, EXECD_BODY_MAX, ROUTE_WHOLE, post_pty},
	{"GET", "/pty/{}", ROUTE_TOKEN, 0, ROUTE_WHOLE, get_pty},
	{"DELETE", "/pty/{}", ROUTE_TOKEN, 0, ROUTE_WHOLE, delete_pty},
	{"GET", "/pty/{}/ws", ROUTE_TOKEN, 0, ROUTE_WHOLE, get_socket},
	{0},
};

/* ---- what it wrote ---- */

static void keep(struct pty *pty, struct bytes bytes)
{
	size_t room = buf_room(&pty->replay);

	assert(bytes.len <= PTY_REPLAY_MAX);
	if (bytes.len > room) {
		buf_consume(&pty->replay, bytes.len - room);
		pty->replay_start += bytes.len - room;
	}
	if (buf_add(&pty->replay, bytes) < 0)
		pty->replay_start += bytes.len;
}

static void pump_stream(struct pty *pty, int stream)
{
	struct buf *from = exec_client_out(pty->exec, stream);

	while (buf_len(from) > 0 && !(pty->view && view_is_full(pty->view))) {
		struct bytes part =
			bytes_slice(buf_view(from), 0, PTY_FRAME_MAX);

		keep(pty, part);
		if (pty->view)
			view_output(pty->view,
				    stream == 1 ? PTY_STDOUT : PTY_STDERR,
				    part);
		buf_consume(from, part.len);
	}
}

void pty_pump(struct pty *pty)
{
	if (!pty->exec)
		return;
	pump_stream(pty, 1);
	pump_stream(pty, 2);
	exec_client_go_on(pty->exec);
}

/* ---- its shell ---- */

void pty_stop(struct pty *pty)
{
	exec_client_free(pty->exec);
	pty->exec = NULL;
}

/* What is left goes to the view whether it reads or not: it is bounded. */
static void on_ended(struct pty *pty)
{
	const struct exec_end end = exec_client_end(pty->exec);
	struct view *view = pty->view;

	for (int stream = 1; stream <= 2; stream++) {
		struct bytes rest =
			buf_view(exec_client_out(pty->exec, stream));

		keep(pty, rest);
		if (view && rest.len > 0)
			view_output(view, stream == 1 ? PTY_STDOUT : PTY_STDERR,
				    rest);
	}
	pty->exit_code = run_exit_code(&end);
	pty->used_ms = clock_monotonic_ms();
	pty_stop(pty);
	if (view)
		view_ended(view, pty->exit_code);
}

static void on_event(struct exec_client *client, enum exec_event event,
		     void *owner)
{
	struct pty *pty = owner;

	switch (event) {
	case EXEC_STARTED:
		view_started(pty->view);
		break;
	case EXEC_REFUSED:
		pty->exec = NULL;
		view_refused(pty->view, client);
		exec_client_free(client);
		break;
	case EXEC_OUTPUT:
		pty_pump(pty);
		break;
	case EXEC_DRAINED:
		if (pty->view)
			view_drained(pty->view);
		break;
	case EXEC_ENDED:
	default:
		on_ended(pty);
		break;
	}
}

int pty_start(struct pty *pty, int channel, struct err *err)
{
	struct text_item argv[] = {{bytes_str("bash")},
				   {bytes_str("-c")},
				   {bytes_str(pty->command)}};
	const struct text_item env[] = {{bytes_str("TERM=xterm-256color")}};
	const struct exec_request request = {
		.argv = argv,
		.argv_count = pty->command ? 3 : 1,
		.env = env,
		.env_count = 1,
		.cwd = bytes_str(pty->cwd),
		.has_terminal = !pty->is_pipe,
		.rows = PTY_ROWS,
		.columns = PTY_COLUMNS,
	};

	pty->exec = exec_client_new(pty->execd->api->loop, channel, on_event,
				    pty, err);
	if (pty->exec &&
	    exec_client_start(pty->exec, &request, EXEC_INPUT, err) == 0)
		return 0;
	pty_stop(pty);
	return -1;
}
