/*
 * Untrusted response heads, after a byte that picks the request's method.
 * Whatever is accepted, we write as bytes that are accepted again as the
 * same response.
 */
#include <assert.h>
#include <stdint.h>

#include "gateway/http/framing.h"
#include "gateway/http/head.h"
#include "gateway/http/write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int parse(struct arena *arena, struct bytes text, size_t step,
		 struct bytes method, struct response *response)
{
	enum guard_result result;
	struct http_fault fault;
	struct guard guard;
	size_t head_len, n = 0;

	guard_init(&guard, GUARD_RESPONSE);
	do {
		n = n + step < text.len ? n + step : text.len;
		result = guard_scan(&guard, bytes_slice(text, 0, n), &head_len);
	} while (result == GUARD_MORE && n < text.len);
	if (result != GUARD_COMPLETE)
		return -1;
	if (head_response(arena, &guard, bytes_slice(text, 0, head_len), method,
			  response, &fault) < 0) {
		assert(fault.constraint == CONSTRAINT_response_malformed);
		return -1;
	}
	assert(response->status >= 100 && response->status <= 599);
	assert(response->framing != FRAMING_TO_CLOSE || !response->keep_alive);
	return 0;
}

static void check_equal(const struct response *a, const struct response *b)
{
	assert(a->status == b->status);
	assert(bytes_equal(a->reason, b->reason));
	assert(a->fields.count == b->fields.count);
	for (size_t i = 0; i < a->fields.count; i++) {
		assert(bytes_equal(a->fields.items[i].name,
				   b->fields.items[i].name));
		assert(bytes_equal(a->fields.items[i].value,
				   b->fields.items[i].value));
	}
}

static void check_written(struct response *response, struct bytes method)
{
	static const struct request request = {.is_http10 = false};
	struct response again;
	struct arena arena;
	struct buf out;

	arena_init(&arena, HEAD_ARENA_BYTES);
	buf_init(&out, HEAD_BYTES_MAX * 2);
	response->framing = framing_for_client(response, &request);
	assert(write_response(&out, response, true) == 0);
	if (buf_len(&out) <= HEAD_BYTES_MAX &&
	    response->fields.count < HEAD_FIELDS_MAX - 2) {
		assert(parse(&arena, buf_view(&out), SIZE_MAX / 2, method,
			     &again) == 0);
		check_equal(response, &again);
		assert(response->framing == again.framing);
		assert(response->body_len == again.body_len);
	}
	buf_release(&out);
	arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const methods[] = {"GET", "HEAD", "CONNECT", "POST"};
	struct response whole, pieces;
	struct arena first, second;
	struct bytes method, text;
	int result;

	if (size == 0)
		return 0;
	method = bytes_str(methods[data[0] & 3]);
	text = bytes_from(data + 1, size - 1);
	arena_init(&first, HEAD_ARENA_BYTES);
	arena_init(&second, HEAD_ARENA_BYTES);
	result = parse(&first, text, SIZE_MAX / 2, method, &whole);
	assert(parse(&second, text, size % 7 + 1, method, &pieces) == result);
	if (result == 0) {
		check_equal(&whole, &pieces);
		assert(whole.framing == pieces.framing);
		check_written(&whole, method);
	}
	arena_release(&first);
	arena_release(&second);
	return 0;
}
