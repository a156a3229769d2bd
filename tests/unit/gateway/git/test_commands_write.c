#include "tests/unit/gateway/git/run_git.h"

#include "common/cleanup.h"
#include "gateway/git/commands.h"
#include "gateway/git/endpoint.h"
#include "tests/unit/gateway/git/repo_fixture.h"

#define REF "refs/heads/agent/42"

static struct leg_update update_of(const char *old_oid, const char *new_oid,
				   const char *ref, enum push_verb verb)
{
	return (struct leg_update){bytes_str(old_oid), bytes_str(new_oid),
				   bytes_str(ref), (uint8_t)verb};
}

static struct leg_push leg_of(const struct leg_update *updates, size_t count)
{
	return (struct leg_push){
		.updates = updates,
		.updates_count = count,
		.report = REPORT_STATUS_V2,
		.has_side_band = true,
		.has_pack = true,
		.oid_hex_len = 40,
	};
}

static void commands_write_our_own_bytes(void **state)
{
	const struct leg_update updates[] = {
		update_of(OID_ZERO, OID_A, REF, PUSH_CREATE),
		update_of(OID_A, OID_B, "refs/heads/b", PUSH_FAST_FORWARD),
	};
	const struct leg_field shallow[] = {{.name = bytes_str(OID_C)}};
	struct leg_push leg = leg_of(updates, 2);
	auto_type(buf_release) struct buf out, expected;

	(void)state;
	leg.is_atomic = leg.is_quiet = true;
	leg.shallow = shallow;
	leg.shallow_count = 1;
	buf_init(&out, 4096);
	buf_init(&expected, 4096);
	assert_int_equal(commands_write(&leg, &out, NULL), 0);
	(void)buf_add_str(&expected, "0034shallow " OID_C);
	(void)buf_add_format(
		&expected, "%04zx" OID_ZERO " " OID_A " " REF "%c",
		4 + 82 + strlen(REF) + 1 +
			strlen(" report-status-v2 side-band-64k quiet atomic "
			       "object-format=sha1 " GIT_AGENT),
		0);
	(void)buf_add_str(&expected,
			  " report-status-v2 side-band-64k quiet atomic "
			  "object-format=sha1 " GIT_AGENT "0062" OID_A " " OID_B
			  " refs/heads/b0000");
	assert_true(bytes_equal(buf_view(&out), buf_view(&expected)));
}

static void commands_write_refuses_what_was_never_approved(void **state)
{
	static const struct {
		const char *old_oid, *new_oid, *ref;
		enum push_verb verb;
		int status;
	} rows[] = {
		{OID_ZERO, OID_A, REF, PUSH_CREATE, 0},
		{OID_A, OID_B, REF, PUSH_FAST_FORWARD, 0},
		{OID_A, OID_B, REF, PUSH_REWRITE, 0},
		{OID_ZERO, OID_A, REF, PUSH_FAST_FORWARD, -1},
		{OID_A, OID_B, REF, PUSH_CREATE, -1},
		{OID_A, OID_ZERO, REF, PUSH_FAST_FORWARD, -1},
		{OID_A, OID_A, REF, PUSH_FAST_FORWARD, -1},
		{OID_ZERO, OID_ZERO, REF, PUSH_CREATE, -1},
		{OID_ZERO, OID_A, REF "\n", PUSH_CREATE, -1},
		{OID_ZERO, OID_A, "HEAD", PUSH_CREATE, -1},
		{OID_ZERO, OID_A_256, REF, PUSH_CREATE, -1},
		{OID_ZERO, "1234", REF, PUSH_CREATE, -1},
		{OID_ZERO, "", REF, PUSH_CREATE, -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct leg_update update =
			update_of(rows[i].old_oid, rows[i].new_oid, rows[i].ref,
				  rows[i].verb);
		const struct leg_push leg = leg_of(&update, 1);
		auto_type(buf_release) struct buf out;
		struct err err;

		buf_init(&out, 4096);
		if (commands_write(&leg, &out, &err) != rows[i].status)
			fail_msg("row %zu", i);
	}
}

static void commands_write_checks_the_whole(void **state)
{
	const struct leg_update updates[] = {
		update_of(OID_ZERO, OID_A, REF, PUSH_CREATE),
		update_of(OID_A, OID_B, REF, PUSH_FAST_FORWARD),
	};
	struct leg_push leg = leg_of(updates, 2);
	auto_type(buf_release) struct buf out;
	struct err err;

	(void)state;
	buf_init(&out, 4096);
	assert_int_equal(commands_write(&leg, &out, &err), -1); /* twice */
	leg.updates_count = 0;
	assert_int_equal(commands_write(&leg, &out, &err), -1);
	leg.updates_count = 1;
	leg.has_pack = false;
	assert_int_equal(commands_write(&leg, &out, &err), -1);
	leg.has_pack = true;
	leg.oid_hex_len = 41;
	assert_int_equal(commands_write(&leg, &out, &err), -1);
	leg.oid_hex_len = 40;
	assert_int_equal(buf_len(&out), 0);
	assert_int_equal(commands_write(&leg, &out, &err), 0);
	buf_release(&out);
	buf_init(&out, 20);
	assert_int_equal(commands_write(&leg, &out, &err), -1);
	assert_int_equal(err.code, ERR_TOO_LARGE);
}

/* What a client says and what upstream hears: the same updates. */
static void real_receive_pack_applies_what_we_write(void **state)
{
	static const char *const receive[] = {"git", "receive-pack",
					      "--stateless-rpc", ".", NULL};
	static const char *const pack[] = {"git",      "pack-objects", "--all",
					   "--stdout", "-q",	       NULL};
	char *upstream = run_repository(), *work = run_repository();
	char tip[RUN_OID_LEN + 1], landed[RUN_OID_LEN + 1];
	auto_type(buf_release) struct buf body, out;
	struct leg_update update;
	struct leg_push leg;

	(void)state;
	buf_init(&body, RUN_OUTPUT_MAX);
	buf_init(&out, RUN_OUTPUT_MAX);
	run_commit(work, "one");
	run_oid(work, "HEAD", tip);
	update = update_of(OID_ZERO, tip, REF, PUSH_CREATE);
	leg = leg_of(&update, 1);
	leg.is_atomic = true;
	assert_int_equal(commands_write(&leg, &body, NULL), 0);
	assert_int_equal(run_git(work, pack, bytes_str(NULL), &body), 0);
	assert_int_equal(run_git(upstream, receive, buf_view(&body), &out), 0);
	assert_true(bytes_find_bytes(buf_view(&out), bytes_str("ok " REF), 0) >
		    0);
	run_oid(upstream, REF, landed);
	assert_string_equal(landed, tip);
	run_remove(upstream);
	run_remove(work);
}

static void commands_travel_to_the_courier_unchanged(void **state)
{
	struct push_update updates[] = {
		{.old_oid = bytes_str(OID_A),
		 .new_oid = bytes_str(OID_B),
		 .ref = bytes_str(REF),
		 .verb = PUSH_FAST_FORWARD},
	};
	struct bytes shallow[] = {bytes_str(OID_C)};
	const struct push push = {
		.updates = updates,
		.update_count = 1,
		.oid_hex_len = 40,
		.report = REPORT_STATUS,
		.has_side_band = true,
		.is_quiet = true,
		.shallow = shallow,
		.shallow_count = 1,
		.has_pack = true,
	};
	struct leg_push leg;
	struct arena arena;

	(void)state;
	arena_init(&arena, 4096);
	assert_int_equal(commands_to_leg(&push, &arena, &leg), 0);
	assert_int_equal(leg.updates_count, 1);
	assert_true(bytes_is(leg.updates[0].old_oid, OID_A));
	assert_true(bytes_is(leg.updates[0].new_oid, OID_B));
	assert_true(bytes_is(leg.updates[0].ref, REF));
	assert_int_equal(leg.updates[0].verb, PUSH_FAST_FORWARD);
	assert_int_equal(leg.report, REPORT_STATUS);
	assert_true(leg.has_side_band && leg.is_quiet && leg.has_pack);
	assert_false(leg.is_atomic);
	assert_int_equal(leg.shallow_count, 1);
	assert_true(bytes_is(leg.shallow[0].name, OID_C));
	assert_int_equal(leg.oid_hex_len, 40);
	arena_release(&arena);
	arena_init(&arena, 8);
	assert_int_equal(commands_to_leg(&push, &arena, &leg), -1);
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_write_our_own_bytes),
		cmocka_unit_test(
			commands_write_refuses_what_was_never_approved),
		cmocka_unit_test(commands_write_checks_the_whole),
		cmocka_unit_test(real_receive_pack_applies_what_we_write),
		cmocka_unit_test(commands_travel_to_the_courier_unchanged),
	};

	return cmocka_run_group_tests_name("commands_write", tests, NULL, NULL);
}
