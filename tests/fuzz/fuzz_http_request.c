/*
 * Untrusted request heads. Whatever the guard and the parser accept, we
 * write as bytes that they accept again as the same request; and it makes
 * no difference how the bytes arrive.
 */
#include <assert.h>
#include <stdint.h>

#include "gateway/http/head.h"
#include "gateway/http/write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum guard_result scan(struct guard *guard, struct bytes text,
			      size_t step, size_t *head_len)
{
	enum guard_result result;
	size_t n = 0;

	guard_init(guard, GUARD_REQUEST);
	do {
		n = n + step < text.len ? n + step : text.len;
		result = guard_scan(guard, bytes_slice(text, 0, n), head_len);
	} while (result == GUARD_MORE && n < text.len);
	return result;
}

static int parse(struct arena *arena, struct bytes text, size_t step,
		 struct request *request)
{
	struct bytes proxy_authorization = {NULL, 0};
	struct http_fault fault;
	struct guard guard;
	size_t head_len;

	if (scan(&guard, text, step, &head_len) != GUARD_COMPLETE)
		return -1;
	assert(head_len <= text.len && head_len <= HEAD_BYTES_MAX);
	if (head_request(arena, &guard, bytes_slice(text, 0, head_len), request,
			 &proxy_authorization, &fault) < 0) {
		assert(fault.reason && fault.constraint != CONSTRAINT_none);
		assert(fault.constraint != CONSTRAINT_internal);
		return -1;
	}
	assert(http_is_value(proxy_authorization));
	return 0;
}

static void check_equal(const struct request *a, const struct request *b)
{
	assert(bytes_equal(a->method, b->method));
	assert(bytes_equal(a->path, b->path));
	assert(bytes_equal(a->query, b->query));
	assert(a->has_query == b->has_query);
	assert(a->body_len == b->body_len);
	assert(a->framing == b->framing ||
	       (a->framing == FRAMING_NONE && b->framing == FRAMING_LENGTH &&
		b->body_len == 0));
	assert(a->fields.count == b->fields.count);
	for (size_t i = 0; i < a->fields.count; i++) {
		assert(bytes_equal(a->fields.items[i].name,
				   b->fields.items[i].name));
		assert(bytes_equal(a->fields.items[i].value,
				   b->fields.items[i].value));
	}
}

static void check_written(const struct request *request)
{
	static const struct target target = {
		.host = "h.example",
		.kind = HOST_NAME,
		.port = 8443,
		.scheme = SCHEME_HTTPS,
	};
	struct request again;
	struct arena arena;
	struct buf out;

	arena_init(&arena, HEAD_ARENA_BYTES);
	buf_init(&out, HEAD_BYTES_MAX * 2);
	assert(write_request(&out, request, &target) == 0);
	/* A head at the bounds may pass them with what we add. */
	if (buf_len(&out) <= HEAD_BYTES_MAX &&
	    request->fields.count < HEAD_FIELDS_MAX - 2 &&
	    request->path.len + request->query.len < HEAD_LINE_MAX - 64) {
		assert(parse(&arena, buf_view(&out), SIZE_MAX / 2, &again) ==
		       0);
		assert(bytes_is(again.host, "h.example"));
		assert(again.port == target.port);
		check_equal(request, &again);
	}
	buf_release(&out);
	arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct request whole, pieces;
	struct arena first, second;
	int result;

	arena_init(&first, HEAD_ARENA_BYTES);
	arena_init(&second, HEAD_ARENA_BYTES);
	result = parse(&first, bytes_from(data, size), SIZE_MAX / 2, &whole);
	assert(parse(&second, bytes_from(data, size), size % 7 + 1, &pieces) ==
	       result);
	if (result == 0) {
		check_equal(&whole, &pieces);
		if (whole.form == FORM_AUTHORITY)
			assert(whole.port != 0 && whole.host.len > 0);
		else
			check_written(&whole);
	}
	arena_release(&first);
	arena_release(&second);
	return 0;
}
