/*
 * Server-sent events as OpenSandbox's execd sends them: bare JSON, each
 * followed by an empty line.
 */
#include <stdlib.h>

#include "common/clock.h"
#include "sandbox-host/api/execd.h"

#define EVENT_MAX (8 * 1024 * 1024)

static void on_ping(void *owner)
{
	struct sse *sse = owner;

	io_timer_set(sse->ping, EXECD_PING_MS);
	sse_text(sse, "ping", bytes_str("pong"));
}

int sse_open(struct sse *sse, struct exchange *exchange)
{
	exchange_add_field(exchange, "Cache-Control", bytes_str("no-cache"));
	exchange_add_field(exchange, "X-Accel-Buffering", bytes_str("no"));
	*sse = (struct sse){.exchange = exchange,
			    .started_ms = clock_monotonic_ms()};
	buf_init(&sse->out, EVENT_MAX);
	return exchange_stream_begin(exchange, 200, "text/event-stream",
				     UINT64_MAX);
}

int sse_begin(struct sse *sse, struct exchange *exchange, const char *id)
{
	struct io_timer *ping =
		io_timer_new(exchange_loop(exchange), on_ping, sse);

	if (!ping) {
		exchange_fail_memory(exchange);
		return -1;
	}
	if (sse_open(sse, exchange) < 0) {
		io_timer_free(ping);
		return -1;
	}
	sse->ping = ping;
	sse_text(sse, "init", bytes_str(id));
	on_ping(sse);
	return 0;
}

static int append(const char *bytes, size_t len, void *owner)
{
	return buf_add(owner, bytes_from(bytes, len));
}

void sse_event(struct sse *sse, json_t *event)
{
	json_t *now = json_integer((json_int_t)clock_wall_ms());

	buf_clear(&sse->out);
	if (sse->exchange && event &&
	    json_object_set_new(event, "timestamp", now) == 0 &&
	    json_dump_callback(event, append, &sse->out, JSON_COMPACT) == 0 &&
	    buf_add_str(&sse->out, "\n\n") == 0)
		(void)exchange_stream_write(sse->exchange, buf_view(&sse->out));
	json_decref(event);
}

void sse_text(struct sse *sse, const char *type, struct bytes text)
{
	sse_event(sse, json_pack("{s:s,s:s%}", "type", type, "text",
				 text.data ? (const char *)text.data : "",
				 text.len));
}

bool sse_lines(struct sse *sse, const char *type, struct buf *from,
	       bool has_ended)
{
	struct buf line;

	buf_init(&line, LINE_TEXT_MAX);
	while (!exchange_stream_is_full(sse->exchange) &&
	       lines_next(from, has_ended, &line))
		sse_text(sse, type, buf_view(&line));
	buf_release(&line);
	return buf_len(from) == 0;
}

static void end(struct sse *sse)
{
	struct exchange *exchange = sse->exchange;

	if (sse->ping)
		io_timer_set(sse->ping, 0);
	sse->exchange = NULL;
	exchange_stream_end(exchange);
}

void sse_complete(struct sse *sse)
{
	uint64_t took = clock_monotonic_ms() - sse->started_ms;

	sse_event(sse, json_pack("{s:s,s:I}", "type", "execution_complete",
				 "execution_time", (json_int_t)took));
	end(sse);
}

void sse_error(struct sse *sse, const char *name, const char *value,
	       struct bytes traceback)
{
	json_t *lines = json_array();

	if (traceback.len > 0)
		(void)json_array_append_new(
			lines, json_stringn((const char *)traceback.data,
					    traceback.len));
	sse_event(sse, json_pack("{s:s,s:{s:s,s:s,s:o}}", "type", "error",
				 "error", "ename", name, "evalue", value,
				 "traceback", lines));
	end(sse);
}

void sse_release(struct sse *sse)
{
	if (sse->ping)
		io_timer_free(sse->ping);
	buf_release(&sse->out);
	*sse = (struct sse){.exchange = NULL};
}
