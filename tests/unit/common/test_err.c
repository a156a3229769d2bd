#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/err.h"

static void err_set_keeps_code_and_text(void **state)
{
	struct err err = {.number = 7};

	(void)state;
	assert_int_equal(err_set(&err, ERR_INVALID, "parse %s", "x"), -1);
	assert_int_equal(err.code, ERR_INVALID);
	assert_int_equal(err.number, 0);
	assert_string_equal(err.text, "parse x");
}

static void err_set_cuts_what_is_too_long(void **state)
{
	char text[2 * ERR_TEXT_MAX];
	struct err err;

	(void)state;
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	(void)err_set(&err, ERR_INVALID, "%s", text);
	assert_int_equal(strlen(err.text), ERR_TEXT_MAX - 1);
}

static void err_set_may_quote_the_text_it_replaces(void **state)
{
	struct err err;

	(void)state;
	(void)err_set(&err, ERR_INVALID, "inner");
	(void)err_set(&err, ERR_DENIED, "outer (%s)", err.text);
	assert_string_equal(err.text, "outer (inner)");
}

static void err_system_appends_what_errno_means(void **state)
{
	struct err err;

	(void)state;
	errno = ENOENT;
	assert_int_equal(err_system(&err, "open %s", "/x"), -1);
	assert_int_equal(err.code, ERR_SYSTEM);
	assert_int_equal(err.number, ENOENT);
	assert_string_equal(err.text, "open /x: No such file or directory");
}

static void err_system_cuts_a_long_subject(void **state)
{
	char text[2 * ERR_TEXT_MAX];
	struct err err;

	(void)state;
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	errno = EIO;
	(void)err_system(&err, "%s", text);
	assert_true(strlen(err.text) < ERR_TEXT_MAX);
	assert_non_null(strstr(err.text, ": Input/output error"));
}

static void err_prefix_puts_words_before_the_text(void **state)
{
	struct err err;

	(void)state;
	(void)err_set(&err, ERR_MISSING, "no key");
	assert_int_equal(err_prefix(&err, "load %d", 3), -1);
	assert_string_equal(err.text, "load 3: no key");
	assert_int_equal(err.code, ERR_MISSING);
}

static void err_may_be_null_when_nobody_wants_to_know(void **state)
{
	(void)state;
	errno = EIO;
	assert_int_equal(err_set(NULL, ERR_INVALID, "x"), -1);
	assert_int_equal(err_system(NULL, "x"), -1);
	assert_int_equal(err_prefix(NULL, "x"), -1);
}

static void err_knows_a_shortage_and_a_hangup(void **state)
{
	struct err err;

	(void)state;
	errno = ETOOMANYREFS;
	(void)err_system(&err, "send");
	assert_true(err_is_shortage(&err));
	assert_false(err_is_hangup(&err));
	errno = ECONNRESET;
	(void)err_system(&err, "read");
	assert_false(err_is_shortage(&err));
	assert_true(err_is_hangup(&err));
	/* The number of an earlier failure says nothing. */
	(void)err_set(&err, ERR_INVALID, "parse");
	err.number = ECONNRESET;
	assert_false(err_is_shortage(&err) || err_is_hangup(&err));
	(void)err_set(&err, ERR_CLOSED, "read");
	assert_true(err_is_hangup(&err));
	(void)err_set(&err, ERR_TOO_LARGE, "open");
	assert_true(err_is_shortage(&err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(err_set_keeps_code_and_text),
		cmocka_unit_test(err_set_cuts_what_is_too_long),
		cmocka_unit_test(err_set_may_quote_the_text_it_replaces),
		cmocka_unit_test(err_system_appends_what_errno_means),
		cmocka_unit_test(err_system_cuts_a_long_subject),
		cmocka_unit_test(err_prefix_puts_words_before_the_text),
		cmocka_unit_test(err_may_be_null_when_nobody_wants_to_know),
		cmocka_unit_test(err_knows_a_shortage_and_a_hangup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
