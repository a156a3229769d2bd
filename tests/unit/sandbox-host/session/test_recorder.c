#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "sandbox-host/session/recorder.h"

static void recorder_body_is_what_control_takes(void **state)
{
	static const struct {
		enum constraint constraint;
		const char *text, *name, *detail;
	} rows[] = {
		{CONSTRAINT_filesystem, "write to /x denied", "filesystem",
		 "write to /x denied"},
		{CONSTRAINT_none, "a remark", "", "a remark"},
		{CONSTRAINT_syscall, "quote \" and \\", "syscall",
		 "quote \" and \\"},
		{CONSTRAINT_filesystem, "caf\xc3\xa9", "filesystem",
		 "caf\xc3\xa9"},
		{CONSTRAINT_filesystem, "no \xff text", "filesystem",
		 "no ? text"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_free char *body = recorder_body(rows[i].constraint,
						     "a rule", rows[i].text);
		json_t *json = json_loads(body, JSON_REJECT_DUPLICATES, NULL);

		assert_string_equal(
			json_string_value(json_object_get(json, "constraint")),
			rows[i].name);
		assert_string_equal(
			json_string_value(json_object_get(json, "detail")),
			rows[i].detail);
		assert_string_equal(
			json_string_value(json_object_get(json, "rule")),
			"a rule");
		assert_int_equal(json_object_size(json), 3);
		json_decref(json);
	}
}

static void recorder_holds_nobody_up_without_a_gateway(void **state)
{
	const struct sandbox_event event = {CONSTRAINT_filesystem, "denied", "",
					    false};
	struct recorder recorder;

	(void)state;
	assert_int_equal(setenv("SALLYPORT_RUN", "/nonexistent", 1), 0);
	recorder_open(&recorder, "s-none");
	for (unsigned i = 0; i < 10000; i++)
		recorder_on_event(&recorder, &event);
	recorder_close(&recorder);
	assert_int_equal(recorder.poster, 0);
	assert_int_equal(recorder.queue, -1);
}

static void recorder_without_events_makes_no_process(void **state)
{
	struct recorder recorder;

	(void)state;
	recorder_open(&recorder, "s-none");
	assert_int_equal(recorder.poster, 0);
	recorder_close(&recorder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorder_body_is_what_control_takes),
		cmocka_unit_test(recorder_holds_nobody_up_without_a_gateway),
		cmocka_unit_test(recorder_without_events_makes_no_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
