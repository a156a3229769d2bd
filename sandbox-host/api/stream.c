#include "common/cleanup.h"
#include "gateway/http/write.h"
#include "gateway/websocket/handshake.h"
#include "sandbox-host/api/parts.h"

/* ---- an answer that streams ---- */

int exchange_stream_begin(struct exchange *exchange, unsigned status,
			  const char *content_type, uint64_t len)
{
	struct field items[REPLY_FIELDS_MAX];
	struct fields fields = {items, 0, ARRAY_SIZE(items)};

	reply_fields(&fields, exchange, content_type);
	return http_conn_stream_begin(http_of(exchange), status, &fields, len);
}

int exchange_stream_write(struct exchange *exchange, struct bytes bytes)
{
	return http_conn_stream_write(http_of(exchange), bytes);
}

bool exchange_stream_is_full(const struct exchange *exchange)
{
	return http_conn_is_full(http_of(exchange));
}

void exchange_stream_end(struct exchange *exchange)
{
	http_conn_stream_end(http_of(exchange));
}

void exchange_break(struct exchange *exchange)
{
	http_conn_close(http_of(exchange));
}

void exchange_body_pause(struct exchange *exchange, bool is_paused)
{
	http_conn_pause(http_of(exchange), is_paused);
}

/* ---- another protocol ---- */

int exchange_upgrade(struct exchange *exchange)
{
	struct field items[REPLY_FIELDS_MAX];
	struct fields fields = {items, 0, ARRAY_SIZE(items)};
	auto_type(buf_release) struct buf out;

	buf_init(&out, HEAD_BYTES_MAX);
	reply_fields(&fields, exchange, NULL);
	if (buf_add_str(&out, "HTTP/1.1 101 Switching Protocols\r\n"
			      "Connection: Upgrade\r\n"
			      "Upgrade: websocket\r\n") < 0)
		return -1;
	for (size_t i = 0; i < fields.count; i++)
		if (write_field(&out, items[i].name, items[i].value) < 0)
			return -1;
	if (write_end(&out) < 0)
		return -1;
	return http_conn_switch(http_of(exchange), buf_view(&out));
}

bool exchange_websocket(struct exchange *exchange, struct bytes *accept)
{
	struct http_conn *http = http_of(exchange);
	struct websocket_handshake handshake;
	struct http_fault fault = {.reason = "this is a WebSocket"};

	if (!exchange->is_websocket ||
	    websocket_offer(&handshake, &http->arena, &http->request, &fault) <
		    0) {
		exchange_fail(exchange, exchange->is_websocket ? 400 : 426,
			      "INVALID_REQUEST", "%s", fault.reason);
		return false;
	}
	*accept = bytes_str(
		arena_str(exchange->arena, bytes_str(handshake.client_accept)));
	if (!accept->data)
		exchange_fail_memory(exchange);
	return accept->data != NULL;
}

struct io_loop *exchange_loop(const struct exchange *exchange)
{
	return exchange->api->loop;
}
