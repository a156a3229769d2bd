#include "sandbox-host/api/egress.h"
#include "sandbox-host/api/execd_isolated.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/digest.h"
#include "policies/policy.h"
#include "sandbox-host/api/gone.h"

static void read_policy(struct egress_task *task);
static void lend_next(struct egress_task *task);

/* ---- life ---- */

static void free_task(void *owner)
{
	struct egress_task *task = owner;

	egress_model_release(&task->model);
	json_decref(task->body);
	free(task->text);
	free(task);
}

/* Calls of the channel may still be told of their end in this turn. */
static void on_end(struct exchange *exchange)
{
	struct egress_task *task = exchange->task;
	struct io_loop *loop = exchange_loop(exchange);

	task->is_over = true;
	if (task->rpc)
		rpc_close(task->rpc);
	task->rpc = NULL;
	if (task->pace)
		io_timer_free(task->pace);
	task->pace = NULL;
	(void)io_loop_defer(loop, free_task, task);
}

/* ---- asking the supervisor ---- */

static void ask(struct egress_task *task, const struct rpc_call *of,
		rpc_outcome_fn *on_outcome)
{
	struct rpc_call call = *of;
	struct err err;

	call.reply_schema = &egress_answer_schema;
	call.timeout_ms = EXCHANGE_ASK_MS;
	call.on_outcome = on_outcome;
	call.owner = task;
	if (rpc_ask(task->rpc, &call, NULL, &err) < 0)
		gone_fail_unsent(task->exchange, &err);
}

/* Is it a good answer? Else the request is answered. */
static bool is_answer(struct egress_task *task,
		      const struct rpc_outcome *outcome)
{
	if (task->is_over)
		return false;
	if (outcome->err)
		gone_fail_outcome(task->exchange, outcome);
	return !outcome->err;
}

static void fail(struct egress_task *task)
{
	unsigned status = task->status == 422 ? 400 : task->status;

	if (status < 400)
		status = 502;
	exchange_fail(task->exchange, status,
		      status == 400 ? "INVALID_REQUEST" : "EGRESS_FAILED", "%s",
		      task->why);
}

static void take_answer(struct egress_task *task,
			const struct egress_answer *answer)
{
	task->status = answer->status;
	(void)snprintf(
		task->why, sizeof(task->why), "%.*s",
		BYTES_ARGS(bytes_slice(answer->detail, 0, EGRESS_WHY_MAX)));
}

static void fail_answer(struct egress_task *task,
			const struct egress_answer *answer)
{
	take_answer(task, answer);
	fail(task);
}

/* What was lent for a change that does not hold goes before the answer. */
static void undo(struct egress_task *task, const struct egress_answer *answer)
{
	take_answer(task, answer);
	task->is_undone = true;
	task->lent_at = 0;
	lend_next(task);
}

/* ---- values ---- */

int egress_lend(struct egress_task *task, const char *secret,
		struct bytes value)
{
	struct egress_lent *lent = &task->lent[task->lent_count];

	if (task->lent_count == ARRAY_SIZE(task->lent))
		return -1;
	task->lent_count++;
	(void)snprintf(lent->secret, sizeof(lent->secret), "%s", secret);
	lent->value = value;
	return 0;
}

static void done(struct egress_task *task)
{
	task->tell(task, &task->model);
}

static void on_pace(void *owner)
{
	lend_next(owner);
}

/* The gateway takes so many values a second, of all: the same once more. */
static bool wait_a_while(struct egress_task *task)
{
	if (!task->pace)
		task->pace = io_timer_new(exchange_loop(task->exchange),
					  on_pace, task);
	if (!task->pace || ++task->paces > EGRESS_PACES_MAX)
		return false;
	io_timer_set(task->pace, EGRESS_PACE_MS);
	return true;
}

static void on_lent(struct rpc_outcome *outcome, void *owner)
{
	struct egress_task *task = owner;
	const struct egress_answer *answer = outcome->message;

	if (!is_answer(task, outcome))
		return;
	if (answer->status == 429 && wait_a_while(task))
		return;
	/* One that is not there need not be taken back. */
	if (answer->status != 204 && !task->is_changed && !task->is_undone) {
		undo(task, answer);
		return;
	}
	task->lent_at++;
	lend_next(task);
}

static void on_changed(struct rpc_outcome *outcome, void *owner)
{
	struct egress_task *task = owner;
	const struct egress_answer *answer = outcome->message;

	/* Where nothing was heard, too: it may hold by now. */
	if (outcome->err || answer->status == 200)
		isolated_end_networked(task->api, bytes_str(task->sandbox));
	if (!is_answer(task, outcome))
		return;
	if (answer->status == 409 && ++task->tries < EGRESS_TRIES_MAX) {
		read_policy(task);
		return;
	}
	if (answer->status != 200) {
		undo(task, answer);
		return;
	}
	task->is_changed = true;
	task->lent_at = 0;
	lend_next(task);
}

static void change(struct egress_task *task)
{
	const struct egress_change message = {
		.expected = bytes_str(task->hash),
	};
	struct rpc_call call = {
		.type = MSG_EGRESS_CHANGE,
		.schema = &egress_change_schema,
		.message = &message,
	};
	struct err err;
	auto_fd int sealed =
		wire_memfd_seal("policy", bytes_str(task->text), &err);

	if (sealed < 0) {
		exchange_fail(task->exchange, 500, "INTERNAL", "%s", err.text);
		return;
	}
	call.fd = sealed;
	ask(task, &call, on_changed);
}

/* Values are there before the policy names them, and go once it does not. */
static void lend_next(struct egress_task *task)
{
	while (task->lent_at < task->lent_count) {
		const struct egress_lent *lent = &task->lent[task->lent_at];
		const struct egress_value message = {
			bytes_str(lent->secret),
			task->is_undone ? bytes_from(NULL, 0) : lent->value,
		};
		const struct rpc_call call = {
			.type = MSG_EGRESS_LEND,
			.schema = &egress_value_schema,
			.message = &message,
			.fd = -1,
		};

		if ((lent->value.len > 0) != task->is_changed) {
			ask(task, &call, on_lent);
			return;
		}
		task->lent_at++;
	}
	if (task->is_undone)
		fail(task);
	else if (task->is_changed)
		done(task);
	else
		change(task);
}

/* ---- the policy ---- */

static void edit(struct egress_task *task)
{
	task->lent_count = task->lent_at = 0;
	if (task->is_foreign) {
		exchange_fail(task->exchange, 409, "NOT_SUPPORTED",
			      "this sandbox was not created with a "
			      "networkPolicy: its policy is its own, and is "
			      "changed as a whole");
		return;
	}
	if (task->edit(task, &task->model) < 0)
		return;
	free(task->text);
	task->text = egress_model_write(&task->model);
	if (!task->text)
		exchange_fail_memory(task->exchange);
	else if (strlen(task->text) > POLICY_TEXT_MAX)
		exchange_fail(task->exchange, 413, "TOO_LARGE",
			      "the policy is too large");
	else
		lend_next(task);
}

static void take_policy(struct egress_task *task, int fd)
{
	struct bytes text;
	struct err err;

	if (wire_memfd_map(fd, POLICY_TEXT_MAX, &text, &err) < 0) {
		exchange_fail(task->exchange, 502, "EGRESS_FAILED", "%s",
			      err.text);
		return;
	}
	egress_model_release(&task->model);
	task->is_foreign = egress_model_read(text, &task->model) < 0;
	wire_memfd_unmap(text);
	if (task->edit)
		edit(task);
	else
		done(task);
}

static void on_policy(struct rpc_outcome *outcome, void *owner)
{
	struct egress_task *task = owner;
	const struct egress_answer *answer = outcome->message;

	if (!is_answer(task, outcome))
		return;
	if (answer->status != 200) {
		fail_answer(task, answer);
		return;
	}
	(void)snprintf(task->hash, sizeof(task->hash), "%.*s",
		       BYTES_ARGS(answer->hash));
	take_policy(task, outcome->fd);
}

static void read_policy(struct egress_task *task)
{
	static const struct wire_empty empty = {0};
	const struct rpc_call call = {
		.type = MSG_EGRESS_SHOW,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = -1,
	};

	ask(task, &call, on_policy);
}

static void on_gone(struct rpc *rpc, const char *why, void *owner)
{
	struct egress_task *task = owner;

	(void)rpc;
	(void)why;
	task->rpc = NULL;
}

static void on_channel(struct exchange *exchange, const void *message, int *fd)
{
	struct egress_task *task = exchange->task;
	const struct rpc_config config = {.owner = task, .on_closed = on_gone};
	struct err err;

	(void)message;
	task->rpc =
		rpc_new(exchange_loop(exchange), take_fd(fd), &config, &err);
	if (task->rpc)
		read_policy(task);
	else
		exchange_fail(exchange, 500, "INTERNAL", "%s", err.text);
}

void egress_begin(struct exchange *exchange, egress_edit_fn *edit_fn,
		  egress_tell_fn *tell, json_t *body)
{
	struct egress_task *task = calloc(1, sizeof(*task));

	if (!task) {
		json_decref(body);
		exchange_fail_memory(exchange);
		return;
	}
	task->exchange = exchange;
	task->api = exchange->api;
	(void)snprintf(task->sandbox, sizeof(task->sandbox), "%.*s",
		       BYTES_ARGS(exchange->sandbox));
	task->edit = edit_fn;
	task->tell = tell;
	task->body = body;
	random_id(task->tag);
	exchange->task = task;
	exchange->on_end = on_end;
	exchange_channel(exchange, HOST_CHANNEL_EGRESS, on_channel);
}
