#include "gateway/control/answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "gateway/http/write.h"

#define DETAIL_MAX 512

/* ---- whole answers ---- */

static int write_answer(struct buf *out, struct conn *conn, unsigned status,
			const char *type, struct bytes body)
{
	struct field items[] = {
		{bytes_str("Content-Type"), bytes_str(type)},
		{bytes_str("Cache-Control"), bytes_str("no-store")},
	};
	const struct response response = {
		.status = status,
		.reason = write_reason(status),
		.fields = {items, type ? 2 : 0, ARRAY_SIZE(items)},
		.framing = type ? FRAMING_LENGTH : FRAMING_NONE,
		.body_len = body.len,
	};

	if (write_response(out, &response, conn->request.keep_alive) < 0)
		return -1;
	return buf_add(out, body);
}

static void answer(struct conn *conn, unsigned status, const char *type,
		   struct bytes body)
{
	auto_type(buf_release) struct buf out;

	buf_init(&out, CONN_ANSWER_MAX + HEAD_BYTES_MAX);
	if (write_answer(&out, conn, status, type, body) < 0 ||
	    io_write(conn->io, buf_view(&out)) < 0) {
		log_warn("an answer could not be sent");
		conn_close(conn);
		return;
	}
	conn_request_done(conn);
}

static void answer_json(struct conn *conn, unsigned status, const char *type,
			json_t *object)
{
	auto_free char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;

	json_decref(object);
	if (text)
		answer(conn, status, type, bytes_str(text));
	else
		conn_close(conn);
}

void conn_reply_json(struct conn *conn, unsigned status, json_t *object)
{
	answer_json(conn, status, "application/json", object);
}

void conn_reply_empty(struct conn *conn)
{
	answer(conn, 204, NULL, bytes_from(NULL, 0));
}

/* Text that may hold bytes which are no UTF-8: those become '?'. */
static json_t *text_of(const char *text)
{
	char plain[DETAIL_MAX];
	size_t len = 0;
	json_t *string = json_string(text);

	if (string)
		return string;
	for (; text[len] && len < sizeof(plain) - 1; len++)
		plain[len] = (text[len] & 0x80) ? '?' : text[len];
	plain[len] = '\0';
	return json_string(plain);
}

static json_t *problem_of(unsigned status, const char *detail)
{
	struct bytes title = write_reason(status);

	return json_pack("{s:s, s:s%, s:i, s:o}", "type", "about:blank",
			 "title", title.data, title.len, "status", (int)status,
			 "detail", text_of(detail));
}

void conn_refuse(struct conn *conn, unsigned status, const char *format, ...)
{
	char detail[DETAIL_MAX];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(detail, sizeof(detail), format, args);
	va_end(args);
	answer_json(conn, status, "application/problem+json",
		    problem_of(status, detail));
}

void conn_refuse_errors(struct conn *conn, unsigned status, const char *detail,
			struct bytes errors)
{
	json_t *problem = problem_of(status, detail);
	json_t *text = json_stringn((const char *)errors.data, errors.len);

	if (problem && text)
		(void)json_object_set(problem, "errors", text);
	json_decref(text);
	answer_json(conn, status, "application/problem+json", problem);
}

/* ---- what others answer ---- */

static unsigned status_of(const struct rpc_outcome *outcome)
{
	enum constraint constraint;

	if (outcome->err->code == ERR_TIMEOUT)
		return 504;
	if (outcome->err->code != ERR_DENIED || !outcome->refusal ||
	    outcome->refusal->code >= CONSTRAINT_MAX)
		return 503;
	constraint = (enum constraint)outcome->refusal->code;
	if (constraint == CONSTRAINT_session_revoked ||
	    constraint == CONSTRAINT_credential_unavailable)
		return 404;
	if (constraint == CONSTRAINT_resource_limit)
		return 429;
	return constraint_status(constraint);
}

void conn_refuse_outcome(struct conn *conn, const struct rpc_outcome *outcome)
{
	char detail[DETAIL_MAX];

	if (conn->state == CONN_STREAM) {
		conn_close(conn);
		return;
	}
	if (outcome->err->code == ERR_DENIED && outcome->refusal)
		(void)snprintf(detail, sizeof(detail), "%.*s",
			       BYTES_ARGS(outcome->refusal->detail));
	else
		(void)snprintf(detail, sizeof(detail), "%s",
			       outcome->err->text);
	conn_refuse(conn, status_of(outcome), "%s", detail);
}

static void on_outcome(struct rpc_outcome *outcome, void *owner)
{
	struct conn *conn = owner;

	conn->ask = NULL;
	if (outcome->err)
		conn_refuse_outcome(conn, outcome);
	else
		conn->on_answer(conn, outcome->message);
}

void conn_ask(struct conn *conn, struct question *question, conn_answer_fn *fn)
{
	struct err err;

	question->fn = on_outcome;
	question->owner = conn;
	conn->on_answer = fn;
	conn->ask = ask_send(conn->control, question, &err);
	if (conn->ask)
		return;
	if (conn->state != CONN_STREAM) {
		conn_refuse(conn, err.code == ERR_TOO_LARGE ? 429 : 503, "%s",
			    err.text);
	} else if (err.code == ERR_TOO_LARGE) {
		conn->is_late = true;
		io_timer_set(conn->control->later, CONTROL_LATER_MS);
	} else {
		conn_close(conn);
	}
}

/* ---- streams ---- */

int conn_stream_begin(struct conn *conn, void (*on_room)(struct conn *conn),
		      void (*on_end)(struct conn *conn))
{
	struct field items[] = {
		{bytes_str("Content-Type"), bytes_str("application/x-ndjson")},
		{bytes_str("Cache-Control"), bytes_str("no-store")},
	};
	struct response response = {
		.status = 200,
		.reason = bytes_str("OK"),
		.fields = {items, ARRAY_SIZE(items), ARRAY_SIZE(items)},
		.framing = FRAMING_CHUNKED,
	};
	auto_type(buf_release) struct buf out;

	buf_init(&out, HEAD_BYTES_MAX);
	response.framing = framing_for_client(&response, &conn->request);
	if (response.framing == FRAMING_TO_CLOSE)
		conn->request.keep_alive = false;
	if (write_response(&out, &response, conn->request.keep_alive) < 0 ||
	    io_write(conn->io, buf_view(&out)) < 0) {
		conn_close(conn);
		return -1;
	}
	conn->state = CONN_STREAM;
	conn->on_room = on_room;
	conn->on_end = on_end;
	return 0;
}

static enum framing stream_framing(const struct conn *conn)
{
	return conn->request.is_http10 ? FRAMING_TO_CLOSE : FRAMING_CHUNKED;
}

int conn_stream_line(struct conn *conn, struct bytes line)
{
	auto_type(buf_release) struct buf text, out;

	buf_init(&text, line.len + 1);
	buf_init(&out, line.len + 64);
	if (buf_add(&text, line) < 0 || buf_add_byte(&text, '\n') < 0 ||
	    body_encode(&out, stream_framing(conn), buf_view(&text)) < 0 ||
	    io_write(conn->io, buf_view(&out)) < 0) {
		conn_close(conn);
		return -1;
	}
	if (io_is_full(conn->io))
		io_deadline(conn->io, CONN_STALLED_MS);
	return 0;
}

bool conn_stream_is_full(const struct conn *conn)
{
	return io_is_full(conn->io);
}

void conn_stream_end(struct conn *conn)
{
	auto_type(buf_release) struct buf out;

	buf_init(&out, 64);
	if (body_encode_end(&out, stream_framing(conn)) < 0 ||
	    (buf_len(&out) && io_write(conn->io, buf_view(&out)) < 0)) {
		conn_close(conn);
		return;
	}
	conn_request_done(conn);
}
