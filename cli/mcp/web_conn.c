#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/mcp/web_parts.h"
#include "common/cleanup.h"

#define FIELDS_MAX 5

/* ---- answers ---- */

static void add(struct fields *fields, const char *name, const char *value)
{
	(void)fields_add(fields, bytes_str(name), bytes_str(value));
}

/* type and session may be NULL. */
static void add_fields(struct fields *fields, unsigned status, const char *type,
		       const char *session)
{
	add(fields, "Cache-Control", "no-store");
	if (type)
		add(fields, "Content-Type", type);
	if (session)
		add(fields, "Mcp-Session-Id", session);
	if (status == 401)
		add(fields, "WWW-Authenticate", "Bearer");
	if (status == 405)
		add(fields, "Allow", "GET, POST, DELETE");
}

void web_conn_reply(struct web_conn *conn, unsigned status, const char *type,
		    struct bytes body, const char *session)
{
	struct field items[FIELDS_MAX];
	struct fields fields = {items, 0, ARRAY_SIZE(items)};

	add_fields(&fields, status, type, session);
	http_conn_reply(&conn->http, status, &fields, body);
}

void web_conn_refuse(struct web_conn *conn, unsigned status, int code,
		     const char *format, ...)
{
	char text[MESSAGE_TEXT_MAX];
	auto_free char *body = NULL;
	json_t *message;
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	message = message_error(NULL, code, "%s", text);
	body = message ? json_dumps(message, JSON_COMPACT) : NULL;
	json_decref(message);
	web_conn_reply(conn, status, "application/json", bytes_str(body), NULL);
}

int web_conn_stream(struct web_conn *conn)
{
	struct field items[FIELDS_MAX];
	struct fields fields = {items, 0, ARRAY_SIZE(items)};

	add_fields(&fields, 200, "text/event-stream", NULL);
	return http_conn_stream_begin(&conn->http, 200, &fields, UINT64_MAX);
}

void web_conn_event(struct web_conn *conn, struct bytes line)
{
	static const char before[] = "event: message\ndata: ";
	auto_type(buf_release) struct buf event;

	buf_init(&event, sizeof(before) + line.len + 2);
	if (buf_add_str(&event, before) < 0 || buf_add(&event, line) < 0 ||
	    buf_add_str(&event, "\n\n") < 0)
		http_conn_close(&conn->http);
	else
		(void)http_conn_stream_write(&conn->http, buf_view(&event));
}

void web_conn_alive(struct web_conn *conn)
{
	if (!http_conn_is_full(&conn->http))
		(void)http_conn_stream_write(&conn->http, bytes_str(":\n\n"));
}

/* ---- the beginning ---- */

static void refuse(void *owner, unsigned status, const char *why)
{
	web_conn_refuse(owner, status, MESSAGE_INVALID_REQUEST, "%s", why);
}

void web_conns_open(struct web *web)
{
	static const struct http_service service = {
		.answer_max = WEB_ANSWER_MAX,
		.makes_room = true,
		.on_head = web_begin,
		.serve = web_post,
		.refuse = refuse,
		.on_close = web_session_leave,
		.forget = web_session_leave,
		.on_released = free,
	};

	http_server_init(&web->server, &service, web->loop, WEB_CONNS_MAX);
}

void web_accept(struct web *web, int fd)
{
	struct web_conn *conn = calloc(1, sizeof(*conn));

	if (!conn) {
		(void)close(fd);
		return;
	}
	conn->web = web;
	if (http_conn_open(&conn->http, &web->server, fd, conn) < 0)
		free(conn);
}
