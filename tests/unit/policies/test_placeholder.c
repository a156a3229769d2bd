#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "policies/inspect/secrets.h"
#include "policies/placeholder.h"

static const uint8_t lease[DIGEST_LEN] = {1, 2, 3};
static const uint8_t other_lease[DIGEST_LEN] = {1, 2, 4};

static struct bytes make(enum placeholder_shape shape, const char *credential,
			 enum placeholder_part part,
			 char room[PLACEHOLDER_SIZE])
{
	size_t len = placeholder_make(lease, bytes_str(credential), shape, part,
				      room);

	assert_true(len < PLACEHOLDER_SIZE);
	assert_int_equal(strlen(room), len);
	return bytes_from(room, len);
}

/* Whoever checks tokens takes it for one: the same scan finds real ones. */
static void a_placeholder_has_the_shape_of_its_kind(void **state)
{
	static const struct {
		enum placeholder_shape shape;
		enum placeholder_part part;
		const char *found;
	} rows[] = {
		{SHAPE_GITHUB, PLACEHOLDER_VALUE, "github token"},
		{SHAPE_NPM, PLACEHOLDER_VALUE, "npm token"},
		{SHAPE_AWS, PLACEHOLDER_VALUE, "aws access key"},
		{SHAPE_JWT, PLACEHOLDER_VALUE, "json web token"},
		{SHAPE_OPAQUE, PLACEHOLDER_VALUE, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct secret_look look = {0};
		char room[PLACEHOLDER_SIZE];
		struct bytes text =
			make(rows[i].shape, "c", rows[i].part, room);
		struct err err;
		struct secret_scan *scan = secret_scan_open(&look, &err);
		const char *found;

		assert_non_null(scan);
		(void)secret_scan_feed(scan, text);
		found = secret_scan_end(scan);
		if (rows[i].found)
			assert_string_equal(found, rows[i].found);
		else
			assert_null(found);
		secret_scan_close(scan);
	}
}

static void an_aws_placeholder_has_an_id_and_a_secret(void **state)
{
	char id[PLACEHOLDER_SIZE], secret[PLACEHOLDER_SIZE];

	(void)state;
	assert_int_equal(placeholder_parts(SHAPE_AWS), 2);
	assert_int_equal(placeholder_parts(SHAPE_GITHUB), 1);
	assert_int_equal(make(SHAPE_AWS, "c", PLACEHOLDER_VALUE, id).len, 20);
	assert_int_equal(make(SHAPE_AWS, "c", PLACEHOLDER_SECOND, secret).len,
			 40);
}

static void a_placeholder_is_the_same_for_all_who_serve_a_session(void **state)
{
	char one[PLACEHOLDER_SIZE], two[PLACEHOLDER_SIZE];

	(void)state;
	(void)make(SHAPE_GITHUB, "c", PLACEHOLDER_VALUE, one);
	(void)make(SHAPE_GITHUB, "c", PLACEHOLDER_VALUE, two);
	assert_string_equal(one, two);
}

static void
sessions_and_credentials_have_placeholders_of_their_own(void **state)
{
	char one[PLACEHOLDER_SIZE], two[PLACEHOLDER_SIZE];

	(void)state;
	(void)make(SHAPE_OPAQUE, "c", PLACEHOLDER_VALUE, one);
	(void)make(SHAPE_OPAQUE, "d", PLACEHOLDER_VALUE, two);
	assert_string_not_equal(one, two);
	(void)placeholder_make(other_lease, bytes_str("c"), SHAPE_OPAQUE,
			       PLACEHOLDER_VALUE, two);
	assert_string_not_equal(one, two);
}

static void a_placeholder_needs_no_escape_anywhere(void **state)
{
	(void)state;
	for (int shape = 0; shape < SHAPE_MAX; shape++)
		for (int part = 0; part < PLACEHOLDER_PART_MAX; part++) {
			char room[PLACEHOLDER_SIZE];
			struct bytes text =
				make((enum placeholder_shape)shape, "c",
				     (enum placeholder_part)part, room);

			assert_int_equal(strspn(room,
						"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
						"abcdefghijklmnopqrstuvwxyz"
						"0123456789_-."),
					 text.len);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_placeholder_has_the_shape_of_its_kind),
		cmocka_unit_test(an_aws_placeholder_has_an_id_and_a_secret),
		cmocka_unit_test(
			a_placeholder_is_the_same_for_all_who_serve_a_session),
		cmocka_unit_test(
			sessions_and_credentials_have_placeholders_of_their_own),
		cmocka_unit_test(a_placeholder_needs_no_escape_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
