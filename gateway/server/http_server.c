#include "gateway/server/http_server.h"

#include <assert.h>
#include <utlist.h>

#include "gateway/server/parts.h"

void http_server_init(struct http_server *server,
		      const struct http_service *service, struct io_loop *loop,
		      size_t conns_max)
{
	*server = (struct http_server){
		.service = service, .loop = loop, .conns_max = conns_max};
}

int http_server_listen(struct http_server *server, int fd, io_accept_fn *fn,
		       void *owner, struct err *err)
{
	struct io_listener *listener =
		io_listen(server->loop, fd, fn, owner, err);

	if (!listener)
		return -1;
	assert(server->listener_count < HTTP_LISTENERS_MAX);
	server->listeners[server->listener_count++] = listener;
	return 0;
}

void http_server_stop(struct http_server *server)
{
	while (server->listener_count > 0)
		io_listener_free(server->listeners[--server->listener_count]);
}

void http_server_close(struct http_server *server)
{
	struct http_conn *conn, *next;

	DL_FOREACH_SAFE(server->conns, conn, next)
	{
		http_conn_close(conn);
		/* One that had ended is not waited for any longer. */
		io_close_flushed(conn->io, HTTP_LINGER_MS);
	}
}

/* ---- room ---- */

static void pause_listeners(struct http_server *server, bool is_full)
{
	server->is_full = is_full;
	for (size_t i = 0; i < server->listener_count; i++)
		io_listener_pause(server->listeners[i], is_full);
}

static void make_room(struct http_server *server)
{
	struct http_conn *conn = NULL;

	if (server->service->makes_room)
		DL_SEARCH_SCALAR(server->conns, conn, state, HTTP_CONN_HEAD);
	if (conn) {
		http_conn_close(conn);
		return;
	}
	pause_listeners(server, true);
	/* Who takes long to read a last answer holds nothing else. */
	DL_SEARCH_SCALAR(server->conns, conn, state, HTTP_CONN_CLOSED);
	if (conn)
		io_close(conn->io);
}

void http_server_add(struct http_server *server, struct http_conn *conn)
{
	if (++server->conn_count >= server->conns_max)
		make_room(server);
	DL_APPEND(server->conns, conn);
}

void http_server_requeue(struct http_server *server, struct http_conn *conn)
{
	DL_DELETE(server->conns, conn);
	DL_APPEND(server->conns, conn);
}

void http_server_remove(struct http_server *server, struct http_conn *conn)
{
	DL_DELETE(server->conns, conn);
	server->conn_count--;
	if (server->is_full)
		pause_listeners(server, false);
}
