/* The agent of one request: a channel to it, a place among those of its
 * sandbox, questions and their failures. */
#include <stdlib.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "sandbox-host/api/files.h"
#include "sandbox-host/api/gone.h"

/* Those that have an agent and those that wait for one, in order. */
static struct files_task *tasks;

static void ask_for_channel(struct files_task *task);

/* ---- places ---- */

static size_t count_of(struct bytes sandbox)
{
	const struct files_task *task;
	size_t count = 0;

	DL_FOREACH(tasks, task)
	count += task->has_place && bytes_equal(task->sandbox, sandbox);
	return count;
}

static void let_next(struct bytes sandbox)
{
	struct files_task *task;

	DL_FOREACH(tasks, task)
	if (!task->has_place && !task->is_over &&
	    bytes_equal(task->sandbox, sandbox)) {
		task->has_place = true;
		ask_for_channel(task);
		return;
	}
}

/* ---- life ---- */

static void free_task(void *owner)
{
	struct files_task *task = owner;

	if (task->release)
		task->release(task);
	free(task);
}

/* Calls of the channel may still be told of their end in this turn. */
static void on_end(struct exchange *exchange)
{
	struct files_task *task = exchange->task;

	task->is_over = true;
	DL_DELETE(tasks, task);
	if (task->has_place)
		let_next(task->sandbox);
	if (task->rpc)
		rpc_close(task->rpc);
	task->rpc = NULL;
	(void)io_loop_defer(task->loop, free_task, task);
}

void *files_task_new(struct exchange *exchange, size_t size, files_fn *begin,
		     files_fn *release)
{
	struct files_task *task = calloc(1, size);

	if (!task) {
		exchange_fail_memory(exchange);
		return NULL;
	}
	task->exchange = exchange;
	task->loop = exchange_loop(exchange);
	task->sandbox = exchange->sandbox;
	task->begin = begin;
	task->release = release;
	DL_APPEND(tasks, task);
	exchange->task = task;
	exchange->on_end = on_end;
	return task;
}

void files_task_start(struct files_task *task)
{
	task->has_place = count_of(task->sandbox) < FILES_AT_ONCE;
	if (task->has_place)
		ask_for_channel(task);
}

/* ---- failures ---- */

void files_fail(struct files_task *task, unsigned status, const char *code,
		const char *message)
{
	if (task->has_begun)
		exchange_break(task->exchange);
	else
		exchange_fail(task->exchange, status, code, "%s", message);
}

void files_fail_agent(struct files_task *task, const char *fault)
{
	if (task->has_begun)
		exchange_break(task->exchange);
	else
		exchange_fail(task->exchange, 502, "RUNTIME_ERROR",
			      "the sandbox answered with %s", fault);
}

/* The agent has ended, or can do no more: the sandbox may end. */
static void fail_gone(struct files_task *task, struct bytes why)
{
	if (task->has_begun) {
		exchange_break(task->exchange);
		return;
	}
	gone_fail(task->exchange, arena_str(task->exchange->arena, why));
	if (task->rpc)
		rpc_close(task->rpc);
	task->rpc = NULL;
}

static void fail_closed(struct files_task *task)
{
	fail_gone(task, bytes_str("the sandbox hung up"));
}

static void fail_refusal(struct files_task *task,
			 const struct rpc_refusal *refusal)
{
	static const struct {
		unsigned status;
		const char *code;
	} answers[HOST_REFUSAL_MAX] = {
		[0] = {500, "RUNTIME_ERROR"},
		[HOST_REFUSED] = {500, "RUNTIME_ERROR"},
		[HOST_REFUSED_INVALID] = {400, "INVALID_FILE"},
		[HOST_REFUSED_MISSING] = {404, "FILE_NOT_FOUND"},
		[HOST_REFUSED_STATE] = {409, "INVALID_FILE"},
		[HOST_REFUSED_FULL] = {507, "RUNTIME_ERROR"},
		[HOST_REFUSED_FORBIDDEN] = {403, "FORBIDDEN"},
		[HOST_REFUSED_UNSUPPORTED] = {501, "NOT_SUPPORTED"},
	};
	unsigned code = refusal->code < HOST_REFUSAL_MAX ? refusal->code : 0;
	unsigned status = code == HOST_REFUSED_INVALID && task->invalid_status
				  ? task->invalid_status
				  : answers[code].status;

	if (task->has_begun)
		exchange_break(task->exchange);
	else if (code == HOST_REFUSED_UNREACHABLE)
		fail_gone(task, refusal->detail);
	else
		exchange_fail(task->exchange, status, answers[code].code,
			      "%.*s", BYTES_ARGS(refusal->detail));
}

int files_check_path(struct exchange *exchange, struct bytes path)
{
	if (path.len > 0 && path.len <= REQUEST_PATH_MAX &&
	    !memchr(path.data, 0, path.len))
		return 0;
	exchange_fail(exchange, 400, "INVALID_FILE",
		      "a path is empty, longer than %d bytes, or has a NUL",
		      REQUEST_PATH_MAX);
	return -1;
}

struct bytes *files_paths(struct exchange *exchange, size_t *count)
{
	struct bytes *paths = arena_array(exchange->arena, FILES_PATHS_MAX + 1,
					  sizeof(*paths));

	*count = paths ? exchange_query_all(exchange, "path", paths,
					    FILES_PATHS_MAX + 1)
		       : 0;
	if (*count == 0 || *count > FILES_PATHS_MAX) {
		exchange_fail(exchange, 400, "MISSING_QUERY",
			      "1 to %d paths are wanted", FILES_PATHS_MAX);
		return NULL;
	}
	for (size_t i = 0; i < *count; i++)
		if (files_check_path(exchange, paths[i]) < 0)
			return NULL;
	return paths;
}

/* ---- asking ---- */

static void on_outcome(struct rpc_outcome *outcome, void *owner)
{
	struct files_task *task = owner;

	if (task->is_over)
		return;
	task->in_flight--;
	if (!outcome->err)
		task->on_answer(task, outcome->message);
	else if (outcome->refusal && task->may_be_missing &&
		 outcome->refusal->code == HOST_REFUSED_MISSING)
		task->on_answer(task, NULL);
	else if (outcome->refusal)
		fail_refusal(task, outcome->refusal);
	else if (outcome->err->code == ERR_TIMEOUT)
		files_fail(task, 504, "TIMEOUT", "the sandbox does not answer");
	else
		fail_closed(task);
}

int files_ask(struct files_task *task, const struct files_question *question,
	      files_answer_fn *on_answer)
{
	const struct rpc_call call = {
		.type = question->type,
		.schema = question->schema,
		.message = question->message,
		.fd = question->fd > 0 ? question->fd : -1,
		.reply_schema =
			question->reply ? question->reply : &wire_empty_schema,
		.timeout_ms = FILES_ASK_MS,
		.on_outcome = on_outcome,
		.owner = task,
	};
	struct err err;

	assert(task->in_flight == 0 || task->on_answer == on_answer);
	task->on_answer = on_answer;
	if (task->rpc && rpc_ask(task->rpc, &call, NULL, &err) == 0) {
		task->in_flight++;
		return 0;
	}
	fail_closed(task);
	return -1;
}

/* ---- the channel ---- */

static void on_closed(struct rpc *rpc, const char *why, void *owner)
{
	struct files_task *task = owner;

	(void)rpc;
	(void)why;
	if (task->is_over)
		return;
	task->rpc = NULL;
	fail_closed(task);
}

static void on_channel(struct exchange *exchange, const void *message, int *fd)
{
	struct files_task *task = exchange->task;
	const struct rpc_config config = {.owner = task,
					  .on_closed = on_closed};
	struct err err;

	(void)message;
	if (*fd < 0) {
		files_fail_agent(task, "no channel");
		return;
	}
	task->rpc = rpc_new(task->loop, take_fd(fd), &config, &err);
	if (task->rpc)
		task->begin(task);
	else
		exchange_fail_memory(exchange);
}

static void ask_for_channel(struct files_task *task)
{
	exchange_channel(task->exchange, HOST_CHANNEL_AGENT, on_channel);
}
