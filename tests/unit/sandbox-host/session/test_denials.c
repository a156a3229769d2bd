#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "sandbox-host/session/denials.h"

static void denials_read_as_people_read_them(void **state)
{
	static const struct {
		const char *row, *line;
	} rows[] = {
		{"{\"activity\":\"connection\",\"host\":\"a.example\","
		 "\"port\":22,\"constraint\":\"host_not_allowed\","
		 "\"rule\":\"default\"}",
		 "sallyport: denied connection to a.example:22: "
		 "host_not_allowed (rule default)"},
		{"{\"activity\":\"dns\",\"host\":\"a.example\","
		 "\"constraint\":\"host_not_allowed\",\"rule\":\"r\"}",
		 "sallyport: denied look-up of a.example: host_not_allowed "
		 "(rule r)"},
		{"{\"activity\":\"push\",\"host\":\"github.com\","
		 "\"method\":\"create\",\"path\":\"refs/heads/main\","
		 "\"constraint\":\"push_ref_not_allowed\",\"rule\":\"r\"}",
		 "sallyport: denied push to refs/heads/main of github.com "
		 "(create): push_ref_not_allowed (rule r)"},
		{"{\"activity\":\"request\",\"host\":\"a.example\","
		 "\"method\":\"POST\",\"path\":\"/x\",\"constraint\":"
		 "\"method_not_allowed\",\"rule\":\"r\",\"detail\":\"why\"}",
		 "sallyport: denied POST a.example/x: method_not_allowed "
		 "(rule r): why"},
		{"{\"activity\":\"request\",\"constraint\":"
		 "\"host_not_allowed\",\"rule\":\"gateway\",\"count\":41}",
		 "sallyport: denied 41 more of kind request: host_not_allowed "
		 "(rule gateway)"},
		/* Somebody inside chose it: nothing for a terminal in it. */
		{"{\"activity\":\"request\",\"host\":\"a\",\"method\":"
		 "\"GET\",\"path\":\"/\\u001b[2J\\u009b2J\","
		 "\"constraint\":\"c\",\"rule\":\"r\"}",
		 "sallyport: denied GET a/?[2J??2J: c (rule r)"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *row = json_loads(rows[i].row, 0, NULL);
		char line[1024];

		assert_non_null(row);
		denials_line(row, line, sizeof(line));
		assert_string_equal(line, rows[i].line);
		json_decref(row);
	}
}

static void a_wanted_approval_comes_with_its_command(void **state)
{
	char line[1024];

	(void)state;
	denials_wanted_line(bytes_str("p-abc"),
			    bytes_str("POST https://a.example/\033[2J"), line,
			    sizeof(line));
	assert_string_equal(line, "sallyport: approval p-abc wanted for POST "
				  "https://a.example/?[2J: sallyport approval "
				  "approve p-abc");
}

static void denials_that_are_known_are_told_by_pattern(void **state)
{
	static const struct bytes items[] = {
		BYTES_LITERAL("write to /etc/*hosts denied"),
		BYTES_LITERAL("telemetry.example"),
	};
	static const struct policy_strings quiet = {items, 2};
	static const struct {
		const char *row;
		bool is_known;
		const char *remedy;
	} rows[] = {
		{"{\"activity\":\"sandbox\",\"allowed\":false,"
		 "\"constraint\":\"filesystem\",\"rule\":"
		 "\"filesystem.write\",\"detail\":"
		 "\"write to /etc/my-hosts denied by\"}",
		 true, "write to the workspace"},
		{"{\"activity\":\"sandbox\",\"allowed\":false,"
		 "\"constraint\":\"filesystem\",\"rule\":"
		 "\"filesystem.hide\",\"detail\":"
		 "\"write to /srv/hosts denied by\"}",
		 false, "do without it"},
		{"{\"activity\":\"connection\",\"allowed\":false,"
		 "\"host\":\"telemetry.example\",\"constraint\":"
		 "\"host_not_allowed\",\"rule\":\"default\"}",
		 true, "a rule of `network.rules`"},
		{"{\"activity\":\"connection\",\"allowed\":true,"
		 "\"host\":\"telemetry.example\",\"constraint\":"
		 "\"none\",\"rule\":\"default\"}",
		 false, ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *row = json_loads(rows[i].row, 0, NULL);

		assert_non_null(row);
		assert_int_equal(denials_are_known(&quiet, row),
				 rows[i].is_known);
		assert_ptr_equal(strstr(denials_remedy(row), rows[i].remedy),
				 denials_remedy(row));
		assert_int_equal(rows[i].remedy[0] == '\0',
				 denials_remedy(row)[0] == '\0');
		json_decref(row);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(denials_read_as_people_read_them),
		cmocka_unit_test(a_wanted_approval_comes_with_its_command),
		cmocka_unit_test(denials_that_are_known_are_told_by_pattern),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
