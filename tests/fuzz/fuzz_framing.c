/*
 * Untrusted chunked bodies: however they arrive, the same payload, end and
 * verdict come out, and never more than went in. And what we encode, we
 * decode. The first byte picks the size of the pieces.
 */
#include <assert.h>
#include <stdint.h>

#include "gateway/http/framing.h"

#define OUT_MAX (4 * 1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Decode text in pieces; how many bytes of it the body took. */
static size_t decode(struct bytes text, size_t step, struct buf *out,
		     enum body_result *result)
{
	struct body_decoder decoder;
	size_t used = 0;

	*result = BODY_MORE;
	body_decoder_init(&decoder, FRAMING_CHUNKED, 0);
	while (used < text.len && *result == BODY_MORE) {
		struct bytes piece = bytes_slice(
			text, used,
			text.len - used < step ? text.len : used + step);
		size_t before = piece.len;

		while (piece.len > 0 && *result == BODY_MORE) {
			struct bytes payload;

			*result = body_decode(&decoder, &piece, &payload);
			assert(buf_add(out, payload) == 0);
		}
		used += before - piece.len;
	}
	assert(decoder.total == buf_len(out) && decoder.total <= used);
	assert((*result == BODY_INVALID) == (decoder.reason != NULL));
	assert(body_decoder_may_end(&decoder) == (*result == BODY_END));
	return used;
}

static void check_decode(struct bytes text, size_t step)
{
	enum body_result whole_result, pieces_result;
	struct buf whole, pieces;
	size_t whole_used, pieces_used;

	buf_init(&whole, OUT_MAX);
	buf_init(&pieces, OUT_MAX);
	whole_used = decode(text, SIZE_MAX / 2, &whole, &whole_result);
	pieces_used = decode(text, step, &pieces, &pieces_result);
	assert(whole_result == pieces_result);
	assert(bytes_equal(buf_view(&whole), buf_view(&pieces)));
	if (whole_result == BODY_END)
		assert(whole_used == pieces_used);
	buf_release(&whole);
	buf_release(&pieces);
}

static void check_encode(struct bytes data, size_t step)
{
	struct bytes rest = data;
	enum body_result result;
	struct buf text, out;
	size_t len;

	buf_init(&text, OUT_MAX);
	buf_init(&out, OUT_MAX);
	while (rest.len > 0) {
		assert(body_encode(&text, FRAMING_CHUNKED,
				   bytes_slice(rest, 0, step)) == 0);
		rest = bytes_slice(rest, step, rest.len);
	}
	assert(body_encode_end(&text, FRAMING_CHUNKED) == 0);
	len = buf_len(&text);
	assert(buf_add_str(&text, "GET /") == 0);
	assert(decode(buf_view(&text), step + 1, &out, &result) == len);
	assert(result == BODY_END);
	assert(bytes_equal(buf_view(&out), data));
	buf_release(&text);
	buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes text;
	size_t step;

	if (size == 0)
		return 0;
	step = data[0] % 67 + 1;
	text = bytes_from(data + 1, size - 1);
	check_decode(text, step);
	check_encode(text, step);
	return 0;
}
