#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/control/json.h"

/* RFC 4648, section 10. */
static void json_base64_encodes_the_vectors_of_its_rfc(void **state)
{
	static const struct {
		const char *data, *text;
	} rows[] = {
		{"", ""},
		{"f", "Zg=="},
		{"fo", "Zm8="},
		{"foo", "Zm9v"},
		{"foob", "Zm9vYg=="},
		{"fooba", "Zm9vYmE="},
		{"foobar", "Zm9vYmFy"},
		{"\xff\xfe\xfd", "//79"},
		{"\xfb\xf0", "+/A="},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *json = json_base64(bytes_str(rows[i].data));

		assert_string_equal(json_string_value(json), rows[i].text);
		json_decref(json);
	}
}

static void json_time_is_rfc_3339_and_null_for_never(void **state)
{
	json_t *json = json_time(1763751600123);

	(void)state;
	assert_string_equal(json_string_value(json),
			    "2025-11-21T19:00:00.123Z");
	json_decref(json);
	json = json_time(0);
	assert_true(json_is_null(json));
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_base64_encodes_the_vectors_of_its_rfc),
		cmocka_unit_test(json_time_is_rfc_3339_and_null_for_never),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
