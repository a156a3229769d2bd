#include "sandbox-host/api/proxy.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "gateway/http/head.h"
#include "gateway/http/write.h"
#include "gateway/websocket/handshake.h"
#include "sandbox-host/api/areas.h"
#include "sandbox-host/api/conn.h"

#define PORT_DIGITS   5
#define HOST_INSIDE   "127.0.0.1"
#define STATUS_SWITCH 101

static const struct io_limits limits = {
	.in_max = 64 * 1024,
	.out_high = HTTP_OUT_HIGH,
	.out_max = 4 * HTTP_OUT_HIGH,
};

enum proxy_state { PROXY_HEAD, PROXY_BODY, PROXY_RAW, PROXY_OVER };

struct proxy {
	struct exchange *exchange; /* NULL: it is over */
	struct io *io;		   /* to the inside */
	enum proxy_state state;
	uint16_t port;
	unsigned interims;
	enum framing framing; /* of the request, as it goes on */
	struct guard guard;
	struct response response;
	struct body_decoder decoder;
	struct websocket_handshake handshake;
};

/* ---- the end ---- */

static void let_go(struct proxy *proxy)
{
	if (proxy->state == PROXY_OVER)
		return;
	proxy->state = PROXY_OVER;
	io_close(proxy->io);
}

/* Before there is a connection there is nothing but the memory. */
static void on_end(struct exchange *exchange)
{
	struct proxy *proxy = exchange->task;

	proxy->exchange = NULL;
	if (proxy->io)
		let_go(proxy);
	else
		free(proxy);
}

/* It answers wrongly, or not at all. */
static void fail(struct proxy *proxy, const char *why)
{
	struct exchange *exchange = proxy->exchange;

	if (proxy->state == PROXY_HEAD)
		exchange_fail(exchange, 502, "BAD_GATEWAY", "port %u: %s",
			      (unsigned)proxy->port, why);
	else
		exchange_break(exchange);
}

/* ---- its answer ---- */

/* Some say to a browser what holds for all of a host: each sandbox has some
 * paths of ours. */
static bool is_ours(struct bytes name)
{
	static const char *const names[] = {
		"X-Request-ID",
		"Sec-WebSocket-Extensions",
		"Service-Worker-Allowed",
		"Clear-Site-Data",
		"Strict-Transport-Security",
		"Alt-Svc",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (bytes_is_nocase(name, names[i]))
			return true;
	return write_is_own(name);
}

static void copy_fields(struct proxy *proxy)
{
	const struct fields *fields = &proxy->response.fields;

	for (size_t i = 0; i < fields->count; i++) {
		const char *name = arena_str(proxy->exchange->arena,
					     fields->items[i].name);

		if (name && !is_ours(fields->items[i].name))
			exchange_add_field(proxy->exchange, name,
					   fields->items[i].value);
	}
}

static bool begin_raw(struct proxy *proxy)
{
	struct http_fault fault;

	if (websocket_agree(&proxy->handshake, &proxy->response, &fault) < 0) {
		fail(proxy, fault.reason);
		return false;
	}
	copy_fields(proxy);
	proxy->state = PROXY_RAW;
	if (exchange_upgrade(proxy->exchange) < 0)
		return false;
	/* What came with the handshake. */
	exchange_body_pause(proxy->exchange, false);
	return true;
}

static bool begin_body(struct proxy *proxy)
{
	const struct response *response = &proxy->response;
	uint64_t len = response->framing == FRAMING_CHUNKED ||
				       response->framing == FRAMING_TO_CLOSE
			       ? UINT64_MAX
			       : response->body_len;

	copy_fields(proxy);
	if (response->status == 204 || response->status == 304) {
		exchange_reply_empty(proxy->exchange, response->status);
		return false;
	}
	body_decoder_init(&proxy->decoder, response->framing,
			  response->body_len);
	proxy->state = PROXY_BODY;
	return exchange_stream_begin(proxy->exchange, response->status, NULL,
				     len) == 0;
}

/* True: there may be more to do. */
static bool read_head(struct proxy *proxy)
{
	struct buf *in = io_in(proxy->io);
	struct http_fault fault;
	size_t len = 0;

	switch (guard_scan(&proxy->guard, buf_view(in), &len)) {
	case GUARD_MORE:
		return false;
	case GUARD_INVALID:
		fail(proxy, proxy->guard.fault.reason);
		return false;
	case GUARD_COMPLETE:
	default:
		break;
	}
	if (head_response(proxy->exchange->arena, &proxy->guard,
			  bytes_slice(buf_view(in), 0, len),
			  proxy->exchange->method, &proxy->response,
			  &fault) < 0) {
		fail(proxy, fault.reason);
		return false;
	}
	buf_consume(in, len);
	if (proxy->response.status == STATUS_SWITCH) {
		io_deadline(proxy->io, 0);
		return begin_raw(proxy);
	}
	if (proxy->response.status < 200) {
		guard_init(&proxy->guard, GUARD_RESPONSE);
		proxy->guard.may_switch = proxy->exchange->is_websocket;
		if (++proxy->interims < HEAD_INTERIM_MAX)
			return true;
		fail(proxy, "too many interim answers");
		return false;
	}
	io_deadline(proxy->io, 0);
	return begin_body(proxy);
}

static bool read_body(struct proxy *proxy)
{
	struct buf *in = io_in(proxy->io);
	struct bytes input = buf_view(in), payload;
	enum body_result result =
		body_decode(&proxy->decoder, &input, &payload);
	size_t taken = buf_len(in) - input.len;

	if (payload.len > 0 &&
	    exchange_stream_write(proxy->exchange, payload) < 0)
		return false;
	buf_consume(in, taken);
	if (result == BODY_END)
		exchange_stream_end(proxy->exchange);
	else if (result == BODY_INVALID)
		fail(proxy, "its body is malformed");
	return result == BODY_MORE && taken > 0;
}

static bool read_raw(struct proxy *proxy)
{
	struct buf *in = io_in(proxy->io);

	if (buf_len(in) == 0 ||
	    exchange_stream_write(proxy->exchange, buf_view(in)) < 0)
		return false;
	buf_consume(in, buf_len(in));
	return true;
}

static void turn(struct proxy *proxy)
{
	bool more = true;

	while (more && proxy->state != PROXY_OVER) {
		if (proxy->state != PROXY_HEAD &&
		    exchange_stream_is_full(proxy->exchange)) {
			io_read_stop(proxy->io);
			return;
		}
		more = proxy->state == PROXY_HEAD   ? read_head(proxy)
		       : proxy->state == PROXY_BODY ? read_body(proxy)
						    : read_raw(proxy);
	}
}

static void on_room(struct exchange *exchange)
{
	struct proxy *proxy = exchange->task;

	io_read_start(proxy->io);
	turn(proxy);
}

/* ---- the request's body ---- */

static void on_piece(struct exchange *exchange, struct bytes piece)
{
	struct proxy *proxy = exchange->task;
	auto_type(buf_release) struct buf out;

	buf_init(&out, piece.len + 64);
	if (body_encode(&out,
			proxy->state == PROXY_RAW ? FRAMING_TO_CLOSE
						  : proxy->framing,
			piece) < 0 ||
	    io_write(proxy->io, buf_view(&out)) < 0) {
		fail(proxy, "it does not take the request");
		return;
	}
	if (io_is_full(proxy->io))
		exchange_body_pause(exchange, true);
}

static void on_complete(struct exchange *exchange)
{
	struct proxy *proxy = exchange->task;

	if (proxy->state == PROXY_RAW)
		io_end(proxy->io);
	else if (proxy->framing == FRAMING_CHUNKED &&
		 io_write(proxy->io, bytes_str(CHUNK_LAST)) < 0)
		fail(proxy, "it does not take the request");
}

/* ---- events ---- */

static void on_eof(struct proxy *proxy)
{
	turn(proxy);
	if (proxy->state == PROXY_OVER)
		return;
	if (proxy->state == PROXY_RAW ||
	    (proxy->state == PROXY_BODY &&
	     body_decoder_may_end(&proxy->decoder)))
		exchange_stream_end(proxy->exchange);
	else
		fail(proxy, "it ended the connection");
}

static void on_event(struct io *io, enum io_event event, void *owner)
{
	struct proxy *proxy = owner;

	if (event == IO_RELEASED) {
		free(proxy);
		return;
	}
	if (proxy->state == PROXY_OVER)
		return;
	switch (event) {
	case IO_DATA:
		turn(proxy);
		break;
	case IO_DRAINED:
		exchange_body_pause(proxy->exchange, false);
		break;
	case IO_EOF:
		on_eof(proxy);
		break;
	case IO_FAILED:
		log_debug("port %u: %s", (unsigned)proxy->port,
			  io_error(io)->text);
		fail(proxy, "nothing answers there");
		break;
	case IO_TIMEOUT:
		fail(proxy, "it took too long");
		break;
	case IO_RELEASED:
	case IO_TLS_HELLO:
	case IO_TLS_READY:
	case IO_EVENT_MAX:
	default:
		break;
	}
}

/* ---- the beginning ---- */

/* The head as it goes in: at the path below the port. */
static int write_head(struct proxy *proxy, struct buf *out)
{
	struct exchange *exchange = proxy->exchange;
	struct request request = http_of(exchange)->request;
	struct target target = {.host = HOST_INSIDE,
				.kind = HOST_IPV4,
				.port = proxy->port,
				.scheme = SCHEME_HTTP};
	struct field items[HEAD_FIELDS_MAX + HEAD_FIELDS_SPARE];

	request.path = exchange->rest.len ? exchange->rest : bytes_str("/");
	memcpy(items, request.fields.items,
	       request.fields.count * sizeof(*items));
	request.fields.items = items;
	request.fields.room = ARRAY_SIZE(items);
	if (request.is_websocket &&
	    websocket_ask(&proxy->handshake, &request) < 0)
		return -1;
	proxy->framing = request.framing;
	return write_request(out, &request, &target);
}

/* A request that asks for a WebSocket in a way that is none is answered. */
static bool offer(struct proxy *proxy)
{
	struct exchange *exchange = proxy->exchange;
	struct http_conn *http = http_of(exchange);
	struct http_fault fault;

	if (!exchange->is_websocket ||
	    websocket_offer(&proxy->handshake, &http->arena, &http->request,
			    &fault) == 0)
		return true;
	exchange_fail(exchange, 400, "INVALID_REQUEST", "%s", fault.reason);
	return false;
}

static void on_connected(struct exchange *exchange, const void *message,
			 int *fd)
{
	struct proxy *proxy = exchange->task;
	auto_type(buf_release) struct buf head;

	(void)message;
	buf_init(&head, 2 * HEAD_BYTES_MAX);
	proxy->io = io_new(exchange->api->loop, take_fd(fd), &limits, on_event,
			   proxy);
	if (!proxy->io) {
		exchange_fail_memory(exchange);
		return;
	}
	guard_init(&proxy->guard, GUARD_RESPONSE);
	proxy->guard.may_switch = exchange->is_websocket;
	proxy->state = PROXY_HEAD;
	io_deadline(proxy->io, PROXY_HEAD_MS);
	if (write_head(proxy, &head) < 0 ||
	    io_write(proxy->io, buf_view(&head)) < 0) {
		fail(proxy, "it does not take the request");
		return;
	}
	io_read_start(proxy->io);
	exchange->on_room = on_room;
	exchange->on_piece = on_piece;
	exchange->on_complete = on_complete;
	exchange_body_pause(exchange, false);
}

void proxy_pass(struct exchange *exchange)
{
	struct host_port wanted = {.id = exchange->sandbox};
	const struct exchange_question question = {
		.type = MSG_HOST_CONNECT,
		.schema = &host_port_schema,
		.message = &wanted,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
	};
	struct proxy *proxy;
	uint64_t port = 0;

	if (bytes_to_u64(exchange->pieces[0], PORT_DIGITS, &port) < 0 ||
	    port == 0 || port > UINT16_MAX) {
		exchange_fail(exchange, 400, "INVALID_REQUEST",
			      "a port is a number from 1 to 65535");
		return;
	}
	proxy = calloc(1, sizeof(*proxy));
	if (!proxy) {
		exchange_fail_memory(exchange);
		return;
	}
	*proxy = (struct proxy){.exchange = exchange, .port = (uint16_t)port};
	wanted.port = proxy->port;
	exchange->task = proxy;
	exchange->on_end = on_end;
	if (!offer(proxy))
		return;
	/* Nothing can be passed on yet. */
	exchange_body_pause(exchange, true);
	exchange_ask(exchange, &question, on_connected);
}

const struct route proxy_routes[] = {
	{"*", "/{}/**", ROUTE_TOKEN, 0, ROUTE_STREAM, proxy_pass},
	{0},
};

const struct route execd_proxy_routes[] = {
	{"*", "/proxy/{}/**", ROUTE_FIELD, 0, ROUTE_STREAM, proxy_pass},
	{0},
};
