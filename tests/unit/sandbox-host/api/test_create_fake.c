#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/io_fake.h"
#include "sandbox-host/api/conn.h"
#include "sandbox-host/api/lifecycle.h"

#define LATE_MS (130 * 1000)

struct rig {
	struct api api;
	struct exchange *exchange;
	int client;
	struct rpc *daemon;
	struct rpc_ticket ticket; /* of the creation */
	unsigned starts, ends;
};

static struct rig *rig;

static void answer_create(struct rpc_ticket ticket, const void *message,
			  int *fd, void *owner)
{
	(void)message;
	(void)fd;
	(void)owner;
	rig->ticket = ticket;
}

static void answer_kill(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct host_ref *ref = message;
	const struct host_sandbox sandbox = {.id = ref->id};

	(void)fd;
	(void)owner;
	assert_true(bytes_is(ref->id, "sb-late"));
	rig->ends++;
	rpc_reply(ticket, &host_sandbox_schema, &sandbox, -1);
}

static void on_started(struct exchange *exchange, const void *message, int *fd)
{
	(void)message;
	(void)fd;
	rig->starts++;
	exchange_reply_empty(exchange, 202);
}

/* A client that asks, and a daemon that is asked for a sandbox. */
static int set_up(void **state)
{
	static const struct rpc_permit permits[] = {
		{MSG_HOST_CREATE, &wire_empty_schema, answer_create, false, 0},
		{MSG_HOST_KILL, &host_ref_schema, answer_kill, false, 0},
	};
	static const struct wire_empty empty = {0};
	const struct rpc_config config = {.permits = permits,
					  .permit_count = ARRAY_SIZE(permits)};
	const struct rpc_config none = {.owner = NULL};
	const struct exchange_question question = {
		.type = MSG_HOST_CREATE,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = -1,
	};
	struct conn *conn;
	struct err err;
	int fds[2];

	(void)state;
	rig = calloc(1, sizeof(*rig));
	assert_non_null(rig);
	rig->api.loop = io_loop_new(&err);
	conns_open(&rig->api, 4);
	assert_int_equal(io_message_pair(fds, &err), 0);
	rig->api.daemon = rpc_new(rig->api.loop, fds[0], &none, &err);
	rig->daemon = rpc_new(rig->api.loop, fds[1], &config, &err);
	fake_stream_pair(fds);
	rig->client = fds[1];
	conn_accept(&rig->api, fds[0]);
	conn = rig->api.server.conns->owner;
	rig->exchange = &conn->exchange;
	conn->http.state = HTTP_CONN_SERVED;
	io_deadline(conn->http.io, 0);
	lifecycle_start(rig->exchange, &question, on_started);
	fake_run(rig->api.loop);
	assert_non_null(rig->ticket.rpc);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	http_server_close(&rig->api.server);
	rpc_close(rig->api.daemon);
	rpc_close(rig->daemon);
	fake_run(rig->api.loop);
	io_loop_free(rig->api.loop);
	fake_reset_all();
	free(rig);
	return 0;
}

static void it_runs(void)
{
	const struct host_sandbox sandbox = {.id = bytes_str("sb-late")};

	rpc_reply(rig->ticket, &host_sandbox_schema, &sandbox, -1);
	fake_run(rig->api.loop);
}

static void one_that_starts_late_is_ended_since_nobody_has_it(void **state)
{
	(void)state;
	fake_advance(rig->api.loop, LATE_MS);
	assert_true(bytes_find_bytes(buf_view(fake_received(rig->client)),
				     bytes_str("504"), 0) >= 0);
	it_runs();
	assert_int_equal(rig->starts, 0);
	assert_int_equal(rig->ends, 1);
}

static void one_that_starts_in_time_is_its_clients(void **state)
{
	(void)state;
	fake_advance(rig->api.loop, 100 * 1000);
	it_runs();
	assert_int_equal(rig->starts, 1);
	fake_advance(rig->api.loop, LATE_MS);
	assert_int_equal(rig->ends, 0);
}

static void one_whose_client_went_is_ended(void **state)
{
	(void)state;
	http_server_close(&rig->api.server);
	fake_run(rig->api.loop);
	it_runs();
	assert_int_equal(rig->starts, 0);
	assert_int_equal(rig->ends, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			one_that_starts_late_is_ended_since_nobody_has_it,
			set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			one_that_starts_in_time_is_its_clients, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(one_whose_client_went_is_ended,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
