#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "sandbox-host/api/multipart.h"

#define TYPE "multipart/form-data; boundary=b"
#define HEAD "Content-Disposition: form-data; "

/* What was read, as "[name]data;" for each part, '.' at the end; or the
 * reason. Bytes are offered step at a time. */
static const char *read_parts(const char *type, const char *body, size_t step,
			      struct buf *out)
{
	auto_type(buf_release) struct buf pending;
	struct multipart parts;
	struct bytes left = bytes_str(body);

	buf_init(&pending, 64 * 1024);
	buf_init(out, 64 * 1024);
	if (multipart_open(&parts, bytes_str(type)) < 0)
		return parts.reason;
	while (left.len > 0) {
		enum multipart_event event = MULTIPART_DATA;

		assert_int_equal(buf_add(&pending, bytes_slice(left, 0, step)),
				 0);
		left = bytes_slice(left, step, left.len);
		while (event != MULTIPART_MORE) {
			struct bytes rest = buf_view(&pending);
			size_t before = rest.len;
			struct bytes data;

			event = multipart_next(&parts, &rest, &data);
			if (event == MULTIPART_INVALID)
				return parts.reason;
			if (event == MULTIPART_BEGIN)
				(void)buf_add_format(out, "[%.*s]",
						     BYTES_ARGS(data));
			if (event == MULTIPART_DATA) {
				assert_true(data.len > 0);
				(void)buf_add(out, data);
			}
			if (event == MULTIPART_END)
				(void)buf_add_str(out, ";");
			if (event == MULTIPART_OVER)
				(void)buf_add_str(out, ".");
			buf_consume(&pending, before - rest.len);
		}
		assert_true(buf_len(&pending) <= MULTIPART_KEPT_MAX);
	}
	if (!multipart_is_over(&parts))
		return "unfinished";
	return buf_str(out);
}

static const struct {
	const char *body;
	const char *wanted;
} bodies[] = {
	{"--b\r\n" HEAD "name=\"metadata\"; filename=\"metadata\"\r\n"
	 "Content-Type: application/json\r\n\r\n{}\r\n"
	 "--b\r\n" HEAD "name=\"file\"; filename=\"a\"b\"\r\n\r\n"
	 "1\r\n--\r\n-b\r\n--c\r\n--b--\r\n",
	 "[metadata]{};[file]1\r\n--\r\n-b\r\n--c;."},
	{"--b\r\n" HEAD "name=file\r\n\r\n\r\n--b--", "[file];."},
	{"--b\r\n" HEAD "name=\"file\"\r\n\r\n\r\n\r\n--b--epilogue",
	 "[file]\r\n;."},
	{"--b\r\ncontent-disposition:form-data;name=x\r\nX-More: 1\r\n\r\n-\r\n"
	 "--b--\r\n",
	 "[x]-;."},
	{"--b--\r\n", "."},
	{"--b\r\n" HEAD "name=\"file\"\r\n\r\n--b--\r\n", "unfinished"},
	{"--b\r\n" HEAD "name=\"file\"\r\n\r\nx", "unfinished"},
	{"--b\r\n" HEAD "name=\"file\"", "unfinished"},
	{"-", "unfinished"},
	{"--c\r\n", "the body does not start with its boundary"},
	{"\r\n--b\r\n", "the body does not start with its boundary"},
	{"--bc\r\n", "a boundary is not alone on its line"},
	{"--b \r\n", "a boundary is not alone on its line"},
	{"--b\r\n\r\n\r\n--b--", "a part has no sound headers"},
	{"--b\r\nX: y\r\n\r\n1\r\n--b--", "a part has no sound headers"},
	{"--b\r\nno colon\r\n\r\n1", "a part has no sound headers"},
	{"--b\r\n" HEAD "filename=x; name=y\r\n\r\n1",
	 "a part has no sound headers"},
	{"--b\r\nContent-Disposition: attachment; name=x\r\n\r\n1",
	 "a part has no sound headers"},
	{"--b\r\n" HEAD "name=\"x\r\n\r\n1", "a part has no sound headers"},
	{"--b\r\n" HEAD "name=x\r\n" HEAD "name=y\r\n\r\n1",
	 "a part has no sound headers"},
};

static void parts_are_read_however_their_bytes_come(void **state)
{
	static const size_t steps[] = {1, 2, 3, 7, 50, 4096};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++)
		for (size_t k = 0; k < ARRAY_SIZE(steps); k++) {
			auto_type(buf_release) struct buf out;

			assert_string_equal(read_parts(TYPE, bodies[i].body,
						       steps[k], &out),
					    bodies[i].wanted);
		}
}

static void headers_without_an_end_are_not_collected_for_ever(void **state)
{
	auto_type(buf_release) struct buf out;
	char body[MULTIPART_HEAD_MAX + 64];

	(void)state;
	memset(body, 'x', sizeof(body));
	memcpy(body, "--b\r\n", 5);
	body[sizeof(body) - 1] = '\0';
	assert_string_equal(read_parts(TYPE, body, 100, &out),
			    "a part's headers are too large");
}

static void a_type_without_a_sound_boundary_is_refused(void **state)
{
	static const char *const types[] = {
		"",
		"multipart/form-data",
		"multipart/form-data; boundary=",
		"multipart/form-data; boundary=\"\"",
		"multipart/mixed; boundary=b",
		"text/plain; boundary=b",
		"multipart/form-data; boundary=b; boundary=c",
		"multipart/form-data; boundary="
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		"a"
		"aaaaaaaaaaaaaaaa",
	};
	struct multipart parts;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		assert_int_equal(multipart_open(&parts, bytes_str(types[i])),
				 -1);
	assert_int_equal(
		multipart_open(&parts, bytes_str("Multipart/Form-Data; "
						 "boundary=\"a b\"")),
		0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_are_read_however_their_bytes_come),
		cmocka_unit_test(
			headers_without_an_end_are_not_collected_for_ever),
		cmocka_unit_test(a_type_without_a_sound_boundary_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
