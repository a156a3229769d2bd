#include "sandbox-host/api/execd.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "sandbox-host/api/api.h"
#include "sandbox-host/api/gone.h"

#define WATCH_MS 1000
#define MIB	 (1024.0 * 1024.0)

/* ---- what is kept ---- */

static void on_sweep(void *owner)
{
	struct execd *execd = owner;
	uint64_t now = clock_monotonic_ms();

	isolated_sweep(execd, now);
	io_timer_set(execd->sweep, EXECD_SWEEP_MS);
}

struct execd *execd_open(struct api *api)
{
	struct execd *execd = calloc(1, sizeof(*execd));

	if (!execd)
		return NULL;
	execd->api = api;
	execd->commands = table_new();
	execd->sweep = io_timer_new(api->loop, on_sweep, execd);
	if (execd->commands && execd->sweep) {
		io_timer_set(execd->sweep, EXECD_SWEEP_MS);
		return execd;
	}
	table_free(execd->commands);
	if (execd->sweep)
		io_timer_free(execd->sweep);
	free(execd);
	return NULL;
}

/* ---- bodies ---- */

static bool refuse(struct exchange *exchange, const char *name,
		   const char *what)
{
	exchange_fail(exchange, 400, "INVALID_REQUEST_BODY", "%s must be %s",
		      name, what);
	return false;
}

bool execd_body(struct exchange *exchange, bool is_required, json_t **body)
{
	*body = NULL;
	if (exchange->body.len == 0 && !is_required)
		return true;
	*body = exchange_json(exchange);
	if (!*body)
		return false;
	if (json_is_object(*body))
		return true;
	json_decref(*body);
	*body = NULL;
	return refuse(exchange, "the body", "an object");
}

bool execd_text(struct exchange *exchange, const json_t *body, const char *name,
		bool is_required, struct bytes *text)
{
	const json_t *value = json_object_get(body, name);
	struct bytes view;

	if (!value || json_is_null(value))
		return !is_required ||
		       refuse(exchange, name, "given, as a string");
	if (!json_is_string(value))
		return refuse(exchange, name, "a string");
	view = bytes_from(json_string_value(value), json_string_length(value));
	if (bytes_find(view, 0, 0) >= 0)
		return refuse(exchange, name, "without a NUL");
	if (is_required && view.len == 0)
		return refuse(exchange, name, "given");
	if (view.len > REQUEST_ARG_MAX - 1) {
		exchange_fail(exchange, 413, "INVALID_REQUEST_BODY",
			      "%s is longer than %d bytes", name,
			      REQUEST_ARG_MAX - 1);
		return false;
	}
	*text = bytes_str(arena_str(exchange->arena, view));
	if (!text->data) {
		exchange_fail_memory(exchange);
		return false;
	}
	return true;
}

bool execd_number(struct exchange *exchange, const json_t *body,
		  const char *name, uint64_t max, uint64_t *number)
{
	const json_t *value = json_object_get(body, name);

	if (!value || json_is_null(value))
		return true;
	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
	    (uint64_t)json_integer_value(value) > max)
		return refuse(exchange, name, "a whole number in its range");
	*number = (uint64_t)json_integer_value(value);
	return true;
}

static bool take_id(struct exchange *exchange, const json_t *body,
		    const char *name, bool *is_there, uint32_t *id)
{
	const json_t *value = json_object_get(body, name);
	uint64_t number = 0;

	if (!execd_number(exchange, body, name, UINT32_MAX - 1, &number))
		return false;
	*is_there = value && !json_is_null(value);
	*id = (uint32_t)number;
	return true;
}

bool execd_user(struct exchange *exchange, const json_t *body,
		struct user_wish *user)
{
	if (!take_id(exchange, body, "uid", &user->has_uid, &user->uid) ||
	    !take_id(exchange, body, "gid", &user->has_gid, &user->gid))
		return false;
	if (!user->has_gid || user->has_uid)
		return true;
	exchange_fail(exchange, 400, "INVALID_REQUEST_BODY",
		      "gid is given with uid only");
	return false;
}

bool execd_flag(struct exchange *exchange, const json_t *body, const char *name,
		bool *flag)
{
	const json_t *value = json_object_get(body, name);

	if (!value || json_is_null(value))
		return true;
	if (!json_is_boolean(value))
		return refuse(exchange, name, "true or false");
	*flag = json_is_true(value);
	return true;
}

static const char *variable(struct exchange *exchange, const char *name,
			    const json_t *value)
{
	auto_type(buf_release) struct buf text;

	buf_init(&text, REQUEST_ARG_MAX - 1);
	if (buf_add_str(&text, name) < 0 || buf_add_byte(&text, '=') < 0 ||
	    buf_add(&text, bytes_from(json_string_value(value),
				      json_string_length(value))) < 0)
		return NULL;
	return arena_str(exchange->arena, buf_view(&text));
}

bool execd_env(struct exchange *exchange, const json_t *body, const char *name,
	       struct exec_request *request)
{
	json_t *values = json_object_get(body, name);
	struct text_item *items;
	const char *key;
	json_t *value;

	if (!values || json_is_null(values))
		return true;
	if (!json_is_object(values) ||
	    json_object_size(values) > REQUEST_ENV_MAX)
		return refuse(exchange, name, "an object of variables");
	items = arena_array(exchange->arena, json_object_size(values) + 1,
			    sizeof(*items));
	if (!items) {
		exchange_fail_memory(exchange);
		return false;
	}
	request->env = items;
	json_object_foreach(values, key, value)
	{
		const char *text = NULL;

		if (json_is_string(value) && *key && !strchr(key, '=') &&
		    strlen(json_string_value(value)) ==
			    json_string_length(value))
			text = variable(exchange, key, value);
		if (!text)
			return refuse(exchange, name,
				      "an object of names and strings");
		items[request->env_count++].text = bytes_str(text);
	}
	return true;
}

bool execd_cwd(struct exchange *exchange, const json_t *body, struct bytes *cwd)
{
	if (!execd_text(exchange, body, "cwd", false, cwd))
		return false;
	if (cwd->len > 0 &&
	    (cwd->data[0] != '/' || cwd->len > REQUEST_PATH_MAX))
		return refuse(exchange, "cwd", "an absolute path");
	return true;
}

bool execd_shell(struct exchange *exchange, struct bytes text,
		 struct exec_request *request)
{
	struct text_item *argv = arena_array(exchange->arena, 3, sizeof(*argv));

	if (!argv) {
		exchange_fail_memory(exchange);
		return false;
	}
	argv[0].text = bytes_str("bash");
	argv[1].text = bytes_str("-c");
	argv[2].text = text;
	request->argv = argv;
	request->argv_count = 3;
	return true;
}

void execd_fail_missing(struct exchange *exchange, const char *what)
{
	exchange_fail(exchange, 404, "CONTEXT_NOT_FOUND", "there is no such %s",
		      what);
}

void execd_fail(struct exchange *exchange, const struct exec_client *client)
{
	const struct exec_refusal why = exec_client_refusal(client);
	const struct err err = {.code = ERR_DENIED};
	const struct rpc_refusal refusal = {
		.code = (uint16_t)why.code,
		.detail = bytes_str(why.text),
	};
	const struct rpc_outcome outcome = {
		.err = &err, .refusal = &refusal, .fd = -1};

	/* Also what its channel's end is told as. */
	if (why.code == HOST_REFUSED_UNREACHABLE)
		gone_fail(exchange,
			  arena_str(exchange->arena, bytes_str(why.text)));
	else
		exchange_fail_outcome(exchange, &outcome);
}

void execd_fail_err(struct exchange *exchange, const struct err *err)
{
	if (err_is_shortage(err))
		exchange_fail(exchange, 429, "LIMIT_REACHED", "%s", err->text);
	else if (err->code == ERR_INVALID)
		exchange_fail(exchange, 400, "INVALID_REQUEST", "%s",
			      err->text);
	else if (err->code == ERR_CLOSED)
		gone_fail_unsent(exchange, err);
	else
		exchange_fail(exchange, 500, "RUNTIME_ERROR", "%s", err->text);
}

/* ---- ping, metrics ---- */

static void on_shown(struct exchange *exchange, const void *message, int *fd)
{
	const struct host_sandbox *sandbox = message;

	(void)fd;
	if (sandbox->state == HOST_RUNNING)
		exchange_reply_empty(exchange, 200);
	else
		exchange_fail(exchange, 409, "INVALID_STATE",
			      "the sandbox is %s",
			      host_state_name(sandbox->state));
}

static void ping(struct exchange *exchange)
{
	const struct host_ref ref = {.id = exchange->sandbox};
	const struct exchange_question question = {
		.type = MSG_HOST_SHOW,
		.schema = &host_ref_schema,
		.message = &ref,
		.fd = -1,
		.reply_schema = &host_sandbox_schema,
	};

	exchange_ask(exchange, &question, on_shown);
}

static json_t *metrics_json(const struct host_metrics *metrics)
{
	return json_pack("{s:i,s:f,s:f,s:f,s:i,s:I}", "cpu_count",
			 (int)metrics->cpu_count, "cpu_used_pct",
			 metrics->cpu_percent / 100.0, "mem_total_mib",
			 (double)metrics->memory_total / MIB, "mem_used_mib",
			 (double)metrics->memory_used / MIB, "processes",
			 (int)metrics->processes, "timestamp",
			 (json_int_t)clock_wall_ms());
}

static void ask_metrics(struct exchange *exchange,
			exchange_answer_fn *on_answer)
{
	const struct host_ref ref = {.id = exchange->sandbox};
	const struct exchange_question question = {
		.type = MSG_HOST_METRICS,
		.schema = &host_ref_schema,
		.message = &ref,
		.fd = -1,
		.reply_schema = &host_metrics_schema,
	};

	exchange_ask(exchange, &question, on_answer);
}

static void on_metrics(struct exchange *exchange, const void *message, int *fd)
{
	(void)fd;
	exchange_reply_json(exchange, 200, metrics_json(message));
}

static void get_metrics(struct exchange *exchange)
{
	ask_metrics(exchange, on_metrics);
}

/* One each second, until the client goes or the sandbox ends. */
struct watch {
	struct sse sse;
	struct io_timer *timer;
	struct exchange *exchange;
};

static void on_watched(struct exchange *exchange, const void *message, int *fd)
{
	struct watch *watch = exchange->task;

	(void)fd;
	if (!watch->sse.exchange && sse_open(&watch->sse, exchange) < 0)
		return;
	/* Who asked for the head alone has it. */
	if (bytes_is(exchange->method, "HEAD")) {
		exchange_stream_end(exchange);
		return;
	}
	sse_event(&watch->sse, metrics_json(message));
	io_timer_set(watch->timer, WATCH_MS);
}

static void on_second(void *owner)
{
	const struct watch *watch = owner;

	/* Who does not read gets the next one later. */
	if (exchange_stream_is_full(watch->exchange))
		io_timer_set(watch->timer, WATCH_MS);
	else
		ask_metrics(watch->exchange, on_watched);
}

static void on_watch_end(struct exchange *exchange)
{
	struct watch *watch = exchange->task;

	sse_release(&watch->sse);
	io_timer_free(watch->timer);
	free(watch);
}

static void watch_metrics(struct exchange *exchange)
{
	struct watch *watch = calloc(1, sizeof(*watch));

	if (watch)
		watch->timer =
			io_timer_new(exchange_loop(exchange), on_second, watch);
	if (!watch || !watch->timer) {
		free(watch);
		exchange_fail_memory(exchange);
		return;
	}
	watch->exchange = exchange;
	exchange->task = watch;
	exchange->on_end = on_watch_end;
	ask_metrics(exchange, on_watched);
}

const struct route execd_routes[] = {
	{"GET", "/metrics", ROUTE_TOKEN, 0, ROUTE_WHOLE, get_metrics},
	{"GET", "/metrics/watch", ROUTE_TOKEN, 0, ROUTE_WHOLE, watch_metrics},
	{"GET", "/ping", ROUTE_TOKEN, 0, ROUTE_WHOLE, ping},
	{0},
};
