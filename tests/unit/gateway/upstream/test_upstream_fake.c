/*
 * The exchanges of an edge with one origin over the fake io; the test plays
 * the dialer and the origin.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/io_core.h"
#include "common/io_fake.h"
#include "gateway/upstream/inside.h"

struct rig {
	struct io_loop *loop;
	struct keeper keeper;
	struct keeper_peer dialer;
	struct rpc *far; /* the dialer's end */
	struct rpc_ticket asked;
	unsigned dials;
	struct tls_client tls; /* not used: no TLS here */
	struct upstream_pool pool;
	struct upstream *up;
	unsigned events[UPSTREAM_EVENT_MAX];
	struct upstream_fault fault; /* of FAILED */
	bool is_stale, is_sent, dies_at_ready, waits_at_ready, pauses_at_body;
	int sent; /* what upstream_send() said */
};

static struct target origin(void)
{
	struct target target = {.port = 80, .scheme = SCHEME_HTTP};

	(void)snprintf(target.host, sizeof(target.host), "api.test");
	return target;
}

static void on_dial(struct rpc_ticket ticket, const void *message, int *fd,
		    void *owner)
{
	struct rig *rig = owner;

	(void)message;
	(void)fd;
	rpc_ticket_hold(ticket);
	rig->asked = ticket;
	rig->dials++;
}

static const struct rpc_permit permits[] = {
	{MSG_DIAL, &msg_dial_schema, on_dial, false, 0},
};

static void rig_open(struct rig *rig)
{
	const struct rpc_config ours = {.owner = rig};
	const struct rpc_config theirs = {
		.permits = permits, .permit_count = 1, .owner = rig};
	struct err err;
	int fds[2];

	*rig = (struct rig){.loop = io_loop_new(&err)};
	assert_int_equal(io_message_pair(fds, &err), 0);
	rig->keeper.loop = rig->loop;
	rig->keeper.peers = &rig->dialer;
	rig->dialer = (struct keeper_peer){
		.keeper = &rig->keeper,
		.role = ROLE_DIALER,
		.rpc = rpc_new(rig->loop, fds[0], &ours, &err),
	};
	rig->far = rpc_new(rig->loop, fds[1], &theirs, &err);
	rig->pool = (struct upstream_pool){
		.keeper = &rig->keeper, .tls = &rig->tls, .response_ms = 1000};
}

static void rig_close(struct rig *rig)
{
	if (rig->up)
		upstream_put(rig->up);
	upstream_pool_release(&rig->pool);
	rpc_close(rig->dialer.rpc);
	rpc_close(rig->far);
	fake_run(rig->loop);
	io_loop_free(rig->loop);
	fake_reset_all();
}

static void send_request(struct rig *rig)
{
	const struct upstream_labels labels = {.rule = bytes_str("api")};
	struct field items[4];
	struct request request = {
		.method = bytes_str("POST"),
		.form = FORM_ORIGIN,
		.host = bytes_str("api.test"),
		.path = bytes_str("/x"),
		.raw_path = bytes_str("/x"),
		.fields = {.items = items, .room = 4},
		.framing = FRAMING_NONE,
	};
	struct err err;

	rig->sent = upstream_send(rig->up, &request, &labels, &err);
	rig->is_sent = upstream_is_sent(rig->up);
}

static void on_event(struct upstream *up, enum upstream_event event,
		     void *owner)
{
	static const struct err reset = {ERR_SYSTEM, 104, "reset"};
	struct rig *rig = owner;

	assert_ptr_equal(up, rig->up);
	rig->events[event]++;
	if (event == UPSTREAM_READY) {
		if (rig->dies_at_ready)
			io_kill(up->io, &reset);
		if (!rig->waits_at_ready)
			send_request(rig);
	} else if (event == UPSTREAM_BODY) {
		if (rig->pauses_at_body)
			upstream_pause(up);
	} else if (event == UPSTREAM_FAILED) {
		rig->fault = upstream_fault(up);
		rig->is_stale = upstream_was_stale(up);
	}
}

static void ask(struct rig *rig)
{
	const struct target target = origin();
	struct err err;

	rig->up = upstream_get(&rig->pool, &target, bytes_from(NULL, 0),
			       on_event, rig, &err);
	assert_non_null(rig->up);
	fake_run(rig->loop);
}

/* The dialer's answer: the origin's end. */
static int dialled(struct rig *rig)
{
	const struct msg_dialed message = {.address = bytes_str("192.0.2.1")};
	int fds[2];

	assert_int_equal(rig->dials, 1);
	fake_stream_pair(fds);
	rpc_reply(rig->asked, &msg_dialed_schema, &message, fds[0]);
	io_sys_close(fds[0]);
	fake_run(rig->loop);
	return fds[1];
}

/* One exchange in order: its connection is kept. */
static int keep_one(struct rig *rig)
{
	int far;

	ask(rig);
	far = dialled(rig);
	assert_true(rig->is_sent);
	fake_send(far, bytes_str("HTTP/1.1 200 OK\r\n"
				 "Content-Length: 0\r\n\r\n"));
	fake_run(rig->loop);
	assert_int_equal(rig->events[UPSTREAM_END], 1);
	upstream_put(rig->up);
	assert_int_equal(rig->pool.idle_count, 1);
	buf_clear(fake_received(far));
	return far;
}

static void upstream_asks_a_kept_connection_again(void **state)
{
	struct rig rig;
	int far;

	(void)state;
	rig_open(&rig);
	far = keep_one(&rig);
	ask(&rig);
	assert_int_equal(rig.sent, 0);
	assert_true(rig.is_sent);
	assert_true(buf_len(fake_received(far)) > 0);
	assert_int_equal(rig.events[UPSTREAM_FAILED], 0);
	rig_close(&rig);
}

/* Its client was full when the last of the answer came; what: the answer. */
static int end_while_paused(struct rig *rig, const char *what)
{
	int far;

	rig->pauses_at_body = true;
	ask(rig);
	far = dialled(rig);
	fake_send(far, bytes_str(what));
	fake_run(rig->loop);
	assert_int_equal(rig->events[UPSTREAM_BODY], 1);
	assert_int_equal(rig->events[UPSTREAM_END], 1);
	upstream_put(rig->up);
	rig->up = NULL;
	fake_run(rig->loop);
	return far;
}

static void upstream_that_ended_while_paused_is_kept(void **state)
{
	static const char *const answer =
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
	struct rig rig;
	int far;

	(void)state;
	rig_open(&rig);
	far = end_while_paused(&rig, answer);
	assert_int_equal(rig.pool.idle_count, 1);
	ask(&rig);
	assert_int_equal(rig.dials, 1);
	fake_send(far, bytes_str(answer));
	fake_run(rig.loop);
	assert_int_equal(rig.events[UPSTREAM_END], 2);
	assert_int_equal(rig.events[UPSTREAM_FAILED], 0);
	rig_close(&rig);
}

static void upstream_that_said_more_while_paused_is_not_kept(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig);
	(void)end_while_paused(
		&rig, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcd");
	assert_int_equal(rig.pool.idle_count, 0);
	rig_close(&rig);
}

static void
upstream_that_died_unheard_is_closed_and_nothing_was_sent(void **state)
{
	struct rig rig;
	int far;

	(void)state;
	rig_open(&rig);
	far = keep_one(&rig);
	rig.dies_at_ready = true;
	ask(&rig);
	assert_int_equal(rig.sent, 0);
	assert_false(rig.is_sent);
	assert_int_equal(buf_len(fake_received(far)), 0);
	assert_int_equal(rig.events[UPSTREAM_FAILED], 1);
	assert_int_equal(rig.fault.constraint, CONSTRAINT_upstream_closed);
	assert_true(rig.is_stale);
	rig_close(&rig);
}

static void upstream_that_is_new_and_dies_is_closed_not_stale(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig);
	rig.dies_at_ready = true;
	ask(&rig);
	(void)dialled(&rig);
	assert_int_equal(rig.sent, 0);
	assert_int_equal(rig.events[UPSTREAM_FAILED], 1);
	assert_int_equal(rig.fault.constraint, CONSTRAINT_upstream_closed);
	assert_false(rig.is_stale);
	rig_close(&rig);
}

/* Outside of a turn what is written goes at once, and is what finds out. */
static void upstream_that_dies_of_the_request_is_closed(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig);
	rig.waits_at_ready = true;
	ask(&rig);
	fake_reset(dialled(&rig));
	send_request(&rig);
	assert_int_equal(rig.sent, 0);
	assert_false(rig.is_sent);
	fake_run(rig.loop);
	assert_int_equal(rig.events[UPSTREAM_FAILED], 1);
	assert_int_equal(rig.fault.constraint, CONSTRAINT_upstream_closed);
	rig_close(&rig);
}

static void upstream_without_an_answer_of_the_dialer_is_late(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig);
	ask(&rig);
	fake_advance(rig.loop, DIAL_TIMEOUT_MS + 1000);
	assert_int_equal(rig.events[UPSTREAM_FAILED], 1);
	assert_int_equal(rig.fault.constraint, CONSTRAINT_connect_timeout);
	rpc_refuse(rig.asked, CONSTRAINT_internal, "too late");
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(upstream_asks_a_kept_connection_again),
		cmocka_unit_test(upstream_that_ended_while_paused_is_kept),
		cmocka_unit_test(
			upstream_that_said_more_while_paused_is_not_kept),
		cmocka_unit_test(
			upstream_that_died_unheard_is_closed_and_nothing_was_sent),
		cmocka_unit_test(
			upstream_that_is_new_and_dies_is_closed_not_stale),
		cmocka_unit_test(upstream_that_dies_of_the_request_is_closed),
		cmocka_unit_test(
			upstream_without_an_answer_of_the_dialer_is_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
