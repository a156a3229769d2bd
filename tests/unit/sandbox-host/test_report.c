#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sandbox-host/report.h"

struct heard {
	unsigned count;
	enum constraint constraint;
	char text[REPORT_TEXT_MAX];
};

static void hear(void *owner, const struct sandbox_event *event)
{
	struct heard *heard = owner;

	heard->count++;
	heard->constraint = event->constraint;
	snprintf(heard->text, sizeof(heard->text), "%s", event->text);
}

static void report_says_each_text_once(void **state)
{
	struct heard heard = {0};
	struct report report;

	(void)state;
	report_open(&report, hear, &heard);
	report_deny(&report, CONSTRAINT_filesystem, "a rule", "write to %s",
		    "/a");
	report_deny(&report, CONSTRAINT_filesystem, "a rule", "write to %s",
		    "/a");
	assert_int_equal(heard.count, 1);
	assert_int_equal(heard.constraint, CONSTRAINT_filesystem);
	assert_string_equal(heard.text, "write to /a");
	report_deny(&report, CONSTRAINT_filesystem, "a rule", "write to %s",
		    "/b");
	assert_int_equal(heard.count, 2);
}

static void report_counts_what_is_too_much(void **state)
{
	struct heard heard = {0};
	struct report report;

	(void)state;
	report_open(&report, hear, &heard);
	for (unsigned i = 0; i < 10 * REPORT_PER_SECOND; i++)
		report_deny(&report, CONSTRAINT_filesystem, "a rule",
			    "write to %u", i);
	/* A second may have passed in between. */
	assert_true(heard.count >= REPORT_PER_SECOND);
	assert_true(heard.count < 5 * REPORT_PER_SECOND);
	report_flush(&report);
	assert_non_null(strstr(heard.text, "more denials"));
	assert_int_equal(heard.constraint, CONSTRAINT_none);
}

static void report_shows_no_control_character(void **state)
{
	struct heard heard = {0};
	struct report report;

	(void)state;
	report_open(&report, hear, &heard);
	report_deny(&report, CONSTRAINT_filesystem, "a rule", "a%sb",
		    "\x1b[2J\n");
	assert_string_equal(heard.text, "a?[2J?b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(report_says_each_text_once),
		cmocka_unit_test(report_counts_what_is_too_much),
		cmocka_unit_test(report_shows_no_control_character),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
