#include "gateway/http/trailers.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/http/framing.h"

static void trailers_of_grpc_pass_and_no_others(void **state)
{
	static const char body[] = "3\r\nabc\r\n0\r\nGrpc-Status: 0\r\n"
				   "Authorization: x\r\nContent-Length: 3\r\n"
				   "grpc-message:  ok \r\n\r\n";
	auto_type(arena_release) struct arena arena;
	auto_type(buf_release) struct buf kept;
	auto_type(buf_release) struct buf out;
	struct body_decoder decoder;
	struct fields trailers;

	(void)state;
	arena_init(&arena, 4096);
	buf_init(&kept, GUARD_TRAILER_MAX);
	buf_init(&out, GUARD_TRAILER_MAX);
	body_decoder_init(&decoder, FRAMING_CHUNKED, 0);
	decoder.keep = &kept;
	/* However it arrives. */
	for (size_t i = 0; i < sizeof(body) - 1; i++) {
		struct bytes byte = bytes_from(body + i, 1), payload;

		(void)body_decode(&decoder, &byte, &payload);
	}
	assert_true(body_decoder_may_end(&decoder));
	assert_int_equal(trailers_read(&arena, buf_view(&kept), &trailers), 0);
	assert_int_equal(trailers.count, 2);
	assert_int_equal(trailers_write(&out, &trailers), 0);
	assert_string_equal(buf_str(&out), "0\r\nGrpc-Status: 0\r\n"
					   "grpc-message: ok\r\n\r\n");
}

static void no_trailers_are_an_ordinary_last_chunk(void **state)
{
	const struct fields none = {.count = 0};
	auto_type(buf_release) struct buf out;

	(void)state;
	buf_init(&out, 64);
	assert_int_equal(trailers_write(&out, &none), 0);
	assert_string_equal(buf_str(&out), CHUNK_LAST);
}

static void grpc_and_who_takes_trailers_want_them(void **state)
{
	static const struct {
		const char *name, *value;
		bool takes, wants;
	} cases[] = {
		{"content-type", "application/grpc", false, true},
		{"Content-Type", " Application/gRPC+proto", false, true},
		{"content-type", "application/grpc; x=y", false, true},
		{"content-type", "application/grpc\t", false, true},
		{"content-type", "application/grpc-web+proto", false, false},
		{"content-type", "application/grpcs", false, false},
		{"content-type", "application/json", false, false},
		{"content-type", "application/json", true, true},
		{"accept", "application/grpc", false, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct field items[] = {
			{bytes_str("x"), bytes_str("y")},
			{bytes_str(cases[i].name), bytes_str(cases[i].value)},
		};
		const struct request request = {
			.fields = {items, 2, 2},
			.takes_trailers = cases[i].takes,
		};

		assert_int_equal(request_wants_trailers(&request),
				 cases[i].wants);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trailers_of_grpc_pass_and_no_others),
		cmocka_unit_test(no_trailers_are_an_ordinary_last_chunk),
		cmocka_unit_test(grpc_and_who_takes_trailers_want_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
