#include "gateway/ledger/join.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"

static struct record decision(void)
{
	return (struct record){
		.time_ms = 1000,
		.kind = RECORD_REQUEST,
		.allowed = true,
		.session = bytes_str("s-one"),
		.request_id = bytes_str("r-1f"),
		.rule = bytes_str("api"),
		.host = bytes_str("a.example"),
		.port = 443,
		.method = bytes_str("GET"),
		.path = bytes_str("/a"),
		.detail = bytes_str("why"),
		.credential = bytes_str("github"),
		.approval = bytes_str("p-1"),
	};
}

static struct record outcome(void)
{
	struct record record = decision();

	record.time_ms = 1005;
	record.kind = RECORD_RESPONSE;
	record.status = 200;
	record.bytes_up = 7;
	record.bytes_down = 9;
	record.detail = record.credential = bytes_from(NULL, 0);
	return record;
}

static void outcome_joins_its_decision_once(void **state)
{
	static struct join join;
	struct join_entry entry = {.record = decision()};
	struct record ends = outcome();

	(void)state;
	assert_false(join_take(&join, &ends));
	join_offer(&join, &entry);
	assert_true(join_take(&join, &ends));
	assert_int_equal(entry.ended_ms, 1005);
	assert_int_equal(entry.record.time_ms, 1000);
	assert_int_equal(entry.record.kind, RECORD_REQUEST);
	assert_int_equal(entry.record.status, 200);
	assert_int_equal(entry.record.bytes_up, 7);
	assert_int_equal(entry.record.bytes_down, 9);
	assert_true(bytes_is(entry.record.detail, "why"));
	assert_true(bytes_is(entry.record.credential, "github"));
	assert_false(join_take(&join, &ends));
}

static void the_end_of_a_tunnel_joins_its_connection(void **state)
{
	static const char *const methods[] = {"CONNECT", ""};
	static struct join join;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		struct join_entry entry = {.record = decision()};
		struct record ends = outcome();

		entry.record.kind = RECORD_CONNECTION;
		entry.record.method = bytes_from(NULL, 0);
		ends.method = bytes_str("GET");
		join_offer(&join, &entry);
		assert_false(join_take(&join, &ends));
		ends.method = bytes_str(methods[i]);
		assert_true(join_take(&join, &ends));
		assert_true(bytes_is(entry.record.method, methods[i]));
	}
}

/* Each of these would be told by an outcome's row, and not by the joined one:
 * one changed, and it is a row of its own. */
static void an_outcome_that_says_more_is_a_row_of_its_own(void **state)
{
	static const struct {
		size_t offset;
		const char *text;
	} texts[] = {
		{offsetof(struct record, session), "s-two"},
		{offsetof(struct record, request_id), "r-2f"},
		{offsetof(struct record, request_id), ""},
		{offsetof(struct record, rule), "other"},
		{offsetof(struct record, host), "b.example"},
		{offsetof(struct record, method), "HEAD"},
		{offsetof(struct record, path), "/b"},
		{offsetof(struct record, approval), ""},
		{offsetof(struct record, detail), "cut off"},
		{offsetof(struct record, credential), "github"},
		{offsetof(struct record, old_oid), "00"},
		{offsetof(struct record, new_oid), "ff"},
	};
	static struct join join;
	struct join_entry entry = {.record = decision()};
	struct record ends;

	(void)state;
	join_offer(&join, &entry);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		ends = outcome();
		*(struct bytes *)(void *)((uint8_t *)&ends + texts[i].offset) =
			bytes_str(texts[i].text);
		assert_false(join_take(&join, &ends));
	}
	ends = outcome();
	ends.allowed = false;
	assert_false(join_take(&join, &ends));
	ends = outcome();
	ends.constraint = CONSTRAINT_limit_rate;
	assert_false(join_take(&join, &ends));
	ends = outcome();
	ends.port = 80;
	assert_false(join_take(&join, &ends));
	ends = outcome();
	ends.count = 2;
	assert_false(join_take(&join, &ends));
	ends = outcome();
	ends.kind = RECORD_PUSH_REPORT;
	assert_false(join_take(&join, &ends));
	/* The twin: with nothing changed it joins. */
	ends = outcome();
	assert_int_equal(entry.ended_ms, 0);
	assert_true(join_take(&join, &ends));
}

static void nothing_joins_what_is_no_open_decision(void **state)
{
	static struct join join;
	struct record ends = outcome();
	struct join_entry refused = {.record = decision()};
	struct join_entry pushed = {.record = decision()};
	struct join_entry ended = {.record = decision()};

	(void)state;
	refused.record.allowed = false;
	pushed.record.kind = RECORD_PUSH;
	ended.record.status = 404;
	join_offer(&join, &refused);
	assert_false(join_take(&join, &ends));
	join_offer(&join, &pushed);
	assert_false(join_take(&join, &ends));
	join_offer(&join, &ended);
	assert_false(join_take(&join, &ends));
}

static void nothing_joins_what_is_stored(void **state)
{
	static struct join join;
	struct join_entry entry = {.record = decision()};
	struct record ends = outcome();

	(void)state;
	join_offer(&join, &entry);
	join_clear(&join);
	assert_false(join_take(&join, &ends));
	join_offer(&join, &entry);
	assert_true(join_take(&join, &ends));
}

/* As many as are open in a busy session at one time. */
static void requests_that_follow_each_other_find_their_own(void **state)
{
	enum { COUNT = 200 };
	static struct join join;
	static struct join_entry entries[COUNT];
	static char ids[COUNT][16];
	struct record ends = outcome();
	size_t joined = 0;

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		(void)snprintf(ids[i], sizeof(ids[i]), "r-%zx", 4000 + i);
		entries[i].record = decision();
		entries[i].record.request_id = bytes_str(ids[i]);
		join_offer(&join, &entries[i]);
	}
	for (size_t i = COUNT; i-- > 0;) {
		ends.request_id = bytes_str(ids[i]);
		ends.status = (uint16_t)i;
		if (!join_take(&join, &ends))
			continue;
		joined++;
		assert_int_equal(entries[i].record.status, i);
	}
	assert_true(joined > COUNT * 9 / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(outcome_joins_its_decision_once),
		cmocka_unit_test(the_end_of_a_tunnel_joins_its_connection),
		cmocka_unit_test(an_outcome_that_says_more_is_a_row_of_its_own),
		cmocka_unit_test(nothing_joins_what_is_no_open_decision),
		cmocka_unit_test(nothing_joins_what_is_stored),
		cmocka_unit_test(
			requests_that_follow_each_other_find_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
