#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "policies/inspect/inspection.h"

#define FORM  "application/x-www-form-urlencoded"
#define MULTI "multipart/form-data; boundary=xx"
#define PART  "--xx\r\nContent-Disposition: form-data; name="
#define END   "\r\n--xx--\r\n"

static struct inspection *inspect(const char *type, struct bytes body)
{
	struct inspect_source source = {
		.type = bytes_str(type), .body = body, .decoded_max = 1 << 20};
	struct err err = {0};
	struct inspection *seen = inspection_new(&source, &err);

	assert_non_null(seen);
	return seen;
}

static void json_is_read_strictly(void **state)
{
	static const struct {
		const char *type;
		struct bytes body;
		bool is_good;
	} rows[] = {
		{"application/json", BYTES_LITERAL("{\"a\": [1, true]}"), true},
		{"APPLICATION/JSON;charset=UTF-8", BYTES_LITERAL("[]"), true},
		{"application/vnd.x+json; v=\"1\"", BYTES_LITERAL("3"), true},
		{"application/json; charset=utf-16", BYTES_LITERAL("[]"),
		 false},
		{"application/json; charset=utf-8; charset=utf-16",
		 BYTES_LITERAL("[]"), false},
		{"application/json;", BYTES_LITERAL("[]"), false},
		{"application/json, text/plain", BYTES_LITERAL("[]"), false},
		{"application/json x", BYTES_LITERAL("[]"), false},
		{"application/json; a=\"\\b\"", BYTES_LITERAL("[]"), false},
		{"application/+json", BYTES_LITERAL("[]"), false},
		{"json", BYTES_LITERAL("[]"), false},
		{"text/plain", BYTES_LITERAL("[]"), false},
		{"", BYTES_LITERAL("[]"), false},
		{"application/json", BYTES_LITERAL(""), false},
		{"application/json", BYTES_LITERAL("{\"a\":1,\"a\":2}"), false},
		{"application/json", BYTES_LITERAL("{\"a\":1,\"\\u0061\":2}"),
		 false},
		{"application/json", BYTES_LITERAL("[1] x"), false},
		{"application/json", BYTES_LITERAL("[1][2]"), false},
		{"application/json", BYTES_LITERAL("[1]\0"), false},
		{"application/json", BYTES_LITERAL("[\"\\u0000\"]"), false},
		{"application/json", BYTES_LITERAL("[\"\xff\"]"), false},
		{"application/json", BYTES_LITERAL("\xef\xbb\xbf[]"), false},
		{"application/json", BYTES_LITERAL("[1,]"), false},
		{"application/json", BYTES_LITERAL("[NaN]"), false},
		{"application/json", BYTES_LITERAL("['a']"), false},
		{"application/json", BYTES_LITERAL("[1] // x"), false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct inspection *seen = inspect(rows[i].type, rows[i].body);

		assert_int_equal(inspection_json(seen) != NULL,
				 rows[i].is_good);
		assert_ptr_equal(inspection_json(seen), inspection_json(seen));
		assert_int_equal(*inspection_fault(seen) == '\0',
				 rows[i].is_good);
		inspection_free(seen);
	}
}

static void json_is_read_to_its_depth(void **state)
{
	(void)state;
	for (size_t depth = INSPECT_JSON_DEPTH_MAX;
	     depth <= INSPECT_JSON_DEPTH_MAX + 1; depth++) {
		struct inspection *seen;
		struct buf text;

		/* Brackets in strings are none. */
		buf_init(&text, 4096);
		for (size_t i = 0; i < depth; i++)
			assert_int_equal(buf_add_str(&text, "[\"\\\"[[\","), 0);
		assert_int_equal(buf_add_str(&text, "1"), 0);
		for (size_t i = 0; i < depth; i++)
			assert_int_equal(buf_add_str(&text, "]"), 0);
		seen = inspect("application/json", buf_view(&text));
		assert_int_equal(inspection_json(seen) != NULL,
				 depth == INSPECT_JSON_DEPTH_MAX);
		inspection_free(seen);
		buf_release(&text);
	}
}

/* "name=value|name=value" of what was read; NULL: nothing was. */
static void expect_fields(const struct fields *fields, const char *expected)
{
	struct buf told;

	if (!expected) {
		assert_null(fields);
		return;
	}
	assert_non_null(fields);
	buf_init(&told, 4096);
	for (size_t i = 0; i < fields->count; i++)
		assert_int_equal(
			buf_add_format(&told, "%.*s=%.*s|",
				       BYTES_ARGS(fields->items[i].name),
				       BYTES_ARGS(fields->items[i].value)),
			0);
	assert_string_equal(buf_str(&told), expected);
	buf_release(&told);
}

static void form_is_decoded(void **state)
{
	static const struct {
		const char *type;
		const char *body;
		const char *fields;
	} rows[] = {
		{FORM, "", ""},
		{FORM, "a=b", "a=b|"},
		{FORM, "a=b&c=d", "a=b|c=d|"},
		{FORM, "a=b&a=c", "a=b|a=c|"},
		{FORM, "a", "a=|"},
		{FORM, "=b&&a=", "=b|a=|"},
		{FORM, "a+b=c%20d%2B%26", "a b=c d+&|"},
		{FORM, "a=b=c", "a=b=c|"},
		{FORM, "%61=%c3%BC", "a=\xc3\xbc|"},
		{FORM "; charset=utf-8", "a=b", "a=b|"},
		{FORM, "_charset_=UTF-8&a=b", "_charset_=UTF-8|a=b|"},
		{FORM "; charset=latin1", "a=b", NULL},
		{FORM, "_charset_=utf-7&a=b", NULL},
		{FORM, "a=%", NULL},
		{FORM, "a=%1", NULL},
		{FORM, "a=%zz", NULL},
		{FORM, "a=%00", NULL},
		{FORM, "a=%ff", NULL},
		{FORM, "a=\xff", NULL},
		{FORM, "a=b\r\n", NULL},
		{FORM, "a=1;b=2", NULL},
		{"text/plain", "a=b", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct inspection *seen =
			inspect(rows[i].type, bytes_str(rows[i].body));

		expect_fields(inspection_form(seen), rows[i].fields);
		expect_fields(inspection_form(seen), rows[i].fields);
		assert_int_equal(*inspection_fault(seen) == '\0',
				 rows[i].fields != NULL);
		inspection_free(seen);
	}
}

static const struct multipart_row {
	const char *type;
	const char *body;
	const char *fields;
} multipart_rows[] = {
	{MULTI, PART "a\r\n\r\nb" END, "a=b|"},
	{MULTI, PART "\"a b\"\r\n\r\nb\r\n--xx--", "a b=b|"},
	{MULTI, PART "a\r\n\r\n" END, "a=|"},
	{MULTI, PART "a\r\n\r\nb\r\n" PART "a\r\n\r\nc" END, "a=b|a=c|"},
	{MULTI,
	 PART "f; filename=\"x.txt\"\r\nContent-Type: text/plain; "
	      "charset=utf-8\r\nContent-Length: 5\r\n\r\n-\r\n--" END,
	 "f=-\r\n--|"},
	{"multipart/form-data; boundary=\"x:x\"",
	 "--x:x\r\ncontent-disposition:form-data;name=a\r\n\r\nb"
	 "\r\n--x:x--\r\n",
	 "a=b|"},
	{MULTI, "--xx--\r\n", ""},
	/* Where the boundaries are. */
	{"multipart/form-data", PART "a\r\n\r\nb" END, NULL},
	{"multipart/form-data; boundary=\"xx \"", PART "a\r\n\r\nb" END, NULL},
	{"multipart/mixed; boundary=xx", PART "a\r\n\r\nb" END, NULL},
	{MULTI "; boundary*=utf-8''y", PART "a\r\n\r\nb" END, NULL},
	{"multipart/form-data; boundary*0=y; boundary=xx",
	 PART "a\r\n\r\nb" END, NULL},
	{MULTI "; boundaries=y", PART "a\r\n\r\nb" END, "a=b|"},
	{MULTI "; charset*=utf-8''utf-16", PART "a\r\n\r\nb" END, NULL},
	{MULTI "; charset=latin1", PART "a\r\n\r\nb" END, NULL},
	{MULTI, "", NULL},
	{MULTI, "x\r\n" PART "a\r\n\r\nb" END, NULL},
	{MULTI, PART "a\r\n\r\nb", NULL},
	{MULTI, PART "a\r\n\r\nb\r\n--xx", NULL},
	{MULTI, PART "a\r\n\r\nb\r\n--xx\r\n", NULL},
	{MULTI, PART "a\r\n\r\nb" END "x", NULL},
	{MULTI, PART "a\r\n\r\nb" END PART "c\r\n\r\nd" END, NULL},
	{MULTI, PART "a\r\n\r\nb\n" PART "c\r\n\r\nd" END, NULL},
	{MULTI, PART "a\r\n\r\nb--xx" END, NULL},
	{MULTI, PART "a\r\n\r\nb\r\n--xxy" END, NULL},
	{MULTI, PART "a\r\n\r\nb\r\n--xx \r\n" PART "c\r\n\r\n" END, NULL},
	/* What stands in the headers. */
	{MULTI, PART "a\n\nb" END, NULL},
	{MULTI, PART "a\r\n b\r\n\r\nb" END, NULL},
	{MULTI, PART "a; name=b\r\n\r\nb" END, NULL},
	{MULTI, PART "a; x=b\r\n\r\nb" END, NULL},
	{MULTI, PART "a; filename*=UTF-8''b\r\n\r\nb" END, NULL},
	{MULTI, PART "\"a\\\"b\"\r\n\r\nb" END, NULL},
	{MULTI, PART "\"a\xff\"\r\n\r\nb" END, NULL},
	{MULTI, PART "\"=?utf-8?b?YQ==?=\"\r\n\r\nb" END, NULL},
	{MULTI, PART "\"a=b?\"\r\n\r\nb" END, "a=b?=b|"},
	{MULTI, "--xx\r\n\r\nb" END, NULL},
	{MULTI, "--xx\r\nContent-Type: a/b\r\n\r\nb" END, NULL},
	{MULTI, "--xx\r\nContent-Disposition: form-data\r\n\r\nb" END, NULL},
	{MULTI, "--xx\r\nContent-Disposition: file; name=a\r\n\r\nb" END, NULL},
	{MULTI, PART "a\r\nContent-Disposition: form-data; name=b\r\n\r\nb" END,
	 NULL},
	{MULTI, PART "a\r\nContent-Transfer-Encoding: base64\r\n\r\nYg==" END,
	 NULL},
	{MULTI, PART "a\r\nContent-Encoding: gzip\r\n\r\nb" END, NULL},
	{MULTI, PART "a\r\nContent-Length: 2\r\n\r\nb" END, NULL},
	{MULTI,
	 PART "a\r\nContent-Type: multipart/mixed; boundary=y\r\n\r\n"
	      "--y--" END,
	 NULL},
	{MULTI,
	 PART "a\r\nContent-Type: text/plain; charset=utf-16\r\n\r\nb" END,
	 NULL},
	{MULTI, PART "_charset_\r\n\r\nutf-7" END, NULL},
	{MULTI, PART "_charset_\r\n\r\nutf-8" END, "_charset_=utf-8|"},
};

static void multipart_is_read_strictly(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(multipart_rows); i++) {
		const struct multipart_row *row = &multipart_rows[i];
		struct inspection *seen =
			inspect(row->type, bytes_str(row->body));

		expect_fields(inspection_multipart(seen), row->fields);
		assert_int_equal(*inspection_fault(seen) == '\0',
				 row->fields != NULL);
		inspection_free(seen);
	}
}

static void fields_are_counted(void **state)
{
	(void)state;
	for (size_t count = INSPECT_FIELDS_MAX; count <= INSPECT_FIELDS_MAX + 1;
	     count++) {
		bool is_good = count == INSPECT_FIELDS_MAX;
		struct inspection *seen;
		struct buf form;
		struct buf multi;

		buf_init(&form, 1 << 20);
		buf_init(&multi, 1 << 20);
		for (size_t i = 0; i < count; i++) {
			assert_int_equal(buf_add_str(&form, "a&"), 0);
			assert_int_equal(
				buf_add_str(&multi, PART "a\r\n\r\n\r\n"), 0);
		}
		assert_int_equal(buf_add_str(&multi, "--xx--"), 0);
		seen = inspect(FORM, buf_view(&form));
		assert_int_equal(inspection_form(seen) != NULL, is_good);
		inspection_free(seen);
		seen = inspect(MULTI, buf_view(&multi));
		assert_int_equal(inspection_multipart(seen) != NULL, is_good);
		inspection_free(seen);
		buf_release(&form);
		buf_release(&multi);
	}
}

static void what_cannot_be_decoded_is_not_inspected(void **state)
{
	struct inspect_source source = {.encoding = bytes_str("gzip"),
					.body = bytes_str("[]"),
					.decoded_max = 1024};
	struct err err = {0};

	(void)state;
	assert_null(inspection_new(&source, &err));
	assert_int_equal(err.code, ERR_INVALID);
	source.encoding = bytes_str("identity");
	inspection_free(inspection_new(&source, &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_is_read_strictly),
		cmocka_unit_test(json_is_read_to_its_depth),
		cmocka_unit_test(form_is_decoded),
		cmocka_unit_test(multipart_is_read_strictly),
		cmocka_unit_test(fields_are_counted),
		cmocka_unit_test(what_cannot_be_decoded_is_not_inspected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
