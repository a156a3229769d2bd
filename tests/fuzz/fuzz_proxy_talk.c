/*
 * What an upstream proxy answers, whole and in single bytes. The first byte
 * says which protocol, and whether there is a secret; in both runs the same
 * comes out, and a connection is the target's only when nothing is left over.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/cleanup.h"
#include "gateway/courier/proxy_talk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum proxy_step step_all(struct proxy_talk *talk, struct buf *in,
				struct buf *out)
{
	enum proxy_step step;
	struct err err;

	do {
		step = proxy_talk_read(talk, in, out, &err);
	} while (step == PROXY_SAY);
	if (step == PROXY_DONE)
		assert(buf_len(in) == 0);
	return step;
}

static enum proxy_step play(uint8_t choice, struct bytes answer, size_t piece)
{
	struct proxy_talk talk = {
		.kind = choice & 1 ? PROXY_HTTP : PROXY_SOCKS5,
		.host = bytes_str(choice & 4 ? "2001:db8::1" : "a.example"),
		.port = 443,
		.secret = bytes_str(choice & 2 ? "user:password" : ""),
	};
	auto_type(buf_release) struct buf in, out;
	enum proxy_step step = PROXY_MORE;
	struct err err;

	buf_init(&in, PROXY_ANSWER_MAX);
	buf_init(&out, PROXY_SAY_MAX);
	assert(proxy_talk_begin(&talk, &out, &err) == 0);
	assert(buf_len(&out) > 0);
	for (size_t at = 0; at < answer.len && step == PROXY_MORE;
	     at += piece) {
		if (buf_add(&in, bytes_slice(answer, at, at + piece)) < 0)
			break;
		step = step_all(&talk, &in, &out);
	}
	return step;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes answer;
	enum proxy_step pieces, whole;

	if (size == 0 || size > PROXY_ANSWER_MAX)
		return 0;
	answer = bytes_from(data + 1, size - 1);
	pieces = play(data[0], answer, 1);
	whole = play(data[0], answer, size);
	/* All at once there may be more than was asked for, never less. */
	assert(whole == pieces || whole == PROXY_FAILED);
	return 0;
}
