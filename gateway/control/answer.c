#include "gateway/control/conn.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "gateway/http/write.h"

#define DETAIL_MAX 512

/* ---- whole answers ---- */

/* Room is made within a moment: what is too much is counted by the second, and
 * what is open ends. */
#define RETRY_AFTER_S "1"
#define FIELDS_MAX    3

static struct fields fields_of(struct field items[FIELDS_MAX], unsigned status,
			       const char *type)
{
	items[0] = (struct field){bytes_str("Content-Type"), bytes_str(type)};
	items[1] = (struct field){bytes_str("Cache-Control"),
				  bytes_str("no-store")};
	items[2] = (struct field){bytes_str("Retry-After"),
				  bytes_str(RETRY_AFTER_S)};
	return (struct fields){items, status == 429 ? 3 : 2, FIELDS_MAX};
}

static void answer_json(struct conn *conn, unsigned status, const char *type,
			json_t *object)
{
	auto_free char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
	struct field items[FIELDS_MAX];
	struct fields fields = fields_of(items, status, type);

	json_decref(object);
	if (text)
		http_conn_reply(&conn->http, status, &fields, bytes_str(text));
	else
		http_conn_close(&conn->http);
}

void conn_reply_json(struct conn *conn, unsigned status, json_t *object)
{
	answer_json(conn, status, "application/json", object);
}

void conn_reply_empty(struct conn *conn)
{
	static const struct fields none;

	http_conn_reply(&conn->http, 204, &none, bytes_from(NULL, 0));
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

	if (conn->http.state == HTTP_CONN_STREAM) {
		http_conn_close(&conn->http);
		return;
	}
	if (outcome->err->code == ERR_DENIED && outcome->refusal)
		(void)snprintf(detail, sizeof(detail), "%.*s",
			       BYTES_ARGS(outcome->refusal->detail));
	else if (outcome->err->code == ERR_CLOSED)
		(void)snprintf(detail, sizeof(detail),
			       "a part of the gateway is away, and its log "
			       "says why: %.400s",
			       outcome->err->text);
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
	if (conn->http.state != HTTP_CONN_STREAM) {
		conn_refuse(conn, err.code == ERR_TOO_LARGE ? 429 : 503, "%s",
			    err.text);
	} else if (err.code == ERR_TOO_LARGE) {
		conn->is_late = true;
		io_timer_set(conn->control->later, CONTROL_LATER_MS);
	} else {
		http_conn_close(&conn->http);
	}
}

/* ---- streams ---- */

int conn_stream_begin(struct conn *conn, void (*on_room)(struct conn *conn))
{
	struct field items[FIELDS_MAX];
	struct fields fields = fields_of(items, 200, "application/x-ndjson");

	conn->on_room = on_room;
	return http_conn_stream_begin(&conn->http, 200, &fields, UINT64_MAX);
}

int conn_stream_line(struct conn *conn, struct bytes line)
{
	auto_type(buf_release) struct buf text;

	buf_init(&text, line.len + 1);
	if (buf_add(&text, line) < 0 || buf_add_byte(&text, '\n') < 0) {
		http_conn_close(&conn->http);
		return -1;
	}
	return http_conn_stream_write(&conn->http, buf_view(&text));
}
