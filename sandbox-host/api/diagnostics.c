/* What a sandbox wrote and what happened to it, as one text each. */
#include "common/cleanup.h"
#include "common/clock.h"
#include "sandbox-host/api/lifecycle.h"
#include "sandbox-host/api/shown.h"

#define CONTENT_MAX (1024 * 1024)

struct collecting {
	struct buf text;
	struct host_after after;
	bool is_truncated;
	const char *kind, *scope;
};

static void on_end(struct exchange *exchange)
{
	struct collecting *collecting = exchange->task;

	buf_release(&collecting->text);
}

/* Without a scope: the text alone, as older clients have it. */
static void reply(struct exchange *exchange)
{
	struct collecting *collecting = exchange->task;
	struct bytes text = buf_view(&collecting->text);

	if (!collecting->scope) {
		exchange_reply_bytes(exchange, 200, "text/plain; charset=utf-8",
				     text);
		return;
	}
	exchange_reply_json(
		exchange, 200,
		json_pack("{s:o, s:s, s:s, s:s, s:s, s:o, s:I, s:b}",
			  "sandboxId", shown_text(collecting->after.id), "kind",
			  collecting->kind, "scope", collecting->scope,
			  "delivery", "inline", "contentType", "text/plain",
			  "content", shown_text(text), "contentLength",
			  (json_int_t)text.len, "truncated",
			  collecting->is_truncated));
}

/* ---- logs ---- */

static void ask_log(struct exchange *exchange);

static void on_log(struct exchange *exchange, const void *message, int *fd)
{
	struct collecting *collecting = exchange->task;
	const struct host_log *log = message;

	(void)fd;
	collecting->is_truncated |= log->start > collecting->after.after;
	collecting->after.after = log->start + log->text.len;
	if (buf_add(&collecting->text, log->text) < 0) {
		collecting->is_truncated = true;
		reply(exchange);
	} else if (log->text.len == 0) {
		reply(exchange);
	} else {
		ask_log(exchange);
	}
}

static void ask_log(struct exchange *exchange)
{
	const struct collecting *collecting = exchange->task;
	const struct exchange_question question = {
		.type = MSG_HOST_LOGS,
		.schema = &host_after_schema,
		.message = &collecting->after,
		.fd = -1,
		.reply_schema = &host_log_schema,
	};

	exchange_ask(exchange, &question, on_log);
}

/* ---- events ---- */

static int add_event(struct buf *out, const struct host_event *event)
{
	char time[CLOCK_TEXT_SIZE];

	clock_format(event->time_ms, time);
	return buf_add_format(out, "%s %.*s %.*s\n", time,
			      BYTES_ARGS(event->kind), BYTES_ARGS(event->text));
}

static void ask_events(struct exchange *exchange);

static void on_events(struct exchange *exchange, const void *message, int *fd)
{
	struct collecting *collecting = exchange->task;
	const struct host_events *events = message;

	(void)fd;
	for (size_t i = 0; i < events->events_count; i++) {
		const struct host_event *event = &events->events[i];

		collecting->is_truncated |=
			add_event(&collecting->text, event) < 0;
		collecting->after.after = event->sequence;
	}
	if (events->more && !collecting->is_truncated)
		ask_events(exchange);
	else
		reply(exchange);
}

static void ask_events(struct exchange *exchange)
{
	const struct collecting *collecting = exchange->task;
	const struct exchange_question question = {
		.type = MSG_HOST_EVENTS,
		.schema = &host_after_schema,
		.message = &collecting->after,
		.fd = -1,
		.reply_schema = &host_events_schema,
	};

	exchange_ask(exchange, &question, on_events);
}

/* ---- both ---- */

/* Answered when it is none of ours. */
static bool read_scope(struct exchange *exchange, const char *const *scopes,
		       const char **scope)
{
	struct bytes given;

	*scope = NULL;
	if (!exchange_query(exchange, "scope", &given))
		return true;
	for (; *scopes; scopes++)
		if (bytes_is(given, *scopes)) {
			*scope = *scopes;
			return true;
		}
	exchange_fail(exchange, 501, "NOT_SUPPORTED",
		      "there is nothing of this scope");
	return false;
}

static bool begin(struct exchange *exchange, const char *kind,
		  const char *const *scopes)
{
	struct collecting *collecting =
		arena_alloc(exchange->arena, sizeof(*collecting));
	struct bytes id = exchange->pieces[0];

	if (!collecting) {
		exchange_fail_memory(exchange);
		return false;
	}
	if (id.len > HOST_ID_MAX || !wire_is_printable(id)) {
		exchange_fail(exchange, 404, "SANDBOX_NOT_FOUND",
			      "there is no such sandbox");
		return false;
	}
	if (!read_scope(exchange, scopes, &collecting->scope))
		return false;
	buf_init(&collecting->text, CONTENT_MAX);
	collecting->kind = kind;
	collecting->after.id = id;
	exchange->task = collecting;
	exchange->on_end = on_end;
	return true;
}

void lifecycle_logs(struct exchange *exchange)
{
	static const char *const scopes[] = {"container", "process", "all",
					     NULL};

	if (begin(exchange, "logs", scopes))
		ask_log(exchange);
}

void lifecycle_events(struct exchange *exchange)
{
	static const char *const scopes[] = {"lifecycle", "runtime", "all",
					     NULL};

	if (begin(exchange, "events", scopes))
		ask_events(exchange);
}

/* What a client measured of us; nobody here wants it. */
void lifecycle_metrics(struct exchange *exchange)
{
	exchange_reply_empty(exchange, 204);
}
