#include "gateway/control/conn.h"

#include <stdlib.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "gateway/control/attach.h"
#include "gateway/control/session_check.h"

/* ---- the end ---- */

static void forget_request(void *owner)
{
	struct conn *conn = owner;

	if (conn->on_end)
		conn->on_end(conn);
	conn->on_end = conn->on_room = NULL;
	conn->is_late = false;
	ask_leave(conn->ask);
	conn->ask = NULL;
	conn->task = NULL;
	conn->route = NULL;
}

static void on_close(void *owner)
{
	struct conn *conn = owner;

	forget_request(conn);
	while (conn->held_count > 0)
		attach_end_session(conn->control, &conn->who,
				   conn->held[--conn->held_count]);
}

/* Whether it holds it or not. */
static void unhold(struct conn *conn, const char *session)
{
	for (size_t i = conn->held_count; i-- > 0;)
		if (!strcmp(conn->held[i], session))
			memmove(conn->held[i], conn->held[--conn->held_count],
				sizeof(conn->held[i]));
}

void conns_unhold(struct control *control, const char *session)
{
	struct http_conn *http;

	DL_FOREACH(control->server.conns, http)
	unhold(http->owner, session);
}

void conns_go_on(struct control *control)
{
	struct http_conn *http, *next;

	DL_FOREACH_SAFE(control->server.conns, http, next)
	{
		struct conn *conn = http->owner;

		if (!conn->is_late || http->state != HTTP_CONN_STREAM)
			continue;
		conn->is_late = false;
		conn->on_room(conn);
	}
}

/* ---- a request ---- */

static void refuse(void *owner, unsigned status, const char *why)
{
	conn_refuse(owner, status, "%s", why);
}

static bool find_route(struct conn *conn)
{
	const struct request *request = &conn->http.request;
	char allow[ROUTE_ALLOW_SIZE];

	conn->route = route_find(control_routes, request->method, request->path,
				 &conn->name, allow);
	if (conn->route)
		return true;
	if (allow[0] == '\0')
		conn_refuse(conn, 404, "there is nothing at this path");
	else
		conn_refuse(conn, 405, "this path has %s", allow);
	return false;
}

static void on_head(void *owner)
{
	struct conn *conn = owner;
	struct err err;

	if (!find_route(conn))
		return;
	if (params_read(conn->http.request.query, conn->route->params,
			&conn->params, &err) < 0) {
		conn_refuse(conn, 400, "%s", err.text);
		return;
	}
	if (conn->route->may == ROUTE_ADMIN && !conn->who.is_admin) {
		log_warn("uid %u may not %s %s", conn->who.uid,
			 conn->route->method, conn->route->path);
		conn_refuse(conn, 403,
			    "only administrators may do this: root, the "
			    "gateway's user, and the group sallyport where "
			    "root runs it");
		return;
	}
	http_conn_collect(&conn->http, conn->route->body_max);
}

static void serve(void *owner)
{
	struct conn *conn = owner;

	if (session_must_be_checked(conn))
		session_check(conn);
	else
		conn->route->handle(conn);
}

static void on_room(void *owner)
{
	struct conn *conn = owner;

	if (conn->on_room)
		conn->on_room(conn);
}

/* ---- the beginning ---- */

void conns_open(struct control *control)
{
	/* One may hold a session, so none makes room for another. */
	static const struct http_service service = {
		.arena_max = CONN_BODY_MAX,
		.answer_max = CONN_ANSWER_MAX,
		.on_head = on_head,
		.serve = serve,
		.on_room = on_room,
		.refuse = refuse,
		.on_close = on_close,
		.forget = forget_request,
		.on_released = free,
	};

	http_server_init(&control->server, &service, control->keeper->loop,
			 CONTROL_CONNS_MAX);
}

static bool has_room_for(const struct control *control, const struct who *who)
{
	const struct http_conn *http;
	size_t count = 0;

	if (who->is_admin)
		return true;
	DL_FOREACH(control->server.conns, http)
	{
		const struct conn *conn = http->owner;

		count += conn->who.uid == who->uid;
	}
	return count < CONTROL_CONNS_OF_USER_MAX;
}

void conn_accept(struct control *control, int fd)
{
	auto_fd int client = fd;
	struct conn *conn;
	struct who who;
	struct err err;

	if (who_of(&control->rules, fd, &who, &err) < 0) {
		log_warn("%s", err.text);
		return;
	}
	conn = has_room_for(control, &who) ? calloc(1, sizeof(*conn)) : NULL;
	if (!conn)
		return;
	conn->control = control;
	conn->who = who;
	if (http_conn_open(&conn->http, &control->server, take_fd(&client),
			   conn) < 0)
		free(conn);
}
