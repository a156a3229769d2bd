#include "sandbox-host/api/conn.h"

#include <stdlib.h>

/* ---- a request ---- */

static void new_exchange(struct conn *conn, struct api *api)
{
	conn->exchange = (struct exchange){
		.api = api,
		.conn = conn,
		.arena = &conn->http.arena,
		.fields = &conn->http.request.fields,
	};
}

static void forget(void *owner)
{
	struct conn *conn = owner;
	struct exchange *exchange = &conn->exchange;
	exchange_fn *on_end = exchange->on_end;

	asked_forget(exchange);
	exchange->on_end = NULL;
	if (on_end)
		on_end(exchange);
	if (exchange->is_held)
		pace_let_go(&exchange->api->held, exchange->client);
	new_exchange(conn, exchange->api);
}

static void serve(void *owner)
{
	struct conn *conn = owner;
	struct exchange *exchange = &conn->exchange;

	exchange->body = buf_view(&conn->http.body);
	exchange->route->handle(exchange);
}

static void on_piece(void *owner, struct bytes piece)
{
	struct conn *conn = owner;

	if (conn->exchange.on_piece)
		conn->exchange.on_piece(&conn->exchange, piece);
}

static void on_complete(void *owner)
{
	struct conn *conn = owner;

	if (conn->exchange.on_complete)
		conn->exchange.on_complete(&conn->exchange);
}

static void on_room(void *owner)
{
	struct conn *conn = owner;

	if (conn->exchange.on_room)
		conn->exchange.on_room(&conn->exchange);
}

/* ---- the beginning ---- */

static int on_hello(void *owner)
{
	struct conn *conn = owner;
	struct err err;

	return api_tls_show(conn->exchange.api, conn->http.io, &err);
}

void conns_open(struct api *api, size_t max)
{
	static const struct http_service service = {
		.arena_max = EXCHANGE_ARENA_MAX,
		.answer_max = EXCHANGE_ANSWER_MAX,
		.makes_room = true,
		.on_head = conn_begin,
		.serve = serve,
		.on_piece = on_piece,
		.on_complete = on_complete,
		.on_room = on_room,
		.refuse = conn_refuse,
		.forget = forget,
		.on_released = free,
		.on_hello = on_hello,
	};

	http_server_init(&api->server, &service, api->loop, max);
}

void conn_accept(struct api *api, int fd)
{
	struct conn *conn = calloc(1, sizeof(*conn));
	struct err err;

	if (!conn) {
		(void)close(fd);
		return;
	}
	new_exchange(conn, api);
	if (http_conn_open(&conn->http, &api->server, fd, conn) < 0) {
		free(conn);
		return;
	}
	if (!api->tls)
		return;
	/* A handshake has the time of a head. */
	io_deadline(conn->http.io, HTTP_HEAD_MS);
	if (api_tls_begin(api, conn->http.io, &err) < 0)
		http_conn_close(&conn->http);
}
