#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/plain.h"

static void plain_text_keeps_letters_of_every_language(void **state)
{
	char text[] = "caf\xc3\xa9 \xe2\x82\xac \xc2\xa0 ok";

	(void)state;
	plain_text(text);
	assert_string_equal(text, "caf\xc3\xa9 \xe2\x82\xac \xc2\xa0 ok");
}

static void plain_text_has_nothing_that_a_terminal_obeys(void **state)
{
	char text[] = "a\nb\x1b]0;x\x07\x7f \xc2\x9b 31m\xc2\x80\xc2";

	(void)state;
	plain_text(text);
	assert_string_equal(text, "a?b?]0;x?? ?? 31m??\xc2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_text_keeps_letters_of_every_language),
		cmocka_unit_test(plain_text_has_nothing_that_a_terminal_obeys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
