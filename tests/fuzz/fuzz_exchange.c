/*
 * What a token endpoint answers, whole and in single bytes: in both runs the
 * same comes out, and a token is one that a header can carry. The first byte
 * says whose answer it is.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "gateway/exchange/answer.h"
#include "gateway/exchange/reply.h"

#define WALL_MS 1795000000000ull

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_token(struct bytes token)
{
	for (size_t i = 0; i < token.len; i++)
		assert(token.data[i] > ' ' && token.data[i] < 0x7f);
}

static int read_answer(uint8_t choice, const struct reply *reply)
{
	const struct config_source source = {
		.kind = choice & 1 ? SOURCE_OAUTH2 : SOURCE_GITHUB_APP,
		.installation = 42,
	};
	struct answer answer;
	struct err err;

	if (choice & 2)
		return answer_owner(&source, reply->response.status,
				    buf_view(&reply->body),
				    bytes_str("acme/widgets"), &err) == 0;
	if (answer_read(&answer, &source, reply->response.status,
			buf_view(&reply->body), WALL_MS, &err) < 0)
		return 0;
	assert(answer.exchanged.token.len > 0);
	check_token(answer.exchanged.token);
	check_token(answer.exchanged.refresh);
	answer_release(&answer);
	return 1;
}

/* 1: a token; 0: an answer without one; -1: none. */
static int play(uint8_t choice, struct bytes bytes, size_t piece)
{
	auto_type(buf_release) struct buf in;
	struct reply reply;
	struct err err;
	int got = 0;

	buf_init(&in, HEAD_BYTES_MAX + REPLY_BODY_MAX);
	reply_init(&reply, "POST");
	for (size_t at = 0; at < bytes.len && got == 0; at += piece) {
		if (buf_add(&in, bytes_slice(bytes, at, at + piece)) < 0)
			break;
		got = reply_read(&reply, &in, &err);
	}
	if (got == 0)
		got = reply_end(&reply, &err);
	if (got > 0)
		got = read_answer(choice, &reply);
	reply_release(&reply);
	return got;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes bytes;

	if (size == 0 || size > HEAD_BYTES_MAX)
		return 0;
	bytes = bytes_from(data + 1, size - 1);
	assert(play(data[0], bytes, 1) == play(data[0], bytes, size));
	return 0;
}
