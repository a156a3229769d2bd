/*
 * The courier's rig: frames of a leg, and what vault and ledger answer.
 */
#ifndef TESTS_COURIER_RIG_FRAMES_H
#define TESTS_COURIER_RIG_FRAMES_H

#include "tests/unit/gateway/courier/rig_leg.h"

/* Send a frame over the leg. */
static inline void rig_frame(struct rig *rig, enum leg_kind kind,
			     const char *text)
{
	auto_type(buf_release) struct buf frame;

	buf_init(&frame, LEG_FRAME_MAX + 16);
	assert_int_equal(leg_add_frame(&frame, kind, bytes_str(text)), 0);
	fake_send(rig->leg, buf_view(&frame));
	fake_run(rig->loop);
}

static inline void rig_message(struct rig *rig, enum leg_kind kind,
			       const struct wire_schema *schema,
			       const void *message)
{
	auto_type(buf_release) struct buf frame;
	struct err err;

	buf_init(&frame, LEG_HEAD_MAX + 16);
	assert_int_equal(leg_add_message(&frame, kind, schema, message, &err),
			 0);
	fake_send(rig->leg, buf_view(&frame));
	fake_run(rig->loop);
}

static inline void rig_answer_token(struct rig *rig)
{
	const struct msg_token token = {
		.attach = ATTACH_BEARER,
		.secret = bytes_str(RIG_TOKEN),
	};

	assert_non_null(rig->token.rpc);
	rpc_reply(rig->token, &msg_token_schema, &token, -1);
	rig->token.rpc = NULL;
	fake_run(rig->loop);
}

static inline void rig_answer_record(struct rig *rig)
{
	const struct wire_empty empty = {0};

	assert_non_null(rig->record.rpc);
	rpc_reply(rig->record, &wire_empty_schema, &empty, -1);
	rig->record.rpc = NULL;
	fake_run(rig->loop);
}

static inline void rig_grant(struct rig *rig)
{
	rig_answer_token(rig);
	rig_answer_record(rig);
}

/* The constraint of a LEG_REFUSED that came next; none when none did. */
static inline enum constraint rig_refusal(struct rig *rig)
{
	struct leg_refused refused = {0};
	struct arena arena;
	enum leg_kind kind;
	struct bytes payload;
	size_t used;
	struct err err;
	int got = leg_next(buf_view(fake_received(rig->leg)), &kind, &payload,
			   &used);

	if (got != 1 || kind != LEG_REFUSED)
		return CONSTRAINT_none;
	arena_init(&arena, LEG_FRAME_MAX);
	assert_int_equal(wire_decode(&leg_refused_schema, payload, &arena,
				     &refused, &err),
			 0);
	arena_release(&arena);
	return (enum constraint)refused.constraint;
}

static inline void assert_arrived(struct rig *rig, const char *text)
{
	if (!bytes_is(buf_view(&rig->arrived), text))
		fail_msg("upstream got: %.*s",
			 BYTES_ARGS(buf_view(&rig->arrived)));
	buf_clear(&rig->arrived);
}

/* The next frame of the leg: its payload is taken as text. */
static inline void assert_frame(struct rig *rig, enum leg_kind wanted,
				const char *text)
{
	struct buf *got = fake_received(rig->leg);
	struct bytes payload;
	enum leg_kind kind;
	size_t used;

	assert_int_equal(leg_next(buf_view(got), &kind, &payload, &used), 1);
	assert_int_equal(kind, wanted);
	assert_true(bytes_is(payload, text));
	buf_consume(got, used);
}

static inline void upstream_says(struct rig *rig, const char *text)
{
	assert_int_equal(io_write(rig->upstream, bytes_str(text)), 0);
	fake_run(rig->loop);
}

#endif
