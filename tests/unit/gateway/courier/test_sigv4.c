/*
 * Signatures, against the examples that AWS publishes: the test suite of
 * Signature Version 4, and the examples of IAM and S3.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/digest.h"
#include "gateway/courier/sigv4.h"

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static const struct leg_field host_and_date[] = {
	{BYTES_LITERAL("Host"), BYTES_LITERAL("example.amazonaws.com")},
	{BYTES_LITERAL("X-Amz-Date"), BYTES_LITERAL("20150830T123600Z")},
};

struct example {
	const char *name, *method, *path, *query, *payload;
	const char *names, *signature;
};

static const struct example suite[] = {
	{"get-vanilla", "GET", "/", "", EMPTY, "host;x-amz-date",
	 "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
	{"post-vanilla", "POST", "/", "", EMPTY, "host;x-amz-date",
	 "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
	{"get-vanilla-query-order-key-case", "GET", "/",
	 "Param2=value2&Param1=value1", EMPTY, "host;x-amz-date",
	 "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
	{"get-vanilla-empty-query-key", "GET", "/", "Param1=value1", EMPTY,
	 "host;x-amz-date",
	 "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"},
};

static void key_of(const char *text, struct sigv4_key *key)
{
	assert_int_equal(sigv4_key_read(bytes_str(text), key), 0);
}

static void check(const struct sigv4_request *request, const char *key_text,
		  const char *names, const char *signature)
{
	auto_type(arena_release) struct arena arena;
	auto_type(buf_release) struct buf out;
	struct sigv4_key key;
	struct bytes made;
	struct err err;
	ptrdiff_t at;

	arena_init(&arena, 1024 * 1024);
	buf_init(&out, 4096);
	key_of(key_text, &key);
	assert_int_equal(sigv4_sign(request, &key, &arena, &out, &err), 0);
	made = buf_view(&out);
	at = bytes_find_bytes(made, bytes_str("SignedHeaders="), 0);
	assert_true(at > 0);
	assert_true(
		bytes_starts_with(bytes_slice(made, (size_t)at + 14, made.len),
				  bytes_str(names)));
	if (!bytes_ends_with(made, bytes_str(signature)))
		fail_msg("%s: %s", signature, buf_str(&out));
}

static void check_suite(const struct example *example)
{
	auto_type(arena_release) struct arena arena;
	auto_type(buf_release) struct buf query;
	struct sigv4_request request = {
		.method = bytes_str(example->method),
		.path = bytes_str(example->path),
		.fields = host_and_date,
		.fields_count = ARRAY_SIZE(host_and_date),
		.payload = bytes_str(example->payload),
		.time = "20150830T123600Z",
		.region = bytes_str("us-east-1"),
		.service = bytes_str("service"),
	};
	struct err err;

	arena_init(&arena, 1024 * 1024);
	buf_init(&query, 4096);
	assert_int_equal(
		sigv4_query(&arena, bytes_str(example->query), &query, &err),
		0);
	request.query = buf_view(&query);
	check(&request, "AKIDEXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
	      example->names, example->signature);
}

static void sigv4_signs_the_examples_of_the_test_suite(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(suite); i++)
		check_suite(&suite[i]);
}

static void sigv4_signs_the_example_of_iam(void **state)
{
	static const struct leg_field fields[] = {
		{BYTES_LITERAL("Content-Type"),
		 BYTES_LITERAL("application/x-www-form-urlencoded; "
			       "charset=utf-8")},
		{BYTES_LITERAL("Host"), BYTES_LITERAL("iam.amazonaws.com")},
		{BYTES_LITERAL("X-Amz-Date"),
		 BYTES_LITERAL("20150830T123600Z")},
	};
	const struct sigv4_request request = {
		.method = bytes_str("GET"),
		.path = bytes_str("/"),
		.query = bytes_str("Action=ListUsers&Version=2010-05-08"),
		.fields = fields,
		.fields_count = ARRAY_SIZE(fields),
		.payload = bytes_str(EMPTY),
		.time = "20150830T123600Z",
		.region = bytes_str("us-east-1"),
		.service = bytes_str("iam"),
	};

	(void)state;
	check(&request, "AKIDEXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
	      "content-type;host;x-amz-date,",
	      "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5"
	      "d7");
}

static void sigv4_signs_the_example_of_s3(void **state)
{
	static const struct leg_field fields[] = {
		{BYTES_LITERAL("X-Amz-Date"),
		 BYTES_LITERAL("20130524T000000Z")},
		{BYTES_LITERAL("Range"), BYTES_LITERAL(" bytes=0-9 ")},
		{BYTES_LITERAL("host"),
		 BYTES_LITERAL("examplebucket.s3.amazonaws.com")},
		{BYTES_LITERAL("x-amz-content-sha256"), BYTES_LITERAL(EMPTY)},
	};
	const struct sigv4_request request = {
		.method = bytes_str("GET"),
		.path = bytes_str("/test.txt"),
		.fields = fields,
		.fields_count = ARRAY_SIZE(fields),
		.payload = bytes_str(EMPTY),
		.time = "20130524T000000Z",
		.region = bytes_str("us-east-1"),
		.service = bytes_str("s3"),
	};

	(void)state;
	check(&request,
	      "AKIAIOSFODNN7EXAMPLE:wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
	      "host;range;x-amz-content-sha256;x-amz-date,",
	      "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb"
	      "41");
}

static void sigv4_reads_a_key_with_and_without_a_token(void **state)
{
	static const char *const wrong[] = {"", "ID", ":x", "ID:", "ID::x"};
	struct sigv4_key key;

	(void)state;
	key_of("ID:SE/C+RET=", &key);
	assert_true(bytes_is(key.id, "ID"));
	assert_true(bytes_is(key.secret, "SE/C+RET="));
	assert_int_equal(key.session.len, 0);
	key_of("ID:SECRET:TOKEN==", &key);
	assert_true(bytes_is(key.secret, "SECRET"));
	assert_true(bytes_is(key.session, "TOKEN=="));
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(sigv4_key_read(bytes_str(wrong[i]), &key), -1);
}

static void sigv4_orders_and_escapes_a_query(void **state)
{
	static const struct {
		const char *query, *canonical;
	} rows[] = {
		{"", ""},
		{"b=2&a=1", "a=1&b=2"},
		{"a=2&a=1&a", "a=&a=1&a=2"},
		{"a=1+2&b=%7e%2f!", "a=1%202&b=~%2F%21"},
		{"&&a=1&", "a=1"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_type(arena_release) struct arena arena;
		auto_type(buf_release) struct buf out;
		struct err err;

		arena_init(&arena, 1024 * 1024);
		buf_init(&out, 4096);
		assert_int_equal(sigv4_query(&arena, bytes_str(rows[i].query),
					     &out, &err),
				 0);
		assert_true(bytes_is(buf_view(&out), rows[i].canonical));
	}
}

static void sigv4_writes_the_time_as_utc(void **state)
{
	char text[SIGV4_TIME_SIZE];

	(void)state;
	sigv4_time(1440938160999, text);
	assert_string_equal(text, "20150830T123600Z");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sigv4_signs_the_examples_of_the_test_suite),
		cmocka_unit_test(sigv4_signs_the_example_of_iam),
		cmocka_unit_test(sigv4_signs_the_example_of_s3),
		cmocka_unit_test(sigv4_reads_a_key_with_and_without_a_token),
		cmocka_unit_test(sigv4_orders_and_escapes_a_query),
		cmocka_unit_test(sigv4_writes_the_time_as_utc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
