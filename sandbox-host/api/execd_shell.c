/*
 * /session: a bash that keeps its state (execd_session.h). What it keeps is
 * with its sandbox's supervisor, so it outlives this process: a run takes it,
 * and gives the next one back.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "sandbox-host/api/execd_isolated.h"
#include "sandbox-host/api/execd_session.h"
#include "sandbox-host/api/gone.h"

/* One request. Of the exchange, and freed after its on_end, until its command
 * runs; then of the run. */
struct shell {
	struct exchange *exchange;
	struct io_loop *loop;
	struct rpc *rpc;       /* NULL: there is none yet, or it was closed */
	struct rpc_call call;  /* that is asked, by: */
	struct session_ref id; /* in the exchange's arena */
	struct session_wish wish;
	struct session_call run;
	struct api *api;
	char isolated[HOST_ID_MAX + 1]; /* whose own it is; empty */
	struct session *session;	/* NULL: it was not taken yet */
	bool is_over;
};

/* ---- life ---- */

/* Calls of the channel may still be told of their end in this turn. */
static void end(struct shell *shell)
{
	shell->is_over = true;
	if (shell->isolated[0])
		isolated_rest(shell->api, shell->isolated);
	if (shell->rpc)
		rpc_close(shell->rpc);
	shell->rpc = NULL;
	if (shell->session)
		session_close(shell->session);
	shell->session = NULL;
	(void)io_loop_defer(shell->loop, free, shell);
}

static void on_end(struct exchange *exchange)
{
	end(exchange->task);
}

static void on_gone(struct rpc *rpc, const char *why, void *owner)
{
	struct shell *shell = owner;

	(void)rpc;
	(void)why;
	shell->rpc = NULL;
}

static void on_channel(struct exchange *exchange, const void *message, int *fd)
{
	struct shell *shell = exchange->task;
	const struct rpc_config config = {.owner = shell, .on_closed = on_gone};
	struct err err;

	(void)message;
	shell->rpc = rpc_new(shell->loop, take_fd(fd), &config, &err);
	if (!shell->rpc)
		exchange_fail(exchange, 500, "INTERNAL", "%s", err.text);
	else if (rpc_ask(shell->rpc, &shell->call, NULL, &err) < 0)
		gone_fail_unsent(exchange, &err);
}

/* NULL: answered. */
static struct shell *begin(struct exchange *exchange)
{
	struct shell *shell = calloc(1, sizeof(*shell));

	if (!shell) {
		exchange_fail_memory(exchange);
		return NULL;
	}
	shell->exchange = exchange;
	shell->loop = exchange_loop(exchange);
	shell->api = exchange->api;
	exchange->task = shell;
	exchange->on_end = on_end;
	return shell;
}

static void ask(struct shell *shell, const struct rpc_call *call,
		const void *message)
{
	shell->call = *call;
	shell->call.message = message;
	shell->call.fd = -1;
	shell->call.timeout_ms = EXCHANGE_ASK_MS;
	shell->call.owner = shell;
	exchange_channel(shell->exchange, HOST_CHANNEL_SESSION, on_channel);
}

/* Is it a good answer? Else the request is answered. */
static bool is_answer(struct shell *shell, const struct rpc_outcome *outcome)
{
	const struct rpc_refusal *refusal = outcome->refusal;

	if (shell->is_over)
		return false;
	if (refusal && refusal->code == HOST_REFUSED_MISSING)
		exchange_fail(shell->exchange, 404, "CONTEXT_NOT_FOUND", "%.*s",
			      BYTES_ARGS(refusal->detail));
	else if (outcome->err)
		gone_fail_outcome(shell->exchange, outcome);
	return !outcome->err;
}

/* ---- POST /session ---- */

static void on_made(struct rpc_outcome *outcome, void *owner)
{
	struct shell *shell = owner;
	const struct session_ref *ref = outcome->message;

	if (is_answer(shell, outcome))
		exchange_reply_json(shell->exchange, 200,
				    json_pack("{s:s%}", "session_id",
					      (const char *)ref->id.data,
					      ref->id.len));
}

static void post_session(struct exchange *exchange)
{
	static const struct rpc_call call = {
		.type = MSG_SESSION_MAKE,
		.schema = &session_wish_schema,
		.reply_schema = &session_ref_schema,
		.on_outcome = on_made,
	};
	struct bytes cwd = {0};
	struct shell *shell;
	bool is_good;
	json_t *body;

	if (!execd_body(exchange, false, &body))
		return;
	is_good = !body || execd_cwd(exchange, body, &cwd);
	json_decref(body);
	shell = is_good ? begin(exchange) : NULL;
	if (!shell)
		return;
	shell->wish.cwd = cwd;
	ask(shell, &call, &shell->wish);
}

/* ---- POST /session/{id}/run ---- */

static void on_over(struct bytes state, void *owner)
{
	const struct wire_empty empty = {0};
	struct shell *shell = owner;
	auto_fd int sealed = -1;
	struct err err;

	if (state.len > 0 && shell->rpc)
		sealed = wire_memfd_seal("state", state, &err);
	if (sealed >= 0)
		(void)rpc_tell(shell->rpc, MSG_SESSION_GIVE, &wire_empty_schema,
			       &empty, sealed, &err);
	end(shell);
}

/* 0, or -1: no memory, or it is not what we gave. */
static int take(struct shell *shell, const struct session_taken *taken, int fd)
{
	struct bytes state = {0};
	struct err err;
	int result;

	shell->session = session_open();
	if (!shell->session || (fd >= 0 && wire_memfd_map(fd, SESSION_STATE_MAX,
							  &state, &err) < 0))
		return -1;
	result = session_set(shell->session, taken->cwd, state);
	if (fd >= 0)
		wire_memfd_unmap(state);
	return result;
}

static void on_taken(struct rpc_outcome *outcome, void *owner)
{
	struct shell *shell = owner;
	const struct session_taken *taken = outcome->message;

	if (!is_answer(shell, outcome))
		return;
	if (shell->isolated[0])
		isolated_ran(shell->api, shell->isolated, taken->ran_ms);
	if (take(shell, taken, outcome->fd) < 0)
		exchange_fail_memory(shell->exchange);
	else
		session_run(shell->exchange, shell->session, &shell->run);
}

static bool take_run(struct exchange *exchange, const json_t *body,
		     struct run_spec *run)
{
	return execd_text(exchange, body, "command", true, &run->text) &&
	       execd_cwd(exchange, body, &run->request.cwd) &&
	       execd_number(exchange, body, "timeout", EXECD_TIMEOUT_MAX,
			    &run->request.timeout_ms);
}

/* An id that can be none is as unknown as any. */
static struct bytes id_of(const struct exchange *exchange)
{
	return bytes_slice(exchange->pieces[0], 0, SESSION_ID_MAX);
}

/* id: empty for the own one of an isolated session. */
static void run_in(struct exchange *exchange, struct bytes id,
		   const struct session_call *run)
{
	static const struct rpc_call call = {
		.type = MSG_SESSION_TAKE,
		.schema = &session_ref_schema,
		.reply_schema = &session_taken_schema,
		.on_outcome = on_taken,
	};
	struct shell *shell = begin(exchange);

	if (!shell)
		return;
	shell->run = *run;
	shell->run.on_over = on_over;
	shell->run.owner = shell;
	shell->id.id = id;
	if (id.len == 0) {
		(void)snprintf(shell->isolated, sizeof(shell->isolated), "%.*s",
			       BYTES_ARGS(exchange->sandbox));
		isolated_work(shell->api, shell->isolated);
	}
	ask(shell, &call, &shell->id);
}

void shell_run_own(struct exchange *exchange, const struct session_call *call)
{
	run_in(exchange, (struct bytes){0}, call);
}

static void post_run(struct exchange *exchange)
{
	struct session_call call = {0};
	bool is_good;
	json_t *body;

	if (!execd_body(exchange, true, &body))
		return;
	is_good = take_run(exchange, body, &call.run);
	json_decref(body);
	call.command = call.judged = call.run.text;
	if (is_good)
		run_in(exchange, id_of(exchange), &call);
}

/* ---- DELETE /session/{id} ---- */

static void on_dropped(struct rpc_outcome *outcome, void *owner)
{
	struct shell *shell = owner;

	if (is_answer(shell, outcome))
		exchange_reply_empty(shell->exchange, 200);
}

static void delete_session(struct exchange *exchange)
{
	static const struct rpc_call call = {
		.type = MSG_SESSION_DROP,
		.schema = &session_ref_schema,
		.reply_schema = &wire_empty_schema,
		.on_outcome = on_dropped,
	};
	struct shell *shell = begin(exchange);

	if (!shell)
		return;
	shell->id.id = id_of(exchange);
	ask(shell, &call, &shell->id);
}

const struct route execd_shell_routes[] = {
	{"POST", "/session", ROUTE_TOKEN, EXECD_BODY_MAX, ROUTE_WHOLE,
	 post_session},
	{"POST", "/session/{}/run", ROUTE_TOKEN, EXECD_BODY_MAX, ROUTE_WHOLE,
	 post_run},
	{"DELETE", "/session/{}", ROUTE_TOKEN, 0, ROUTE_WHOLE, delete_session},
	{0},
};
