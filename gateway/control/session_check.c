#include "gateway/control/session_check.h"

#include "common/log.h"

static bool is_in_path(const struct conn *conn)
{
	return conn->name.len > 0;
}

struct bytes session_named(const struct conn *conn)
{
	return is_in_path(conn) ? conn->name : conn->params.session;
}

bool session_must_be_checked(const struct conn *conn)
{
	if (conn->route->may != ROUTE_OWNER)
		return false;
	return is_in_path(conn) || !conn->who.is_admin;
}

struct question session_question(const struct msg_session_query *message)
{
	return (struct question){
		.role = ROLE_WARDEN,
		.type = MSG_SESSION_LIST,
		.schema = &msg_session_query_schema,
		.message = message,
		.fd = -1,
		.reply_schema = &msg_session_list_schema,
	};
}

static void on_session(struct conn *conn, const void *message)
{
	const struct msg_session_list *list = message;

	if (list->sessions_count == 0) {
		conn_refuse(conn, 404, "there is no such session");
		return;
	}
	if (!conn->who.is_admin &&
	    list->sessions[0].owner_uid != conn->who.uid) {
		log_warn("uid %u may not use session %.*s", conn->who.uid,
			 BYTES_ARGS(list->sessions[0].id));
		conn_refuse(conn, 403, "this session is somebody else's");
		return;
	}
	conn->session = &list->sessions[0];
	conn->route->handle(conn);
	conn->session = NULL;
}

void session_check(struct conn *conn)
{
	const struct msg_session_query query = {.id = session_named(conn)};
	struct question question = session_question(&query);

	if (query.id.len == 0) {
		conn_refuse(conn, 403,
			    "only administrators may see every session: name "
			    "one of yours (?session=, or --session)");
		return;
	}
	if (query.id.len > SESSION_ID_MAX) {
		conn_refuse(conn, 404, "there is no such session");
		return;
	}
	conn_ask(conn, &question, on_session);
}
