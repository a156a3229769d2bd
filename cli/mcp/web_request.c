#include <string.h>

#include "cli/mcp/server.h"
#include "cli/mcp/web_parts.h"

#define TYPE_JSON   "application/json"
#define TYPE_EVENTS "text/event-stream"
#define PATH	    "/mcp"

static struct bytes field_of(const struct web_conn *conn, const char *name)
{
	const struct field *field =
		fields_find(&conn->http.request.fields, name);

	return field ? field->value : bytes_from(NULL, 0);
}

static void refuse(struct web_conn *conn, unsigned status, const char *why)
{
	web_conn_refuse(conn, status, MESSAGE_INVALID_REQUEST, "%s", why);
}

/* ---- who asks, and for what ---- */

static bool is_admitted(struct web_conn *conn)
{
	const struct request *request = &conn->http.request;
	const struct fields *fields = &request->fields;

	if (!web_is_local(request->host)) {
		refuse(conn, 403, "Host must be a name of this host");
	} else if (!web_origin_is_local(fields)) {
		refuse(conn, 403, "pages of other origins may not ask");
	} else if (!web_has_token(fields, bytes_str(conn->web->token))) {
		refuse(conn, 401, "the bearer token is missing or wrong");
	} else {
		return true;
	}
	return false;
}

static bool is_known(struct web_conn *conn)
{
	struct bytes method = conn->http.request.method;
	struct bytes revision = field_of(conn, "MCP-Protocol-Version");

	if (!bytes_is(conn->http.request.path, PATH))
		refuse(conn, 404, "there is nothing here but " PATH);
	else if (!bytes_is(method, "GET") && !bytes_is(method, "POST") &&
		 !bytes_is(method, "DELETE"))
		refuse(conn, 405, "GET, POST and DELETE are served");
	else if (revision.len > 0 && !server_knows_revision(revision))
		refuse(conn, 400,
		       "MCP-Protocol-Version is none that is known here");
	else
		return true;
	return false;
}

/* NULL: it was refused. */
static struct web_session *session_of(struct web_conn *conn)
{
	struct bytes id = field_of(conn, "Mcp-Session-Id");
	struct web_session *session = web_session_find(conn->web, id);

	if (id.len == 0)
		refuse(conn, 400,
		       "Mcp-Session-Id is missing: begin with "
		       "\"initialize\"");
	else if (!session)
		refuse(conn, 404, "there is no such session (any more)");
	return session;
}

static void serve_get(struct web_conn *conn)
{
	struct web_session *session;

	if (!web_accepts(&conn->http.request.fields, TYPE_EVENTS)) {
		refuse(conn, 406, "Accept must name " TYPE_EVENTS);
		return;
	}
	session = session_of(conn);
	if (session && web_conn_stream(conn) == 0)
		web_session_listen(session, conn);
}

static void serve_delete(struct web_conn *conn)
{
	struct web_session *session = session_of(conn);

	if (!session)
		return;
	web_session_end(session);
	web_conn_reply(conn, 204, NULL, bytes_from(NULL, 0), NULL);
}

static void begin_post(struct web_conn *conn)
{
	const struct request *request = &conn->http.request;

	if (!web_is_json(&request->fields)) {
		refuse(conn, 415, "the body must be " TYPE_JSON);
	} else if (!web_accepts(&request->fields, TYPE_JSON) ||
		   !web_accepts(&request->fields, TYPE_EVENTS)) {
		refuse(conn, 406,
		       "Accept must name " TYPE_JSON " and " TYPE_EVENTS);
	} else {
		http_conn_collect(&conn->http, WEB_BODY_MAX);
	}
}

void web_begin(void *owner)
{
	struct web_conn *conn = owner;

	if (!is_admitted(conn) || !is_known(conn))
		return;
	if (bytes_is(conn->http.request.method, "POST"))
		begin_post(conn);
	else if (!conn->http.is_body_over)
		refuse(conn, 400, "this method has no body");
	else if (bytes_is(conn->http.request.method, "GET"))
		serve_get(conn);
	else
		serve_delete(conn);
}

/* ---- messages ---- */

static bool is_method(const struct message *message, const char *name)
{
	return message->method && !strcmp(message->method, name);
}

static void refuse_err(struct web_conn *conn, const struct err *err)
{
	unsigned status = err->code == ERR_TOO_LARGE ? 429
			  : err->code == ERR_INVALID ? 400
						     : 500;

	web_conn_refuse(conn, status,
			status == 500 ? MESSAGE_INTERNAL_ERROR
				      : MESSAGE_INVALID_REQUEST,
			"%s", err->text);
}

/* A call may take its time: its answer is a stream, on which comments say
 * that it goes on. 0, or -1: it was refused. */
static int await(struct web_conn *conn, struct web_session *session,
		 const struct message *message)
{
	struct err err;

	if (web_session_ask(session, conn, message, &err) < 0) {
		refuse_err(conn, &err);
		return -1;
	}
	if (is_method(message, "tools/call"))
		(void)web_conn_stream(conn);
	return 0;
}

static void serve_first(struct web_conn *conn, const struct message *message)
{
	struct web_session *session;
	struct err err;

	session = web_session_new(conn->web, &err);
	if (!session)
		refuse_err(conn, &err);
	else if (await(conn, session, message) < 0)
		web_session_end(session); /* nobody was told of it */
}

static void serve_message(struct web_conn *conn, const struct message *message)
{
	struct web_session *session;
	struct err err;

	if (message->kind == MESSAGE_REQUEST &&
	    is_method(message, "initialize")) {
		if (field_of(conn, "Mcp-Session-Id").len > 0)
			refuse(conn, 400, "this session has begun already");
		else
			serve_first(conn, message);
		return;
	}
	session = session_of(conn);
	if (!session)
		return;
	if (message->kind == MESSAGE_REQUEST) {
		(void)await(conn, session, message);
		return;
	}
	if (web_session_tell(session, message, &err) < 0) {
		refuse_err(conn, &err);
		return;
	}
	if (is_method(message, "notifications/cancelled"))
		web_session_cancel(
			session, json_object_get(message->params, "requestId"));
	web_conn_reply(conn, 202, NULL, bytes_from(NULL, 0), NULL);
}

void web_post(void *owner)
{
	struct web_conn *conn = owner;
	struct message message;

	message_read(&message, buf_view(&conn->http.body));
	if (message.kind == MESSAGE_BROKEN)
		web_conn_refuse(conn, 400, message.error, "%s",
				message.error == MESSAGE_PARSE_ERROR
					? "this is no JSON"
					: "this is no message of JSON-RPC 2.0");
	else
		serve_message(conn, &message);
	message_release(&message);
}
