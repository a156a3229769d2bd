/*
 * A leg whose upstream speaks HTTP/2: how it opens, what goes out, how it ends.
 */
#include "tests/unit/gateway/courier/rig_h2.h"

/* ---- it opens ---- */

static void a_leg_is_opened_once_a_framer_is_there(void **state)
{
	struct rig rig;

	(void)state;
	open_leg(&rig);
	assert_true(rig.speaks_h2);
	assert_int_equal(rig.framers, 1);
	rig_tear_down(&rig);
}

static void legs_of_one_credential_share_a_framer(void **state)
{
	struct rpc *framer;
	struct io *first;
	struct rig rig;
	int leg;

	(void)state;
	open_leg(&rig);
	framer = rig.framer;
	first = rig.upstream;
	leg = rig.leg;
	rig.leg = -1;
	rig_open_leg(&rig, "forge", "good.test");
	assert_true(rig.leg >= 0);
	assert_int_equal(rig.framers, 1);
	/* It goes with the last of them. */
	(void)close(leg);
	fake_run(rig.loop);
	assert_ptr_equal(rig.framer, framer);
	(void)close(rig.leg);
	rig.leg = -1;
	fake_run(rig.loop);
	assert_null(rig.framer);
	io_close(first);
	rig_tear_down(&rig);
}

static void an_upstream_that_wants_http1_gets_it(void **state)
{
	struct rig rig;

	(void)state;
	rig_set_up(&rig);
	rig_give_session(&rig, UINT64_MAX);
	rig.offers_h2 = true;
	rig_open_leg(&rig, "forge", "good.test");
	assert_true(rig.leg >= 0);
	assert_false(rig.speaks_h2);
	assert_int_equal(rig.framers, 0);
	ask(&rig, &get);
	assert_true(bytes_starts_with(buf_view(&rig.arrived),
				      bytes_str("GET /a.B/C?q=secret HTTP")));
	rig_tear_down(&rig);
}

static void http2_is_not_offered_where_it_is_not_asked_for(void **state)
{
	struct rig rig;

	(void)state;
	set_up(&rig);
	rig.offers_h2 = false;
	rig_open_leg(&rig, "forge", "good.test");
	assert_true(rig.leg >= 0);
	assert_false(rig.speaks_h2);
	rig_tear_down(&rig);
}

static void a_leg_without_a_framer_is_refused(void **state)
{
	struct rig rig;

	(void)state;
	set_up(&rig);
	rig.has_no_framer = true;
	rig_open_leg(&rig, "forge", "good.test");
	assert_int_equal(rig.leg, -1);
	assert_int_equal(rig.refused, CONSTRAINT_limit_connections);
	rig_tear_down(&rig);
}

/* ---- what goes out ---- */

static void a_head_waits_for_grant_and_framer(void **state)
{
	auto_type(buf_release) struct buf keep;
	static const uint8_t how = 0;
	struct frame frame;
	struct rig rig;

	(void)state;
	buf_init(&keep, 65536);
	open_leg(&rig);
	rig_message(&rig, LEG_REQUEST, &leg_request_schema, &get);
	rig_frame(&rig, LEG_END, "");
	rig_answer_token(&rig);
	assert_told_nothing(&rig);
	rig_answer_record(&rig);
	assert_told(&rig, FRAME_ASK, 1, bytes_from(&how, 1));
	assert_told_nothing(&rig);
	assert_arrived(&rig, "");
	framer_says(&rig, FRAME_HEAD, 0, 1, bytes_from(NULL, 0));
	frame = next_arrived(&rig, &keep);
	assert_int_equal(frame.type, FRAME_HEADERS);
	assert_int_equal(frame.flags, FRAME_FLAG_END | FRAME_FLAG_HEAD);
	assert_int_equal(frame.stream, 1);
	/* Never indexed, and no code but its own. */
	assert_true(bytes_find_bytes(frame.payload,
				     bytes_str("\x10\x0d"
					       "authorization\x19"
					       "Bearer " RIG_TOKEN),
				     0) > 0);
	assert_true(bytes_find_bytes(frame.payload,
				     bytes_str("\x10\x05:path\x0f"
					       "/a.B/C?q=secret"),
				     0) > 0);
	assert_string_equal(rig.recorded,
			    "secret.use s-1 good.test:443 GET /a.B/C forge");
	rig_tear_down(&rig);
}

static void a_body_goes_as_the_framer_says_when(void **state)
{
	auto_type(buf_release) struct buf keep;
	struct frame frame;
	struct rig rig;

	(void)state;
	buf_init(&keep, 65536);
	start_post(&rig, get);
	rig_frame(&rig, LEG_BODY, "hello");
	assert_told(&rig, FRAME_MORE, 1,
		    (struct bytes)BYTES_LITERAL("\0\0\0\5"));
	assert_arrived(&rig, "");
	framer_counts(&rig, FRAME_BODY, 0, 3);
	frame = next_arrived(&rig, &keep);
	assert_int_equal(frame.type, FRAME_DATA);
	assert_int_equal(frame.flags, 0);
	assert_int_equal(frame.stream, 1);
	assert_true(bytes_is(frame.payload, "hel"));
	rig_frame(&rig, LEG_END, "");
	assert_told(&rig, FRAME_LAST, 1, bytes_from(NULL, 0));
	framer_counts(&rig, FRAME_BODY, FRAME_FLAG_END, 2);
	frame = next_arrived(&rig, &keep);
	assert_int_equal(frame.flags, FRAME_FLAG_END);
	assert_true(bytes_is(frame.payload, "lo"));
	rig_tear_down(&rig);
}

static void an_edge_waits_while_a_body_does(void **state)
{
	char text[32 * 1024 + 1];
	struct rig rig;
	unsigned i;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	start_post(&rig, get);
	for (i = 0; i < 16; i++)
		rig_frame(&rig, LEG_BODY, text);
	/* Some of them were taken. */
	assert_int_equal(buf_len(fake_received(rig.frames)),
			 4 * (FRAME_HEADER + 4));
	for (i = 0; i < 8; i++)
		framer_counts(&rig, FRAME_BODY, 0, FRAME_PAYLOAD_MAX);
	assert_int_equal(buf_len(fake_received(rig.frames)),
			 8 * (FRAME_HEADER + 4));
	rig_tear_down(&rig);
}

static void frames_of_the_connection_pass(void **state)
{
	auto_type(buf_release) struct buf keep;
	struct frame frame;
	struct rig rig;

	(void)state;
	buf_init(&keep, 65536);
	open_leg(&rig);
	framer_says(&rig, FRAME_PING, FRAME_FLAG_END, 0, bytes_str("12345678"));
	frame = next_arrived(&rig, &keep);
	assert_int_equal(frame.type, FRAME_PING);
	assert_true(bytes_is(frame.payload, "12345678"));
	rig_tear_down(&rig);
}

static void another_request_has_another_stream(void **state)
{
	auto_type(buf_release) struct buf keep;
	static const uint8_t how = 0;
	struct rig rig;

	(void)state;
	buf_init(&keep, 65536);
	start_get(&rig);
	says_text(&rig, "HTTP/1.1 204 \r\n\r\n");
	framer_says(&rig, FRAME_OVER, 0, 1, bytes_from(NULL, 0));
	rig_frame(&rig, LEG_DONE, "");
	ask(&rig, &get);
	assert_told(&rig, FRAME_ASK, 3, bytes_from(&how, 1));
	framer_says(&rig, FRAME_HEAD, 0, 3, bytes_from(NULL, 0));
	assert_int_equal(next_arrived(&rig, &keep).stream, 3);
	rig_tear_down(&rig);
}

static void nothing_but_requests_is_for_http2(void **state)
{
	static const struct leg_upgrade upgrade = {
		.path = BYTES_LITERAL("/"),
		.key = BYTES_LITERAL("dGhlIHNhbXBsZSBub25jZQ=="),
	};
	const struct leg_push push = {.url_path = bytes_str("/acme/widgets")};
	struct rig rig;

	(void)state;
	open_leg(&rig);
	rig_message(&rig, LEG_UPGRADE, &leg_upgrade_schema, &upgrade);
	assert_int_equal(rig_refusal(&rig), CONSTRAINT_internal);
	assert_arrived(&rig, "");
	rig_tear_down(&rig);
	open_leg(&rig);
	rig_message(&rig, LEG_PUSH, &leg_push_schema, &push);
	assert_int_equal(rig_refusal(&rig), CONSTRAINT_internal);
	assert_arrived(&rig, "");
	rig_tear_down(&rig);
}

/* ---- the end ---- */

static void a_framer_that_dies_takes_its_legs_with_it(void **state)
{
	struct rig rig;

	(void)state;
	start_get(&rig);
	rpc_close(rig.framer);
	rig.framer = NULL;
	fake_run(rig.loop);
	assert_closed(&rig);
	/* And the next leg gets another. */
	rig_open_leg(&rig, "forge", "good.test");
	assert_int_equal(rig.framers, 2);
	rig_tear_down(&rig);
}

static void a_session_that_ends_takes_its_framer_with_it(void **state)
{
	const struct msg_session_ref message = {
		.id = bytes_str("s-1"),
		.reason = bytes_str("revoked"),
	};
	struct rig rig;

	(void)state;
	start_get(&rig);
	rig_tell(&rig, MSG_SESSION_CLOSE, &msg_session_ref_schema, &message,
		 -1);
	assert_closed(&rig);
	assert_null(rig.framer);
	rig_tear_down(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_leg_is_opened_once_a_framer_is_there),
		cmocka_unit_test(legs_of_one_credential_share_a_framer),
		cmocka_unit_test(an_upstream_that_wants_http1_gets_it),
		cmocka_unit_test(
			http2_is_not_offered_where_it_is_not_asked_for),
		cmocka_unit_test(a_leg_without_a_framer_is_refused),
		cmocka_unit_test(a_head_waits_for_grant_and_framer),
		cmocka_unit_test(a_body_goes_as_the_framer_says_when),
		cmocka_unit_test(an_edge_waits_while_a_body_does),
		cmocka_unit_test(frames_of_the_connection_pass),
		cmocka_unit_test(another_request_has_another_stream),
		cmocka_unit_test(nothing_but_requests_is_for_http2),
		cmocka_unit_test(a_framer_that_dies_takes_its_legs_with_it),
		cmocka_unit_test(a_session_that_ends_takes_its_framer_with_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
