/* What becomes of a response with the credential in it, on a whole leg. */
#include "tests/unit/gateway/courier/rig_frames.h"

#define STARS "******************" /* as long as RIG_TOKEN */

static void start(struct rig *rig, enum policy_scrub scrub)
{
	const struct leg_request request = {
		.method = bytes_str("GET"),
		.path = bytes_str("/api"),
	};

	rig_set_up(rig);
	rig_give_session(rig, UINT64_MAX);
	rig_open_leg(rig, "forge", "good.test");
	rig->courier.legs->scrub = scrub;
	rig_message(rig, LEG_REQUEST, &leg_request_schema, &request);
	rig_frame(rig, LEG_END, "");
	rig_grant(rig);
}

static void leg_cuts_a_response_before_its_credential(void **state)
{
	struct rig rig;

	(void)state;
	start(&rig, SCRUB_CUT);
	upstream_says(&rig, "HTTP/1.1 200 OK\r\n\r\n");
	assert_frame(&rig, LEG_DATA, "HTTP/1.1 200 OK\r\n\r\n");
	upstream_says(&rig, "token: " RIG_TOKEN);
	assert_int_equal(rig_refusal(&rig), CONSTRAINT_credential_reflected);
	assert_true(fake_is_ended(rig.leg));
	assert_string_equal(rig.told, "secret.reflected credential_reflected");
	assert_false(rig.was_revoked);
	rig_tear_down(&rig);
}

static void leg_overwrites_a_credential_and_goes_on(void **state)
{
	struct rig rig;

	(void)state;
	start(&rig, SCRUB_MASK);
	upstream_says(&rig,
		      "HTTP/1.1 200 OK\r\nX: " RIG_TOKEN "\r\n\r\nghs_the-");
	assert_frame(&rig, LEG_DATA, "HTTP/1.1 200 OK\r\nX: " STARS "\r\n\r\n");
	assert_string_equal(rig.told, "secret.reflected credential_reflected");
	rig.told[0] = 0;
	upstream_says(&rig, "real-token. " RIG_TOKEN);
	assert_frame(&rig, LEG_DATA, STARS ". " STARS);
	upstream_says(&rig, "more");
	assert_frame(&rig, LEG_DATA, "more");
	/* One row for one request. */
	assert_string_equal(rig.told, "");
	rig_frame(&rig, LEG_DONE, "");
	assert_false(fake_is_ended(rig.leg));
	assert_false(rig.was_revoked);
	rig_tear_down(&rig);
}

static void leg_forgets_what_passed_for_the_next_request(void **state)
{
	const struct leg_request request = {
		.method = bytes_str("GET"),
		.path = bytes_str("/api"),
	};
	struct rig rig;

	(void)state;
	start(&rig, SCRUB_MASK);
	upstream_says(&rig, "HTTP/1.1 200 OK\r\n\r\n" RIG_TOKEN);
	assert_frame(&rig, LEG_DATA, "HTTP/1.1 200 OK\r\n\r\n" STARS);
	rig_frame(&rig, LEG_DONE, "");
	rig_message(&rig, LEG_REQUEST, &leg_request_schema, &request);
	rig_frame(&rig, LEG_END, "");
	rig_grant(&rig);
	rig.told[0] = 0;
	upstream_says(&rig, "HTTP/1.1 200 OK\r\n\r\nnothing");
	assert_frame(&rig, LEG_DATA, "HTTP/1.1 200 OK\r\n\r\nnothing");
	assert_string_equal(rig.told, "");
	upstream_says(&rig, RIG_TOKEN);
	assert_frame(&rig, LEG_DATA, STARS);
	assert_string_equal(rig.told, "secret.reflected credential_reflected");
	rig_tear_down(&rig);
}

static void leg_has_the_session_stopped_where_the_policy_says_so(void **state)
{
	struct rig rig;

	(void)state;
	start(&rig, SCRUB_STOP);
	upstream_says(&rig, "HTTP/1.1 200 OK\r\n\r\n" RIG_TOKEN);
	assert_int_equal(rig_refusal(&rig), CONSTRAINT_credential_reflected);
	assert_true(rig.was_revoked);
	rig_tear_down(&rig);
}

/* A session that has its guess of the credential echoed, at the end of a
 * response, must not see by a pause whether it is right. */
static void leg_lets_a_right_guess_go_like_a_wrong_one(void **state)
{
	static const char *const guesses[] = {"ghs_the-", "ghs_the_",
					      "any-word"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(guesses); i++) {
		struct rig rig;

		start(&rig, i % 2 ? SCRUB_MASK : SCRUB_CUT);
		upstream_says(&rig, "HTTP/1.1 200 OK\r\n\r\n");
		assert_frame(&rig, LEG_DATA, "HTTP/1.1 200 OK\r\n\r\n");
		upstream_says(&rig, guesses[i]);
		assert_int_equal(buf_len(fake_received(rig.leg)), 0);
		fake_advance(rig.loop, 49);
		assert_int_equal(buf_len(fake_received(rig.leg)), 0);
		fake_advance(rig.loop, 1);
		assert_frame(&rig, LEG_DATA, guesses[i]);
		assert_string_equal(rig.told, "");
		rig_frame(&rig, LEG_DONE, "");
		assert_false(fake_is_ended(rig.leg));
		rig_tear_down(&rig);
	}
}

static void leg_waits_for_nothing_behind_the_last_chunk(void **state)
{
	static const char *const ends[] = {
		"9\r\nsome-word\r\n0\r\n\r\n",
		"8\r\nghs_the-\r\n0\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		struct rig rig;

		start(&rig, SCRUB_CUT);
		upstream_says(&rig, "HTTP/1.1 200 OK\r\n\r\n");
		assert_frame(&rig, LEG_DATA, "HTTP/1.1 200 OK\r\n\r\n");
		upstream_says(&rig, ends[i]);
		assert_frame(&rig, LEG_DATA, ends[i]);
		rig_tear_down(&rig);
	}
}

static void leg_cuts_half_a_credential_before_the_last_chunk(void **state)
{
	struct rig rig;

	(void)state;
	start(&rig, SCRUB_MASK);
	upstream_says(&rig, "HTTP/1.1 200 OK\r\n\r\n");
	assert_frame(&rig, LEG_DATA, "HTTP/1.1 200 OK\r\n\r\n");
	upstream_says(&rig, "9\r\nghs_the-r\r\n0\r\n\r\n");
	assert_int_equal(rig_refusal(&rig), CONSTRAINT_credential_reflected);
	rig_tear_down(&rig);
}

static void leg_cuts_half_a_credential_when_upstream_pauses(void **state)
{
	struct rig rig;

	(void)state;
	start(&rig, SCRUB_MASK);
	upstream_says(&rig, "HTTP/1.1 200 OK\r\n\r\n");
	assert_frame(&rig, LEG_DATA, "HTTP/1.1 200 OK\r\n\r\n");
	upstream_says(&rig, "ghs_the-r");
	fake_advance(rig.loop, 50);
	assert_int_equal(rig_refusal(&rig), CONSTRAINT_credential_reflected);
	assert_string_equal(rig.told, "secret.reflected credential_reflected");
	rig_tear_down(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leg_cuts_a_response_before_its_credential),
		cmocka_unit_test(leg_overwrites_a_credential_and_goes_on),
		cmocka_unit_test(leg_forgets_what_passed_for_the_next_request),
		cmocka_unit_test(leg_lets_a_right_guess_go_like_a_wrong_one),
		cmocka_unit_test(leg_waits_for_nothing_behind_the_last_chunk),
		cmocka_unit_test(
			leg_cuts_half_a_credential_before_the_last_chunk),
		cmocka_unit_test(
			leg_cuts_half_a_credential_when_upstream_pauses),
		cmocka_unit_test(
			leg_has_the_session_stopped_where_the_policy_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
