/*
 * The courier's rig: a leg whose upstream speaks HTTP/2, and what its framer
 * says.
 */
#ifndef TESTS_COURIER_RIG_H2_H
#define TESTS_COURIER_RIG_H2_H

#include "gateway/courier/frames.h"
#include "gateway/courier/h2.h"
#include "tests/unit/gateway/courier/rig_frames.h"

/* Of a fake descriptor. */
#define FAKE_WIDE (768 * 1024)
#define PREFACE	  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

static const struct leg_request get = {
	.request_id = BYTES_LITERAL("r-1"),
	.rule = BYTES_LITERAL("rule"),
	.method = BYTES_LITERAL("GET"),
	.path = BYTES_LITERAL("/a.B/C?q=secret"),
};

static inline int choose_h2(SSL *ssl, const unsigned char **out,
			    unsigned char *len, const unsigned char *in,
			    unsigned in_len, void *owner)
{
	(void)ssl;
	(void)owner;
	if (bytes_find_bytes(bytes_from(in, in_len), bytes_str("h2"), 0) < 0)
		return SSL_TLSEXT_ERR_NOACK;
	*out = (const unsigned char *)"h2";
	*len = 2;
	return SSL_TLSEXT_ERR_OK;
}

/* From here on upstream speaks HTTP/2. */
static inline void set_up(struct rig *rig)
{
	rig_set_up(rig);
	rig_give_session(rig, UINT64_MAX);
	SSL_CTX_set_alpn_select_cb(rig->server, choose_h2, NULL);
	rig->offers_h2 = true;
}

/* ---- the framer ---- */

static inline void framer_says(struct rig *rig, enum frame_type type,
			       uint8_t flags, uint32_t stream,
			       struct bytes payload)
{
	const struct frame frame = {(uint8_t)type, flags, stream, payload};
	auto_type(buf_release) struct buf out;

	buf_init(&out, 2 * FRAME_PAYLOAD_MAX);
	assert_int_equal(frame_add(&out, &frame), 0);
	fake_send(rig->frames, buf_view(&out));
	fake_run(rig->loop);
}

static inline void framer_counts(struct rig *rig, enum frame_type type,
				 uint8_t flags, uint32_t number)
{
	const struct frame frame = {(uint8_t)type, flags, 1, {0}};
	auto_type(buf_release) struct buf out;

	buf_init(&out, 64);
	assert_int_equal(frame_add_u32(&out, &frame, number), 0);
	fake_send(rig->frames, buf_view(&out));
	fake_run(rig->loop);
}

static inline void says_text(struct rig *rig, const char *text)
{
	framer_says(rig, FRAME_SAID, 0, 1, bytes_str(text));
}

/* The next frame that the framer got is one like this. */
static inline void assert_told(struct rig *rig, enum frame_type type,
			       uint32_t stream, struct bytes payload)
{
	struct buf *got = fake_received(rig->frames);
	struct frame frame;
	size_t used;

	assert_int_equal(frame_next(buf_view(got), &frame, &used), 1);
	assert_int_equal(frame.type, type);
	assert_int_equal(frame.stream, stream);
	assert_true(bytes_equal(frame.payload, payload));
	buf_consume(got, used);
}

static inline void assert_told_nothing(struct rig *rig)
{
	assert_int_equal(buf_len(fake_received(rig->frames)), 0);
}

/* ---- upstream ---- */

/* The next frame that upstream got. */
static inline struct frame next_arrived(struct rig *rig, struct buf *keep)
{
	struct frame frame;
	size_t used;

	assert_int_equal(frame_next(buf_view(&rig->arrived), &frame, &used), 1);
	buf_clear(keep);
	assert_int_equal(buf_add(keep, frame.payload), 0);
	frame.payload = buf_view(keep);
	buf_consume(&rig->arrived, used);
	return frame;
}

static inline void assert_closed(struct rig *rig)
{
	assert_true(rig->is_upstream_over);
	assert_true(fake_is_ended(rig->leg));
	assert_true(fake_is_ended(rig->frames));
}

/* ---- where a test begins ---- */

static inline void open_leg(struct rig *rig)
{
	set_up(rig);
	rig_open_leg(rig, "forge", "good.test");
	assert_true(rig->leg >= 0);
	assert_true(rig->frames >= 0);
	assert_arrived(rig, PREFACE);
	framer_says(rig, FRAME_SETTINGS, 0, 0,
		    (struct bytes)BYTES_LITERAL("\0\2\0\0\0\0"));
	buf_clear(&rig->arrived);
}

static inline void ask(struct rig *rig, const struct leg_request *request)
{
	rig_message(rig, LEG_REQUEST, &leg_request_schema, request);
	rig_grant(rig);
}

/* A request without a body is with upstream. */
static inline void start_get(struct rig *rig)
{
	open_leg(rig);
	ask(rig, &get);
	rig_frame(rig, LEG_END, "");
	buf_clear(fake_received(rig->frames));
	framer_says(rig, FRAME_HEAD, 0, 1, bytes_from(NULL, 0));
	buf_clear(&rig->arrived);
}

static inline void start_post(struct rig *rig, struct leg_request request)
{
	open_leg(rig);
	request.method = bytes_str("POST");
	request.has_body = true;
	ask(rig, &request);
	framer_says(rig, FRAME_HEAD, 0, 1, bytes_from(NULL, 0));
	buf_clear(fake_received(rig->frames));
	buf_clear(&rig->arrived);
}

#endif
