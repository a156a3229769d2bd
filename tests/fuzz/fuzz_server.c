/*
 * What a client sends to an endpoint of ours, whole and in single bytes: the
 * same is answered, the same bodies are handed on within their bounds (in
 * single bytes also the beginning of one that is refused), and nothing is
 * left of the connection when the client has gone.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/io_fake.h"
#include "gateway/server/http_conn.h"

#define SIZE_MAX_FUZZED (64 * 1024)
#define BODY_MAX	64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct run {
	struct http_server server;
	struct http_conn conn;
	struct buf *bodies;
	size_t body_len; /* of this request */
	bool is_released;
};

static void reply(struct run *run)
{
	static const struct fields none;

	http_conn_reply(&run->conn, 200, &none, bytes_str("served"));
}

static void on_head(void *owner)
{
	struct run *run = owner;
	struct bytes method = run->conn.request.method;

	run->body_len = 0;
	if (bytes_is(method, "PUT"))
		http_conn_collect(&run->conn, BODY_MAX);
	else if (bytes_is(method, "POST"))
		http_conn_pass(&run->conn, BODY_MAX);
	else
		reply(run);
}

static void on_piece(void *owner, struct bytes piece)
{
	struct run *run = owner;

	run->body_len += piece.len;
	assert(run->body_len <= BODY_MAX);
	assert(buf_add(run->bodies, piece) == 0);
}

static void serve(void *owner)
{
	struct run *run = owner;

	if (!bytes_is(run->conn.request.method, "PUT"))
		return;
	on_piece(owner, buf_view(&run->conn.body));
	reply(run);
}

static void on_complete(void *owner)
{
	reply(owner);
}

static void refuse(void *owner, unsigned status, const char *why)
{
	static const struct fields none;
	struct run *run = owner;

	assert(status >= 400 && why);
	http_conn_reply(&run->conn, status, &none, bytes_str(why));
}

static void forget(void *owner)
{
	(void)owner;
}

static void on_released(void *owner)
{
	struct run *run = owner;

	run->is_released = true;
}

static const struct http_service service = {
	.answer_max = 16 * 1024 * 1024,
	.on_head = on_head,
	.serve = serve,
	.on_piece = on_piece,
	.on_complete = on_complete,
	.refuse = refuse,
	.forget = forget,
	.on_released = on_released,
};

static void play(struct bytes bytes, size_t chunk, struct buf *answers,
		 struct buf *bodies)
{
	struct run run = {.bodies = bodies};
	struct err err;
	int fds[2];

	http_server_init(&run.server, &service, io_loop_new(&err), 2);
	assert(run.server.loop);
	fake_stream_pair(fds);
	assert(http_conn_open(&run.conn, &run.server, fds[0], &run) == 0);
	fake_set_chunk(fds[1], chunk);
	fake_send(fds[1], bytes);
	fake_end(fds[1]);
	fake_run(run.server.loop);
	fake_advance(run.server.loop, 2 * HTTP_IDLE_MS);
	assert(run.is_released && run.server.conn_count == 0);
	assert(buf_add(answers, buf_view(fake_received(fds[1]))) == 0);
	io_loop_free(run.server.loop);
	fake_reset_all();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_type(buf_release) struct buf whole = {0}, single = {0},
					  bodies = {0}, pieces = {0};

	if (size > SIZE_MAX_FUZZED)
		return 0;
	buf_init(&whole, SIZE_MAX);
	buf_init(&single, SIZE_MAX);
	buf_init(&bodies, SIZE_MAX_FUZZED);
	buf_init(&pieces, SIZE_MAX_FUZZED);
	play(bytes_from(data, size), 0, &whole, &bodies);
	play(bytes_from(data, size), 1, &single, &pieces);
	assert(bytes_equal(buf_view(&whole), buf_view(&single)));
	assert(bytes_starts_with(buf_view(&pieces), buf_view(&bodies)));
	return 0;
}
