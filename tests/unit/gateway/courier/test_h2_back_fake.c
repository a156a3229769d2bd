/*
 * What comes back over HTTP/2, and what a framer that was taken over says.
 */
#include "tests/unit/gateway/courier/rig_h2.h"

/* ---- what comes back ---- */

static void what_upstream_sends_goes_to_the_framer_unread(void **state)
{
	struct rig rig;

	(void)state;
	open_leg(&rig);
	upstream_says(&rig, "whatever this is");
	assert_told(&rig, FRAME_WIRE, 0, bytes_str("whatever this is"));
	io_end(rig.upstream);
	fake_run(rig.loop);
	assert_told(&rig, FRAME_EOF, 0, bytes_from(NULL, 0));
	assert_false(fake_is_ended(rig.leg));
	fake_end(rig.frames);
	fake_run(rig.loop);
	assert_closed(&rig);
	rig_tear_down(&rig);
}

static void a_response_passes_and_its_end_at_once(void **state)
{
	struct rig rig;

	(void)state;
	start_get(&rig);
	says_text(&rig, "HTTP/1.1 200 \r\ncontent-length: 8\r\n\r\n");
	assert_frame(&rig, LEG_DATA,
		     "HTTP/1.1 200 \r\ncontent-length: 8\r\n\r\n");
	/* A word: it could go on. */
	says_text(&rig, "abcdefgh");
	assert_int_equal(buf_len(fake_received(rig.leg)), 0);
	framer_says(&rig, FRAME_OVER, 0, 1, bytes_from(NULL, 0));
	assert_frame(&rig, LEG_DATA, "abcdefgh");
	rig_frame(&rig, LEG_DONE, "");
	assert_false(fake_is_ended(rig.leg));
	rig_tear_down(&rig);
}

static void a_credential_that_comes_back_in_pieces_is_found(void **state)
{
	struct rig rig;

	(void)state;
	start_get(&rig);
	says_text(&rig, "HTTP/1.1 200 \r\nx-was: ghs_the-");
	says_text(&rig, "real-token\r\n\r\n");
	assert_frame(&rig, LEG_DATA, "HTTP/1.1 200 \r\nx-was: ");
	assert_int_equal(rig_refusal(&rig), CONSTRAINT_credential_reflected);
	assert_string_equal(rig.told, "secret.reflected credential_reflected");
	assert_true(rig.is_upstream_over);
	rig_tear_down(&rig);
}

static void what_is_taken_is_told(void **state)
{
	char text[FRAME_PAYLOAD_MAX + 1];
	struct rig rig;

	(void)state;
	memset(text, ' ', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	start_get(&rig);
	says_text(&rig, text);
	assert_told_nothing(&rig);
	says_text(&rig, text);
	assert_told(&rig, FRAME_TAKEN, 1,
		    (struct bytes)BYTES_LITERAL("\0\0\x80\0"));
	rig_tear_down(&rig);
}

/* So much the framer was told that is taken. */
static size_t sum_taken(struct rig *rig)
{
	struct buf *got = fake_received(rig->frames);
	struct frame frame;
	size_t used, sum = 0;

	while (frame_next(buf_view(got), &frame, &used) > 0) {
		assert_int_equal(frame.type, FRAME_TAKEN);
		sum += frame_u32(frame.payload);
		buf_consume(got, used);
	}
	return sum;
}

static void what_an_edge_does_not_take_is_not_told(void **state)
{
	char text[FRAME_PAYLOAD_MAX + 1];
	struct rig rig;

	(void)state;
	memset(text, ' ', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	start_get(&rig);
	fake_set_window(rig.leg, 0);
	for (unsigned i = 0; i < 32; i++)
		says_text(&rig, text);
	assert_in_range(sum_taken(&rig), 1, 300 * 1024);
	fake_set_window(rig.leg, FAKE_WIDE);
	fake_run(rig.loop);
	assert_in_range(sum_taken(&rig), 200 * 1024, 512 * 1024);
	rig_tear_down(&rig);
}

static void a_framer_that_says_more_than_it_may_ends_the_leg(void **state)
{
	char text[FRAME_PAYLOAD_MAX + 1];
	struct rig rig;

	(void)state;
	memset(text, ' ', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	start_get(&rig);
	fake_set_window(rig.leg, 0);
	for (unsigned i = 0; i < 64 && !rig.is_upstream_over; i++)
		says_text(&rig, text);
	assert_true(rig.is_upstream_over);
	rig_tear_down(&rig);
}

static void a_fault_is_told_with_our_words(void **state)
{
	static const struct {
		uint8_t fault;
		enum constraint constraint;
	} cases[] = {
		{FAULT_CLOSED, CONSTRAINT_upstream_closed},
		{FAULT_MALFORMED, CONSTRAINT_response_malformed},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rig rig;

		start_get(&rig);
		says_text(&rig, "HTTP/1.1 200 \r\n\r\n");
		framer_says(&rig, FRAME_FAULT, 0, 1,
			    bytes_from(&cases[i].fault, 1));
		/* What came before it has passed. */
		assert_frame(&rig, LEG_DATA, "HTTP/1.1 200 \r\n\r\n");
		assert_int_equal(rig_refusal(&rig), cases[i].constraint);
		rig_tear_down(&rig);
	}
}

/* ---- a framer that was taken over ---- */

static void what_no_framer_says_ends_the_leg(void **state)
{
	static const struct frame frames[] = {
		{FRAME_HEADERS, 5, 3, BYTES_LITERAL("\x82")},
		{FRAME_DATA, 1, 1, BYTES_LITERAL("x")},
		{FRAME_SETTINGS, 0, 0, BYTES_LITERAL("\0\2\0\0\0\0")},
		{FRAME_BODY, 0, 1, BYTES_LITERAL("\0\0\0\1")},
		{FRAME_HEAD, 0, 1, {0}},
		{FRAME_SAID, 0, 3, BYTES_LITERAL("x")},
		{0x42, 0, 0, {0}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		struct rig rig;

		start_get(&rig);
		framer_says(&rig, (enum frame_type)frames[i].type,
			    frames[i].flags, frames[i].stream,
			    frames[i].payload);
		assert_arrived(&rig, "");
		assert_closed(&rig);
		rig_tear_down(&rig);
	}
}

static void nothing_is_said_while_nothing_is_asked(void **state)
{
	struct rig rig;

	(void)state;
	start_get(&rig);
	says_text(&rig, "HTTP/1.1 204 \r\n\r\n");
	rig_frame(&rig, LEG_DONE, "");
	says_text(&rig, "more");
	assert_closed(&rig);
	rig_tear_down(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_upstream_sends_goes_to_the_framer_unread),
		cmocka_unit_test(a_response_passes_and_its_end_at_once),
		cmocka_unit_test(
			a_credential_that_comes_back_in_pieces_is_found),
		cmocka_unit_test(what_is_taken_is_told),
		cmocka_unit_test(what_an_edge_does_not_take_is_not_told),
		cmocka_unit_test(
			a_framer_that_says_more_than_it_may_ends_the_leg),
		cmocka_unit_test(a_fault_is_told_with_our_words),
		cmocka_unit_test(what_no_framer_says_ends_the_leg),
		cmocka_unit_test(nothing_is_said_while_nothing_is_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
