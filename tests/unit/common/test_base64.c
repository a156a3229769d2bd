#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "common/base64.h"
#include "common/cleanup.h"
#include "common/digest.h"

/* RFC 4648 section 10 */
static const struct {
	const char *plain, *text;
} rows[] = {
	{"", ""},
	{"f", "Zg=="},
	{"fo", "Zm8="},
	{"foo", "Zm9v"},
	{"foob", "Zm9vYg=="},
	{"fooba", "Zm9vYmE="},
	{"foobar", "Zm9vYmFy"},
	{"\xfb\xff", "+/8="},
};

static void base64_is_what_the_rfc_says_both_ways(void **state)
{
	char text[BASE64_LEN(6) + 1];
	uint8_t bytes[6];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bytes plain = bytes_str(rows[i].plain);

		base64_encode(plain, text);
		assert_string_equal(text, rows[i].text);
		assert_int_equal(base64_decode(bytes_str(rows[i].text), bytes,
					       sizeof(bytes)),
				 plain.len);
		assert_memory_equal(bytes, plain.data, plain.len);
	}
}

static void base64_has_one_way_to_write_bytes(void **state)
{
	static const char *const wrong[] = {
		"Z",	"Zg",	"Zg=",	"Zh==",	 "Zm9=", "Zg==Zg==",
		"Z===", "====", "Zm9-", "Zm 9v", "=Zm9", "Zm9v\n",
	};
	uint8_t bytes[16];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		if (base64_decode(bytes_str(wrong[i]), bytes, sizeof(bytes)) >=
		    0)
			fail_msg("%s", wrong[i]);
}

static void base64_stays_within_its_room(void **state)
{
	uint8_t bytes[2];

	(void)state;
	assert_int_equal(base64_decode(bytes_str("Zm8="), bytes, 2), 2);
	assert_int_equal(base64_decode(bytes_str("Zm9v"), bytes, 2), -1);
}

/* FIPS 180-4's example. */
static void sha1_of_abc_is_known(void **state)
{
	static const uint8_t expected[] = {
		0xa9, 0x99, 0x3e, 0x36, 0x47, 0x06, 0x81, 0x6a, 0xba, 0x3e,
		0x25, 0x71, 0x78, 0x50, 0xc2, 0x6c, 0x9c, 0xd0, 0xd8, 0x9d,
	};
	uint8_t digest[DIGEST_SHA1_LEN];

	(void)state;
	digest_sha1(bytes_str("abc"), digest);
	assert_memory_equal(digest, expected, sizeof(expected));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(base64_is_what_the_rfc_says_both_ways),
		cmocka_unit_test(base64_has_one_way_to_write_bytes),
		cmocka_unit_test(base64_stays_within_its_room),
		cmocka_unit_test(sha1_of_abc_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
