#include "tests/unit/gateway/ledger/fixture.h"

static const struct row_head head = {
	.sequence = 12,
	.time_ms = 1763751600123,
	.kind = RECORD_REQUEST,
	.allowed = true,
	.session = BYTES_LITERAL("s-abc"),
};

static void row_head_has_its_members_in_their_order(void **state)
{
	auto_type(buf_release) struct buf out;

	(void)state;
	buf_init(&out, ROW_HEAD_MAX);
	assert_int_equal(row_add_head(&out, &head), 0);
	assert_string_equal(buf_str(&out),
			    "{\"sequence\":12,"
			    "\"time\":\"2025-11-21T19:00:00.123Z\","
			    "\"class_uid\":4002,\"activity\":\"request\","
			    "\"allowed\":true,\"session\":\"s-abc\"");
}

static void row_head_says_when_what_was_decided_ended(void **state)
{
	auto_type(buf_release) struct buf out;
	struct row_head ended = head;

	(void)state;
	ended.ended_ms = head.time_ms + 2;
	buf_init(&out, ROW_HEAD_MAX);
	assert_int_equal(row_add_head(&out, &ended), 0);
	assert_true(bytes_ends_with(
		buf_view(&out),
		bytes_str(",\"session\":\"s-abc\","
			  "\"ended\":\"2025-11-21T19:00:00.125Z\"")));
	assert_int_equal(row_kind_number(&ended), RECORD_REQUEST + ROW_ENDED);
	assert_int_equal(row_kind_number(&head), RECORD_REQUEST);
}

static void row_head_fits_its_bound_at_its_longest(void **state)
{
	struct row_head longest = head;
	char session[SESSION_ID_MAX];

	memset(session, '"', sizeof(session));
	longest.sequence = INT64_MAX;
	longest.session = bytes_from(session, sizeof(session));
	longest.allowed = false;
	longest.ended_ms = longest.time_ms;
	(void)state;
	for (int kind = 0; kind < RECORD_KIND_MAX; kind++) {
		auto_type(buf_release) struct buf out;

		buf_init(&out, ROW_HEAD_MAX);
		longest.kind = (enum record_kind)kind;
		assert_int_equal(row_add_head(&out, &longest), 0);
		assert_true(row_class(longest.kind, true) > 1000);
	}
}

static void row_leaves_out_what_is_empty(void **state)
{
	const struct record record = {0};
	auto_type(buf_release) struct buf out;

	(void)state;
	buf_init(&out, 1024);
	assert_int_equal(row_add_tail(&out, &record), 0);
	assert_string_equal(buf_str(&out), "}");
}

static void row_writes_every_member_once(void **state)
{
	const struct record record = {
		.constraint = CONSTRAINT_host_not_allowed,
		.request_id = bytes_str("r-1"),
		.rule = bytes_str("default"),
		.host = bytes_str("example.com"),
		.port = 443,
		.method = bytes_str("GET"),
		.path = bytes_str("/a"),
		.status = 403,
		.bytes_up = 18446744073709551615u,
		.bytes_down = 7,
		.credential = bytes_str("github"),
		.detail = bytes_str("no"),
		.old_oid = bytes_str("00"),
		.new_oid = bytes_str("ff"),
		.count = 412,
		.first_ms = 1000,
	};
	auto_type(buf_release) struct buf out;

	(void)state;
	buf_init(&out, 1024);
	assert_int_equal(row_add_tail(&out, &record), 0);
	assert_string_equal(
		buf_str(&out),
		",\"constraint\":\"host_not_allowed\",\"request_id\":\"r-1\","
		"\"rule\":\"default\",\"host\":\"example.com\",\"port\":443,"
		"\"method\":\"GET\",\"path\":\"/a\",\"status\":403,"
		"\"bytes_up\":18446744073709551615,\"bytes_down\":7,"
		"\"credential\":\"github\",\"detail\":\"no\","
		"\"old_oid\":\"00\",\"new_oid\":\"ff\",\"count\":412,"
		"\"first\":\"1970-01-01T00:00:01.000Z\"}");
}

static void row_escapes_what_json_cannot_hold(void **state)
{
	static const struct {
		const char *text;
		const char *json;
	} rows[] = {
		{"a\"b", ",\"detail\":\"a\\\"b\"}"},
		{"\\", ",\"detail\":\"\\\\\"}"},
		{"a\nb\tc", ",\"detail\":\"a\\nb\\tc\"}"},
		{"\x01", ",\"detail\":\"\\u0001\"}"},
		{"\",\"allowed\":true,\"x\":\"",
		 ",\"detail\":\"\\\",\\\"allowed\\\":true,\\\"x\\\":\\\"\"}"},
		{"gr\xc3\xbc\xc3\x9f", ",\"detail\":\"gr\xc3\xbc\xc3\x9f\"}"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct record record = {.detail =
						      bytes_str(rows[i].text)};
		auto_type(buf_release) struct buf out;

		buf_init(&out, 1024);
		assert_int_equal(row_add_tail(&out, &record), 0);
		assert_string_equal(buf_str(&out), rows[i].json);
	}
}

static void row_cuts_its_detail_to_stay_in_its_bound(void **state)
{
	char quotes[2048] = {0};
	struct record record = {
		.rule = bytes_from(quotes, 256),
		.host = bytes_from(quotes, 256),
		.path = bytes_from(quotes, 2048),
		.credential = bytes_from(quotes, 128),
		.detail = bytes_from(quotes, 1024),
		.old_oid = bytes_from(quotes, 64),
		.new_oid = bytes_from(quotes, 64),
		.request_id = bytes_from(quotes, 32),
		.method = bytes_from(quotes, 32),
		.bytes_up = UINT64_MAX,
		.bytes_down = UINT64_MAX,
		.constraint = CONSTRAINT_push_not_fast_forward,
	};
	auto_type(buf_release) struct buf out;

	(void)state;
	memset(quotes, '"', sizeof(quotes));
	buf_init(&out, 2 * ROW_JSON_MAX);
	assert_int_equal(row_add_tail(&out, &record), 0);
	assert_true(buf_len(&out) <= ROW_JSON_MAX - ROW_HEAD_MAX);
	assert_true(bytes_ends_with(buf_view(&out), bytes_str("}")));
	buf_clear(&out);
	/* The twin: the same row with short texts keeps all its detail. */
	record.path = bytes_from(quotes, 16);
	assert_int_equal(row_add_tail(&out, &record), 0);
	assert_true(buf_len(&out) > 2 * 1024);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(row_head_has_its_members_in_their_order),
		cmocka_unit_test(row_head_says_when_what_was_decided_ended),
		cmocka_unit_test(row_head_fits_its_bound_at_its_longest),
		cmocka_unit_test(row_leaves_out_what_is_empty),
		cmocka_unit_test(row_writes_every_member_once),
		cmocka_unit_test(row_escapes_what_json_cannot_hold),
		cmocka_unit_test(row_cuts_its_detail_to_stay_in_its_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
