/*
 * A sandbox's query as it is signed: in one form, which stays itself when it
 * is read again, and what is signed has a signature.
 */
#include <assert.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "gateway/courier/sigv4.h"

#define ROOM (1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_signed(struct bytes query)
{
	static const struct leg_field host = {BYTES_LITERAL("Host"),
					      BYTES_LITERAL("a.example")};
	const struct sigv4_request request = {
		.method = bytes_str("GET"),
		.path = bytes_str("/%41"),
		.query = query,
		.fields = &host,
		.fields_count = 1,
		.payload = bytes_str(SIGV4_UNSIGNED),
		.time = "20150830T123600Z",
		.region = bytes_str("r"),
		.service = bytes_str("s3"),
	};
	auto_type(arena_release) struct arena arena;
	auto_type(buf_release) struct buf out;
	struct sigv4_key key;
	struct err err;

	arena_init(&arena, ROOM);
	buf_init(&out, ROOM);
	assert(sigv4_key_read(bytes_str("ID:SECRET"), &key) == 0);
	assert(sigv4_sign(&request, &key, &arena, &out, &err) == 0);
}

static void check_query(struct bytes query)
{
	auto_type(arena_release) struct arena arena;
	auto_type(buf_release) struct buf one;
	auto_type(buf_release) struct buf two;
	struct err err;

	arena_init(&arena, 4 * ROOM);
	buf_init(&one, ROOM);
	buf_init(&two, ROOM);
	if (sigv4_query(&arena, query, &one, &err) < 0)
		return;
	assert(sigv4_query(&arena, buf_view(&one), &two, &err) == 0);
	assert(bytes_equal(buf_view(&one), buf_view(&two)));
	check_signed(buf_view(&one));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct sigv4_key key;

	if (len > 8192)
		return 0;
	if (sigv4_key_read(bytes_from(data, len), &key) == 0)
		assert(key.id.len > 0 && key.secret.len > 0);
	check_query(bytes_from(data, len));
	return 0;
}
