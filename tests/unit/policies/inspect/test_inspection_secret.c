#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <zlib.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "policies/inspect/inspection.h"
#include "policies/inspect/prints.h"

/* A token is put together here, so that none stands in this file. */
#define T1                                                                     \
	"glp"                                                                  \
	"at-"
#define T2    "x7Kq2mZp9LrT4vWb"
#define T3    "8nYd"
#define KIND  "gitlab token"
#define JSON  "application/json"
#define FORM  "application/x-www-form-urlencoded"
#define MULTI "multipart/form-data; boundary=xx"
#define PART  "--xx\r\nContent-Disposition: form-data; name=a\r\n\r\n"

static const struct row {
	const char *type;
	const char *query;
	const char *body;
	const char *found;
	bool is_faulty;
} rows[] = {
	{"text/plain", "", "a " T1 T2 T3, KIND, false},
	{"text/plain", "", "a " T1 T2, NULL, false},
	{"", "", T1 T2 T3, KIND, false},
	/* Escapes hide nothing. */
	{JSON, "", "{\"a\": [{\"b\": \"" T1 T2 "\\u0038\\u006eYd\"}]}", KIND,
	 false},
	{JSON, "", "{\"" T1 T2 "\\u0038nYd\": 1}", KIND, false},
	{"text/plain", "", "[\"" T1 T2 "\\u0038nYd\"]", KIND, false},
	{JSON, "", "{\"query\": \"{f(x: \\\"" T1 T2 "\\\\u0038nYd\\\")}\"}",
	 KIND, false},
	{"application/graphql", "", "{f(x: \"" T1 T2 "\\u0038nYd\")}", KIND,
	 false},
	{FORM, "", "a=b&c=" T1 T2 "%38nYd", KIND, false},
	{FORM, "", T1 T2 "%38nYd", KIND, false},
	{"text/plain", "", "100% " T1 T2 "%38nY%64", KIND, false},
	{"", "a=1&t=" T1 T2 T3, "", KIND, false},
	{"", "a=1&t=" T1 T2 "%38n%59d", "", KIND, false},
	{"", "a=1&t=%" T1 T2, "", NULL, false},
	{"", "query={a}&variables={%22x%22:%22" T1 T2 "%5Cu0038nYd%22}", "",
	 KIND, false},
	{"", "query={a}&variables={%22x%22:%22" T1 T2 "%22}", "", NULL, false},
	{MULTI, "", PART T1 T2 T3 "\r\n--xx--", KIND, false},
	{JSON, "", "{\"a\": [1, null, \"" T1 T2 "\"], \"\": {}}", NULL, false},
	{JSON, "", "", NULL, false},
	/* Not JSON: who knows how it is read. */
	{JSON, "", "{\"a\": 1, \"a\": 2}", NULL, true},
	{JSON, "", "{\"a\": \"" T1 T2 T3 "\", \"a\": 2}", KIND, false},
	{JSON "; charset=utf-16", "", "[]", NULL, true},
	{"text/plain", "", "{\"a\": 1, \"a\": 2}", NULL, false},
	/* Lines of JSON, and JSON that is not sound. */
	{"application/x-ndjson", "",
	 "{\"a\": 1}\n{\"a\": \"\\n" T1 T2 "\\u0038n\\u0059d\"}\n", KIND,
	 false},
	{"", "", "{\"a\": 1, \"a\": \"" T1 T2 "\\u0038nYd\"}", KIND, false},
	{"", "", "{} {\"a\": \"" T1 T2 "\\u0138nYd\\", NULL, false},
	{"", "", "{} {\"a\": \"" T1 T2 "\\u00", NULL, false},
	/* Twice, and in each other's. */
	{FORM, "", "a=" T1 T2 "%2538n%255%39d", KIND, false},
	{FORM, "", "a=" T1 T2 "%252538nYd", KIND, false},
	{FORM, "", "a=" T1 T2 "%25252538nYd", NULL, false},
	{FORM, "", "a={%22b%22:%22" T1 T2 "%5cu0038nYd%22}", KIND, false},
	{JSON, "", "{\"a\": \"{\\\"b\\\": \\\"" T1 T2 "\\\\u0038nYd\\\"}\"}",
	 KIND, false},
	{JSON, "", "{\"a\": \"" T1 T2 "\\u002538nYd\"}", KIND, false},
	{"", "t=" T1 T2 "%2538nYd", "", KIND, false},
	{"", "t=" T1 T2 "%25%338nYd", "", KIND, false},
	{"", "t=" T1 T2 "%2538nY", "", NULL, false},
};

static void expect(const struct inspect_source *source, const char *found,
		   bool is_faulty)
{
	struct err err = {0};
	struct inspection *seen = inspection_new(source, &err);
	const char *told;

	assert_non_null(seen);
	for (int i = 0; i < 2; i++) {
		told = inspection_secret(seen);
		assert_string_equal(told ? told : "", found ? found : "");
		assert_int_equal(*inspection_fault(seen) != '\0', is_faulty);
	}
	inspection_free(seen);
}

static void a_secret_is_found_however_it_is_written(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct inspect_source source = {
			.type = bytes_str(rows[i].type),
			.query = bytes_str(rows[i].query),
			.body = bytes_str(rows[i].body),
			.decoded_max = 65536};

		expect(&source, rows[i].found, rows[i].is_faulty);
	}
}

/* Each byte as that many, the last or the first of them it. */
static size_t widen(const char *text, size_t width, bool is_big, uint8_t *out)
{
	size_t len = strlen(text);

	memset(out, 0, len * width);
	for (size_t i = 0; i < len; i++)
		out[i * width + (is_big ? width - 1 : 0)] = (uint8_t)text[i];
	return len * width;
}

static void a_secret_is_found_in_other_units_than_bytes(void **state)
{
	static const char *const texts[] = {"a " T1 T2 T3,
					    "[\"" T1 T2 "\\u0038nYd\"]",
					    "a=" T1 T2 "%2538nYd"};
	uint8_t wide[512];

	(void)state;
	for (size_t i = 0; i < 4 * ARRAY_SIZE(texts); i++) {
		size_t width = i & 1 ? 4 : 2;
		struct inspect_source source = {.decoded_max = 65536};
		size_t len = widen(texts[i / 4], width, i & 2, wide);

		source.body = bytes_from(wide, len);
		expect(&source, KIND, false);
		source.body.len -= 2 * width;
		expect(&source, i / 4 == 1 ? KIND : NULL, false);
	}
}

static void a_secret_is_found_in_what_is_packed(void **state)
{
	static const char text[] = "a " T1 T2 T3;
	uint8_t packed[256];
	uLongf len = sizeof(packed);
	struct inspect_source source = {.encoding = bytes_str("deflate"),
					.decoded_max = 65536};

	(void)state;
	assert_int_equal(
		compress(packed, &len, (const Bytef *)text, sizeof(text)),
		Z_OK);
	source.body = bytes_from(packed, len);
	expect(&source, KIND, false);
}

/* gzip of nothing, with that comment. */
static size_t comment_pack(char *comment, uint8_t *packed, size_t size)
{
	z_stream stream = {.next_out = packed, .avail_out = (unsigned)size};
	gz_header header = {.comment = (Bytef *)comment};

	assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8,
				      Z_DEFAULT_STRATEGY),
			 Z_OK);
	assert_int_equal(deflateSetHeader(&stream, &header), Z_OK);
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(deflateEnd(&stream), Z_OK);
	return size - stream.avail_out;
}

static void a_secret_is_found_beside_what_is_packed(void **state)
{
	char token[] = T1 T2 T3, words[] = T1 T2;
	uint8_t packed[256];
	struct inspect_source source = {.encoding = bytes_str("gzip"),
					.decoded_max = 65536};

	(void)state;
	source.body =
		bytes_from(packed, comment_pack(token, packed, sizeof(packed)));
	expect(&source, KIND, false);
	source.body =
		bytes_from(packed, comment_pack(words, packed, sizeof(packed)));
	expect(&source, NULL, false);
}

static void a_placeholder_may_pass(void **state)
{
	const struct bytes exempt = bytes_str(T1 T2 T3);
	struct inspect_source source = {.body = bytes_str("a=" T1 T2 T3),
					.decoded_max = 65536,
					.exempt = &exempt,
					.exempt_count = 1};

	(void)state;
	expect(&source, NULL, false);
	source.exempt_count = 0;
	expect(&source, KIND, false);
}

static void the_session_s_own_secrets_are_found(void **state)
{
	struct secret_prints *prints = prints_new();
	struct inspect_source source = {
		.type = bytes_str(JSON),
		.body = bytes_str("[\"correct \\u0068orse battery\"]"),
		.decoded_max = 65536};
	struct err err;

	(void)state;
	assert_non_null(prints);
	expect(&source, NULL, false);
	assert_int_equal(prints_add(prints, bytes_str("the-password"),
				    bytes_str("correct horse battery"), &err),
			 0);
	source.prints = prints;
	expect(&source, "the-password", false);
	source.body = bytes_str("[\"correct \\u0069orse battery\"]");
	expect(&source, NULL, false);
	prints_free(prints);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_secret_is_found_however_it_is_written),
		cmocka_unit_test(a_secret_is_found_in_other_units_than_bytes),
		cmocka_unit_test(a_secret_is_found_in_what_is_packed),
		cmocka_unit_test(a_secret_is_found_beside_what_is_packed),
		cmocka_unit_test(a_placeholder_may_pass),
		cmocka_unit_test(the_session_s_own_secrets_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
