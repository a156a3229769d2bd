#include "tests/unit/gateway/courier/rig_frames.h"

#define PUSH_URL "/acme/widgets.git"

static void set_up_leg(struct rig *rig)
{
	rig_set_up(rig);
	rig_give_session(rig, UINT64_MAX);
	rig_open_leg(rig, "forge", "good.test");
	assert_true(rig->leg >= 0);
}

/* A POST that was granted; its head has arrived. */
static void start_post(struct rig *rig, bool has_length, uint64_t body_len)
{
	const struct leg_request request = {
		.method = bytes_str("POST"),
		.path = bytes_str("/api"),
		.has_body = true,
		.has_length = has_length,
		.body_len = body_len,
	};

	set_up_leg(rig);
	rig_message(rig, LEG_REQUEST, &leg_request_schema, &request);
	rig_grant(rig);
}

static void assert_head(struct rig *rig, const char *framing)
{
	char head[256];

	(void)snprintf(head, sizeof(head),
		       "POST /api HTTP/1.1\r\nHost: good.test\r\n"
		       "Authorization: Bearer " RIG_TOKEN "\r\n"
		       "Accept-Encoding: identity\r\n%s\r\n\r\n",
		       framing);
	assert_arrived(rig, head);
}

static void leg_sends_a_body_of_the_length_it_announced(void **state)
{
	struct rig rig;

	(void)state;
	start_post(&rig, true, 5);
	assert_head(&rig, "Content-Length: 5");
	rig_frame(&rig, LEG_BODY, "he");
	rig_frame(&rig, LEG_BODY, "");
	rig_frame(&rig, LEG_BODY, "llo");
	rig_frame(&rig, LEG_END, "");
	assert_arrived(&rig, "hello");
	assert_int_equal(rig_refusal(&rig), CONSTRAINT_none);
	rig_tear_down(&rig);
}

static void leg_refuses_a_body_longer_than_announced(void **state)
{
	struct rig rig;

	(void)state;
	start_post(&rig, true, 5);
	assert_head(&rig, "Content-Length: 5");
	rig_frame(&rig, LEG_BODY, "hello!");
	assert_int_equal(rig_refusal(&rig), CONSTRAINT_internal);
	assert_arrived(&rig, "");
	assert_true(rig.is_upstream_over);
	rig_tear_down(&rig);
}

static void leg_refuses_a_body_shorter_than_announced(void **state)
{
	struct rig rig;

	(void)state;
	start_post(&rig, true, 5);
	rig_frame(&rig, LEG_BODY, "hell");
	rig_frame(&rig, LEG_END, "");
	assert_int_equal(rig_refusal(&rig), CONSTRAINT_internal);
	assert_true(rig.is_upstream_over);
	rig_tear_down(&rig);
}

static void leg_chunks_a_body_of_unknown_length(void **state)
{
	struct rig rig;

	(void)state;
	start_post(&rig, false, 0);
	assert_head(&rig, "Transfer-Encoding: chunked");
	rig_frame(&rig, LEG_BODY, "0123456789abcdef!");
	rig_frame(&rig, LEG_END, "");
	assert_arrived(&rig, "11\r\n0123456789abcdef!\r\n0\r\n\r\n");
	rig_tear_down(&rig);
}

static void leg_refuses_a_body_that_was_not_announced(void **state)
{
	const struct leg_request request = {
		.method = bytes_str("GET"),
		.path = bytes_str("/api"),
	};
	struct rig rig;

	(void)state;
	set_up_leg(&rig);
	rig_message(&rig, LEG_REQUEST, &leg_request_schema, &request);
	rig_grant(&rig);
	buf_clear(&rig.arrived);
	rig_frame(&rig, LEG_BODY, "GET /evil HTTP/1.1\r\n\r\n");
	assert_int_equal(rig_refusal(&rig), CONSTRAINT_internal);
	assert_arrived(&rig, "");
	rig_tear_down(&rig);
}

static void leg_refuses_a_length_of_no_body(void **state)
{
	const struct leg_request request = {
		.method = bytes_str("POST"),
		.path = bytes_str("/api"),
		.body_len = 400,
	};
	struct rig rig;

	(void)state;
	set_up_leg(&rig);
	rig_message(&rig, LEG_REQUEST, &leg_request_schema, &request);
	assert_int_equal(rig_refusal(&rig), CONSTRAINT_internal);
	assert_arrived(&rig, "");
	rig_tear_down(&rig);
}

static void leg_refuses_frames_out_of_order(void **state)
{
	static const enum leg_kind kinds[] = {LEG_BODY, LEG_END, LEG_DONE,
					      LEG_DATA, LEG_EOF, LEG_REFUSED};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct rig rig;

		set_up_leg(&rig);
		rig_frame(&rig, kinds[i], "");
		assert_int_equal(rig_refusal(&rig), CONSTRAINT_internal);
		assert_true(rig.is_upstream_over);
		rig_tear_down(&rig);
	}
}

static void leg_waits_with_a_body_while_it_is_granted(void **state)
{
	const struct leg_request request = {
		.method = bytes_str("POST"),
		.path = bytes_str("/api"),
		.has_body = true,
		.has_length = true,
		.body_len = 5,
	};
	struct rig rig;

	(void)state;
	set_up_leg(&rig);
	rig_message(&rig, LEG_REQUEST, &leg_request_schema, &request);
	rig_frame(&rig, LEG_BODY, "hello");
	rig_frame(&rig, LEG_END, "");
	assert_arrived(&rig, "");
	rig_grant(&rig);
	assert_arrived(&rig, "POST /api HTTP/1.1\r\nHost: good.test\r\n"
			     "Authorization: Bearer " RIG_TOKEN "\r\n"
			     "Accept-Encoding: identity\r\n"
			     "Content-Length: 5\r\n\r\nhello");
	rig_tear_down(&rig);
}

/* ---- back ---- */

static void leg_passes_upstreams_bytes_and_its_end(void **state)
{
	struct rig rig;

	(void)state;
	start_post(&rig, true, 0);
	rig_frame(&rig, LEG_END, "");
	upstream_says(&rig, "HTTP/1.1 200 OK\r\n\r\nhello");
	assert_frame(&rig, LEG_DATA, "HTTP/1.1 200 OK\r\n\r\nhello");
	io_end(rig.upstream);
	fake_run(rig.loop);
	assert_frame(&rig, LEG_EOF, "");
	assert_true(fake_is_ended(rig.leg));
	rig_tear_down(&rig);
}

static void leg_says_no_end_when_upstream_is_cut_off(void **state)
{
	struct rig rig;
	int fd;

	(void)state;
	start_post(&rig, true, 0);
	rig_frame(&rig, LEG_END, "");
	upstream_says(&rig, "HTTP/1.1 200 OK\r\n\r\nhello");
	assert_frame(&rig, LEG_DATA, "HTTP/1.1 200 OK\r\n\r\nhello");
	fd = io_fd(rig.upstream);
	/* The end of TCP without close_notify. */
	fake_end(fd);
	fake_run(rig.loop);
	assert_int_equal(buf_len(fake_received(rig.leg)), 0);
	assert_true(fake_is_ended(rig.leg));
	rig_tear_down(&rig);
}

static void leg_serves_the_next_request_with_its_own_grant(void **state)
{
	const struct leg_request request = {
		.method = bytes_str("GET"),
		.path = bytes_str("/api"),
	};
	struct rig rig;

	(void)state;
	start_post(&rig, true, 0);
	rig_frame(&rig, LEG_END, "");
	buf_clear(&rig.arrived);
	rig_frame(&rig, LEG_DONE, "");
	rig_message(&rig, LEG_REQUEST, &leg_request_schema, &request);
	rig_frame(&rig, LEG_END, "");
	assert_arrived(&rig, "");
	rig_grant(&rig);
	assert_arrived(&rig, "GET /api HTTP/1.1\r\nHost: good.test\r\n"
			     "Authorization: Bearer " RIG_TOKEN "\r\n"
			     "Accept-Encoding: identity\r\n\r\n");
	rig_tear_down(&rig);
}

/* A request that was answered whole, as the edge says. */
static void start_done(struct rig *rig)
{
	start_post(rig, true, 0);
	rig_frame(rig, LEG_END, "");
	upstream_says(rig, "HTTP/1.1 204 No Content\r\n\r\n");
	assert_frame(rig, LEG_DATA, "HTTP/1.1 204 No Content\r\n\r\n");
	assert_true(rig->courier.legs->reflect.count > 0);
	rig_frame(rig, LEG_DONE, "");
	buf_clear(&rig->arrived);
}

static void leg_forgets_the_credential_when_the_response_has_ended(void **state)
{
	const struct leg_request request = {
		.method = bytes_str("GET"),
		.path = bytes_str("/api"),
	};
	struct rig rig;

	(void)state;
	start_done(&rig);
	assert_int_equal(rig.courier.legs->reflect.count, 0);
	rig_message(&rig, LEG_REQUEST, &leg_request_schema, &request);
	rig_frame(&rig, LEG_END, "");
	assert_arrived(&rig, "");
	rig_grant(&rig);
	assert_arrived(&rig, "GET /api HTTP/1.1\r\nHost: good.test\r\n"
			     "Authorization: Bearer " RIG_TOKEN "\r\n"
			     "Accept-Encoding: identity\r\n\r\n");
	assert_true(rig.courier.legs->reflect.count > 0);
	rig_tear_down(&rig);
}

static void leg_passes_nothing_between_two_requests(void **state)
{
	struct rig rig;

	(void)state;
	start_done(&rig);
	upstream_says(&rig, "HTTP/1.1 200 OK\r\n\r\n" RIG_TOKEN);
	assert_int_equal(buf_len(fake_received(rig.leg)), 0);
	assert_true(fake_is_ended(rig.leg));
	rig_tear_down(&rig);
}

/* DONE before upstream answered, and the next request at once: what comes
 * while that waits for its credential is nobody's. */
static void leg_passes_nothing_back_while_a_request_waits(void **state)
{
	const struct leg_request request = {
		.method = bytes_str("GET"),
		.path = bytes_str("/api"),
	};
	struct rig rig;

	(void)state;
	start_post(&rig, true, 0);
	rig_frame(&rig, LEG_END, "");
	rig_frame(&rig, LEG_DONE, "");
	rig_message(&rig, LEG_REQUEST, &leg_request_schema, &request);
	upstream_says(&rig, "HTTP/1.1 200 OK\r\n\r\n" RIG_TOKEN);
	assert_int_equal(buf_len(fake_received(rig.leg)), 0);
	rig_tear_down(&rig);
}

static void leg_is_not_done_while_it_still_sends(void **state)
{
	struct rig rig;

	(void)state;
	start_post(&rig, true, 5);
	rig_frame(&rig, LEG_DONE, "");
	assert_int_equal(rig_refusal(&rig), CONSTRAINT_internal);
	rig_tear_down(&rig);
}

/* ---- pushes ---- */

struct push_row {
	const char *what;
	const char *repo_path, *url_path, *ref, *old_oid, *new_oid;
	enum push_verb verb;
	enum constraint refused;
};

#define BRANCH "refs/heads/agent/1"
#define DENIED CONSTRAINT_credential_unavailable

static const struct push_row push_rows[] = {
	{"its own branch, created", "/acme/widgets", PUSH_URL, BRANCH, OID_ZERO,
	 OID_A, PUSH_CREATE, CONSTRAINT_none},
	{"its own branch, forwarded", "/acme/widgets", PUSH_URL, BRANCH, OID_A,
	 OID_B, PUSH_FAST_FORWARD, CONSTRAINT_none},
	{"a foreign ref", "/acme/widgets", PUSH_URL, "refs/heads/main",
	 OID_ZERO, OID_A, PUSH_CREATE, DENIED},
	{"a rewrite", "/acme/widgets", PUSH_URL, BRANCH, OID_A, OID_B,
	 PUSH_REWRITE, DENIED},
	{"nothing proven", "/acme/widgets", PUSH_URL, BRANCH, OID_A, OID_B,
	 PUSH_UPDATE, DENIED},
	{"a delete", "/acme/widgets", PUSH_URL, BRANCH, OID_A, OID_ZERO,
	 PUSH_DELETE, DENIED},
	{"a delete called a fast-forward", "/acme/widgets", PUSH_URL, BRANCH,
	 OID_A, OID_ZERO, PUSH_FAST_FORWARD, DENIED},
	{"another repository", "/acme/gadgets", "/acme/gadgets.git", BRANCH,
	 OID_ZERO, OID_A, PUSH_CREATE, DENIED},
	{"another repository's path", "/acme/widgets", "/acme/gadgets.git",
	 BRANCH, OID_ZERO, OID_A, PUSH_CREATE, DENIED},
	{"a path with a query", "/acme/widgets", PUSH_URL "?x", BRANCH,
	 OID_ZERO, OID_A, PUSH_CREATE, DENIED},
	{"a path with dots", "/acme/widgets", "/acme/x/../widgets.git", BRANCH,
	 OID_ZERO, OID_A, PUSH_CREATE, DENIED},
};

static void send_push(struct rig *rig, const struct push_row *row)
{
	const struct leg_update update = {
		.old_oid = bytes_str(row->old_oid),
		.new_oid = bytes_str(row->new_oid),
		.ref = bytes_str(row->ref),
		.verb = (uint8_t)row->verb,
	};
	const struct leg_push push = {
		.repo_path = bytes_str(row->repo_path),
		.url_path = bytes_str(row->url_path),
		.updates = &update,
		.updates_count = 1,
		.report = REPORT_STATUS,
		.has_pack = true,
		.oid_hex_len = 40,
	};

	rig_message(rig, LEG_PUSH, &leg_push_schema, &push);
}

static void leg_pushes_only_what_the_scope_has(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(push_rows); i++) {
		const struct push_row *row = &push_rows[i];
		struct rig rig;

		set_up_leg(&rig);
		send_push(&rig, row);
		if (row->refused == CONSTRAINT_none)
			rig_grant(&rig);
		if (rig_refusal(&rig) != row->refused ||
		    (buf_len(&rig.arrived) > 0) !=
			    (row->refused == CONSTRAINT_none))
			fail_msg("%s: %s", row->what,
				 constraint_name(rig_refusal(&rig)));
		rig_tear_down(&rig);
	}
}

static void leg_writes_the_commands_of_a_push_itself(void **state)
{
	static const struct bytes commands = BYTES_LITERAL(
		OID_ZERO " " OID_A " " BRANCH "\0 report-status "
			 "object-format=sha1 agent=sallyport/" SP_VERSION);
	struct rig rig;
	struct bytes got;

	(void)state;
	set_up_leg(&rig);
	send_push(&rig, &push_rows[0]);
	rig_grant(&rig);
	rig_frame(&rig, LEG_BODY, "PACK");
	rig_frame(&rig, LEG_END, "");
	got = buf_view(&rig.arrived);
	assert_true(bytes_starts_with(
		got, bytes_str("POST /acme/widgets.git/git-receive-pack "
			       "HTTP/1.1\r\nHost: good.test\r\n")));
	assert_true(bytes_find_bytes(got, commands, 0) > 0);
	assert_true(bytes_ends_with(
		got, bytes_str("0000\r\n4\r\nPACK\r\n0\r\n\r\n")));
	assert_string_equal(rig.recorded, "secret.use s-1 good.test:443 PUSH "
					  "/acme/widgets.git forge");
	rig_tear_down(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leg_sends_a_body_of_the_length_it_announced),
		cmocka_unit_test(leg_refuses_a_body_longer_than_announced),
		cmocka_unit_test(leg_refuses_a_body_shorter_than_announced),
		cmocka_unit_test(leg_chunks_a_body_of_unknown_length),
		cmocka_unit_test(leg_refuses_a_body_that_was_not_announced),
		cmocka_unit_test(leg_refuses_a_length_of_no_body),
		cmocka_unit_test(leg_refuses_frames_out_of_order),
		cmocka_unit_test(leg_waits_with_a_body_while_it_is_granted),
		cmocka_unit_test(leg_passes_upstreams_bytes_and_its_end),
		cmocka_unit_test(leg_says_no_end_when_upstream_is_cut_off),
		cmocka_unit_test(
			leg_serves_the_next_request_with_its_own_grant),
		cmocka_unit_test(
			leg_forgets_the_credential_when_the_response_has_ended),
		cmocka_unit_test(leg_passes_nothing_between_two_requests),
		cmocka_unit_test(leg_passes_nothing_back_while_a_request_waits),
		cmocka_unit_test(leg_is_not_done_while_it_still_sends),
		cmocka_unit_test(leg_pushes_only_what_the_scope_has),
		cmocka_unit_test(leg_writes_the_commands_of_a_push_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
