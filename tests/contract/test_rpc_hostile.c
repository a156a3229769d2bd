#include "tests/contract/rpc_stage.h"

struct hostile {
	const char *name;
	size_t len;
	uint8_t bytes[24];
	bool has_fd;
	bool is_fine; /* the twin: the channel stays */
};

/* u16 type, u8 kind, u8 zero, u32 id; u32 length, text, u32 number. */
static const struct hostile hostiles[] = {
	{"request", 16, {ECHO, 0, 1, 0, 9}, false, true},
	{"notification", 16, {ECHO, 0, 0, 0, 0}, false, true},
	{"descriptor", 16, {TAKE_FD, 0, 1, 0, 9}, true, true},
	{"short header", 7, {ECHO, 0, 1, 0, 9}, false, false},
	{"one byte", 1, {ECHO}, false, false},
	{"kind", 16, {ECHO, 0, RPC_KIND_MAX, 0, 9}, false, false},
	{"zero is not", 16, {ECHO, 0, 1, 1, 9}, false, false},
	{"unknown type", 16, {99, 0, 1, 0, 9}, false, false},
	{"type high byte", 16, {ECHO, 1, 1, 0, 9}, false, false},
	{"request, id 0", 16, {ECHO, 0, 1, 0, 0}, false, false},
	{"note with id", 16, {ECHO, 0, 0, 0, 9}, false, false},
	{"cut body", 15, {ECHO, 0, 1, 0, 9}, false, false},
	{"no body", 8, {ECHO, 0, 1, 0, 9}, false, false},
	{"long body", 17, {ECHO, 0, 1, 0, 9}, false, false},
	{"text length", 16, {ECHO, 0, 1, 0, 9, 0, 0, 0, 5}, false, false},
	{"huge length",
	 16,
	 {ECHO, 0, 1, 0, 9, 0, 0, 0, 255, 255, 255, 255},
	 false,
	 false},
	{"no text",
	 17,
	 {ECHO, 0, 1, 0, 9, 0, 0, 0, 1, 0, 0, 0, 7},
	 false,
	 false},
	{"text", 17, {ECHO, 0, 1, 0, 9, 0, 0, 0, 1, 0, 0, 0, 'x'}, false, true},
	{"descriptor too many", 16, {ECHO, 0, 1, 0, 9}, true, false},
	{"descriptor missing", 16, {TAKE_FD, 0, 1, 0, 9}, false, false},
	{"reply to nothing", 16, {ECHO, 0, 2, 0, 1}, false, false},
	{"reply, id 0", 16, {ECHO, 0, 2, 0, 0}, false, false},
	{"refusal of nothing", 14, {ECHO, 0, 3, 0, 1}, false, false},
};

static void rpc_closes_on_whatever_is_not_allowed(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(hostiles); i++) {
		const struct hostile *row = &hostiles[i];
		auto_fd int fd = memfd_create("t", MFD_CLOEXEC);
		struct fixture *fixture;
		struct err err;
		void *made;

		assert_int_equal(set_up_bare(&made), 0);
		fixture = made;
		assert_int_equal(
			io_message_send(fixture->bare,
					bytes_from(row->bytes, row->len),
					row->has_fd ? fd : -1, &err),
			0);
		settle(fixture);
		if (fixture->keeper_closed != !row->is_fine)
			fail_msg("%s: %s", row->name, fixture->why);
		assert_int_equal(fixture->requests + fixture->notes,
				 row->is_fine);
		assert_int_equal(tear_down(&made), 0);
	}
}

/* The keeper asks here; the bare peer answers with what a row says. */
static void rpc_closes_on_a_reply_that_does_not_fit(void **state)
{
	static const struct hostile rows[] = {
		{"reply", 16, {ECHO, 0, 2, 0, 1}, false, true},
		{"reply with fd", 16, {ECHO, 0, 2, 0, 1}, true, true},
		{"refusal", 14, {ECHO, 0, 3, 0, 1}, false, true},
		{"other type", 16, {LATER, 0, 2, 0, 1}, false, false},
		{"other id", 16, {ECHO, 0, 2, 0, 2}, false, false},
		{"id far off", 16, {ECHO, 0, 2, 0, 1, 1}, false, false},
		{"cut", 15, {ECHO, 0, 2, 0, 1}, false, false},
		{"long", 17, {ECHO, 0, 2, 0, 1}, false, false},
		{"refusal cut", 13, {ECHO, 0, 3, 0, 1}, false, false},
		{"refusal with fd", 14, {ECHO, 0, 3, 0, 1}, true, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_fd int fd = memfd_create("t", MFD_CLOEXEC);
		struct fixture *fixture;
		struct err err;
		void *made;

		assert_int_equal(set_up_bare(&made), 0);
		fixture = made;
		fixture->asker = fixture->keeper;
		assert_int_equal(ask(fixture, ECHO, "x", NULL), 0);
		fixture->asker = NULL;
		assert_int_equal(
			io_message_send(fixture->bare,
					bytes_from(rows[i].bytes, rows[i].len),
					rows[i].has_fd ? fd : -1, &err),
			0);
		settle(fixture);
		if (fixture->keeper_closed != !rows[i].is_fine)
			fail_msg("%s: %s", rows[i].name, fixture->why);
		assert_int_equal(fixture->outcomes, 1);
		assert_int_equal(fixture->outcome == ERR_CLOSED,
				 !rows[i].is_fine);
		if (fixture->fd >= 0)
			(void)close(fixture->fd);
		/* The same reply twice is dropped, not an outcome. */
		if (rows[i].is_fine)
			assert_int_equal(
				io_message_send(
					fixture->bare,
					bytes_from(rows[i].bytes, rows[i].len),
					-1, &err),
				0);
		settle(fixture);
		assert_int_equal(fixture->outcomes, 1);
		assert_int_equal(fixture->keeper_closed, !rows[i].is_fine);
		assert_int_equal(tear_down(&made), 0);
	}
}

static void rpc_closes_on_an_id_that_is_in_use(void **state)
{
	static const uint8_t later[] = {LATER, 0, 1, 0, 5, 0, 0, 0,
					0,     0, 0, 0, 0, 0, 0, 0};
	struct fixture *fixture = *state;
	struct err err;

	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(
			io_message_send(fixture->bare,
					bytes_from(later, sizeof(later)), -1,
					&err),
			0);
	settle(fixture);
	assert_int_equal(fixture->requests, 1);
	assert_int_equal(fixture->keeper_closed, 1);
	assert_non_null(strstr(fixture->why, "in use"));
}

static void rpc_takes_an_id_again_once_it_was_answered(void **state)
{
	static const uint8_t later[] = {LATER, 0, 1, 0, 5, 0, 0, 0,
					0,     0, 0, 0, 0, 0, 0, 0};
	struct fixture *fixture = *state;
	struct err err;

	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(
			io_message_send(fixture->bare,
					bytes_from(later, sizeof(later)), -1,
					&err),
			0);
		settle(fixture);
		answer_kept(fixture, "x");
	}
	assert_int_equal(fixture->requests, 2);
	assert_int_equal(fixture->keeper_closed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rpc_closes_on_whatever_is_not_allowed),
		cmocka_unit_test(rpc_closes_on_a_reply_that_does_not_fit),
		BARE(rpc_closes_on_an_id_that_is_in_use),
		BARE(rpc_takes_an_id_again_once_it_was_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
