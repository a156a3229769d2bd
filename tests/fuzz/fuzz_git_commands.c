/*
 * Command lists of a push. Properties: the answer does not depend on how
 * the bytes are split; what is accepted is within its bounds; what the
 * courier writes from it is accepted again, with the same updates.
 */
#include <assert.h>

#include "gateway/git/commands.h"
#include "gateway/git/refs.h"
#include "policies/ref.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
	if (parsed->result == COMMANDS_MORE)
		parsed->result = commands_end(&parsed->cmd);
	assert(parsed->result != COMMANDS_MORE);
	if (parsed->result == COMMANDS_REFUSED)
		assert(parsed->cmd.verdict.kind == VERDICT_DENY &&
		       parsed->cmd.verdict.constraint != CONSTRAINT_none &&
		       parsed->cmd.verdict.reason.len > 0);
}

static void parsed_release(struct parsed *parsed)
{
	commands_release(&parsed->cmd);
	arena_release(&parsed->arena);
}

static void check_updates(const struct push *push)
{
	assert(push->update_count > 0);
	assert(push->update_count <= PUSH_UPDATES_MAX);
	for (size_t i = 0; i < push->update_count; i++) {
		const struct push_update *update = &push->updates[i];

		assert(ref_is_valid(update->ref));
		assert(git_oid_is_valid(update->old_oid, push->oid_hex_len));
		assert(git_oid_is_valid(update->new_oid, push->oid_hex_len));
		assert(!bytes_equal(update->old_oid, update->new_oid));
	}
}

static void check_same(const struct push *a, const struct push *b)
{
	assert(a->update_count == b->update_count);
	assert(a->shallow_count == b->shallow_count);
	assert(a->oid_hex_len == b->oid_hex_len);
	assert(a->has_pack == b->has_pack);
	assert(a->report == b->report);
	assert(a->has_side_band == b->has_side_band);
	assert(a->is_atomic == b->is_atomic);
	assert(a->is_quiet == b->is_quiet);
	for (size_t i = 0; i < a->update_count; i++) {
		assert(bytes_equal(a->updates[i].ref, b->updates[i].ref));
		assert(bytes_equal(a->updates[i].old_oid,
				   b->updates[i].old_oid));
		assert(bytes_equal(a->updates[i].new_oid,
				   b->updates[i].new_oid));
		assert(a->updates[i].verb == b->updates[i].verb);
	}
	for (size_t i = 0; i < a->shallow_count; i++)
		assert(bytes_equal(a->shallow[i], b->shallow[i]));
}

static void check_written_again(struct parsed *parsed)
{
	struct leg_push leg;
	struct parsed again;
	struct buf out;

	buf_init(&out, 2 * PUSH_COMMANDS_BYTES_MAX);
	assert(commands_to_leg(&parsed->cmd.push, &parsed->arena, &leg) == 0);
	assert(commands_write(&leg, &out, NULL) == 0);
	parse(&again, buf_view(&out), 64);
	assert(again.result == COMMANDS_PUSH);
	assert(again.taken == buf_len(&out));
	check_same(&parsed->cmd.push, &again.cmd.push);
	parsed_release(&again);
	buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes body = bytes_from(data, size);
	struct parsed whole, split;

	parse(&whole, body, size + 1);
	parse(&split, body, 1);
	assert(whole.result == split.result);
	if (whole.result == COMMANDS_PUSH) {
		assert(whole.taken == split.taken);
		check_updates(&whole.cmd.push);
		check_same(&whole.cmd.push, &split.cmd.push);
		check_written_again(&whole);
	}
	parsed_release(&whole);
	parsed_release(&split);
	return 0;
}
