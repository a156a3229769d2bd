#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/pktline.h"
#include "gateway/git/commands.h"
#include "tests/unit/gateway/git/repo_fixture.h"

#define COMMAND OID_ZERO " " OID_A " refs/heads/agent/42"
#define SECOND	OID_A " " OID_B " refs/heads/main"
#define PACK	"PACK...."

/* A command list and its options, each count times, and a pack behind. */
static void build(const char *const *options, size_t options_count,
		  size_t count, struct buf *body)
{
	static const char first[] = COMMAND "\0report-status push-options";

	assert_int_equal(pktline_add(body, bytes_from((const uint8_t *)first,
						      sizeof(first) - 1)),
			 0);
	assert_int_equal(pktline_add_flush(body), 0);
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < options_count; j++)
			assert_int_equal(
				pktline_add(body, bytes_str(options[j])), 0);
	assert_int_equal(pktline_add_flush(body), 0);
	assert_int_equal(buf_add_str(body, PACK), 0);
}

struct parsed {
	struct arena arena;
	struct commands cmd;
	enum commands_result result;
	size_t taken;
};

static void parse(struct parsed *parsed, struct bytes body, size_t step)
{
	size_t used;

	arena_init(&parsed->arena, COMMANDS_ARENA_MAX);
	commands_init(&parsed->cmd, &parsed->arena);
	parsed->result = COMMANDS_MORE;
	parsed->taken = 0;
	for (size_t at = 0; at < body.len && parsed->result == COMMANDS_MORE;
	     at += step) {
		parsed->result = commands_feed(
			&parsed->cmd, bytes_slice(body, at, at + step), &used);
		parsed->taken += used;
	}
}

static void parsed_release(struct parsed *parsed)
{
	commands_release(&parsed->cmd);
	arena_release(&parsed->arena);
}

static void options_are_told_from_commands_and_the_pack(void **state)
{
	static const char *const options[] = {"ci.skip\n", SECOND};
	auto_type(buf_release) struct buf body;

	(void)state;
	buf_init(&body, PUSH_COMMANDS_BYTES_MAX);
	build(options, 2, 1, &body);
	for (size_t step = 1; step < 60; step++) {
		struct parsed parsed;
		const struct push *push = &parsed.cmd.push;

		parse(&parsed, buf_view(&body), step);
		assert_int_equal(parsed.result, COMMANDS_PUSH);
		assert_int_equal(parsed.taken, buf_len(&body) - strlen(PACK));
		assert_int_equal(push->update_count, 1);
		assert_int_equal(push->option_count, 2);
		assert_true(bytes_is(push->options[0], "ci.skip"));
		/* What looks like a command is none here. */
		assert_true(bytes_is(push->options[1], SECOND));
		parsed_release(&parsed);
	}
}

static void the_number_of_options_is_bounded(void **state)
{
	static const char *const options[] = {"x"};

	(void)state;
	for (size_t count = 0; count <= PUSH_OPTIONS_MAX + 1; count++) {
		auto_type(buf_release) struct buf body;
		struct parsed parsed;

		buf_init(&body, PUSH_COMMANDS_BYTES_MAX);
		build(options, 1, count, &body);
		parse(&parsed, buf_view(&body), 1000);
		assert_int_equal(parsed.result, count > PUSH_OPTIONS_MAX
							? COMMANDS_REFUSED
							: COMMANDS_PUSH);
		if (parsed.result == COMMANDS_REFUSED)
			assert_int_equal(parsed.cmd.verdict.constraint,
					 CONSTRAINT_push_too_large);
		parsed_release(&parsed);
	}
}

static void options_are_written_behind_the_commands(void **state)
{
	static const char *const options[] = {"a=b", "c d"};
	static const char tail[] = "00000007a=b0007c d0000";
	auto_type(buf_release) struct buf body;
	auto_type(buf_release) struct buf out;
	struct leg_push leg;
	struct parsed parsed;
	struct err err;

	(void)state;
	buf_init(&body, PUSH_COMMANDS_BYTES_MAX);
	buf_init(&out, PUSH_COMMANDS_BYTES_MAX);
	build(options, 2, 1, &body);
	parse(&parsed, buf_view(&body), 1000);
	assert_int_equal(commands_to_leg(&parsed.cmd.push, &parsed.arena, &leg),
			 0);
	assert_int_equal(commands_write(&leg, &out, &err), 0);
	assert_true(bytes_find_bytes(buf_view(&out),
				     bytes_str(" push-options "), 0) > 0);
	assert_true(bytes_ends_with(buf_view(&out), bytes_str(tail)));
	/* Without one there is no list, and nobody is told of any. */
	leg.options_count = 0;
	buf_clear(&out);
	assert_int_equal(commands_write(&leg, &out, &err), 0);
	assert_true(bytes_find_bytes(buf_view(&out), bytes_str("push-options"),
				     0) < 0);
	parsed_release(&parsed);
}

static void no_unsound_option_is_written(void **state)
{
	static const char *const bad[] = {"", "a\n", "a\x01z", "a\x7f"};
	static const struct leg_update update = {
		.old_oid = BYTES_LITERAL(OID_ZERO),
		.new_oid = BYTES_LITERAL(OID_A),
		.ref = BYTES_LITERAL("refs/heads/agent/42"),
		.verb = PUSH_CREATE,
	};

	(void)state;
	for (size_t i = 0; i <= ARRAY_SIZE(bad); i++) {
		bool is_good = i == ARRAY_SIZE(bad);
		const struct leg_field option = {
			.name = bytes_str(is_good ? "a" : bad[i])};
		const struct leg_push leg = {
			.updates = &update,
			.updates_count = 1,
			.options = &option,
			.options_count = 1,
			.has_pack = true,
			.oid_hex_len = 40,
		};
		auto_type(buf_release) struct buf out;
		struct err err;

		buf_init(&out, PUSH_COMMANDS_BYTES_MAX);
		assert_int_equal(commands_write(&leg, &out, &err) == 0,
				 is_good);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_are_told_from_commands_and_the_pack),
		cmocka_unit_test(the_number_of_options_is_bounded),
		cmocka_unit_test(options_are_written_behind_the_commands),
		cmocka_unit_test(no_unsound_option_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
