/* The courier finds its own credential in what an upstream sends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gateway/courier/reflect.h"

#define TOKEN "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
#define OTHER "Z2hwXzAxMjM0NTY3ODlhYmNkZWY="

static void begin(struct reflect *reflect)
{
	struct err err;

	*reflect = (struct reflect){0};
	assert_int_equal(reflect_watch(reflect, bytes_str(TOKEN), &err), 0);
	assert_int_equal(reflect_watch(reflect, bytes_str(OTHER), &err), 0);
}

/* Feed text in pieces of `size`, as a leg does. How many bytes passed; -1
 * when it was found. */
static ssize_t feed(struct reflect *reflect, const char *text, size_t size)
{
	size_t passed = 0, given = 0, len = strlen(text);

	while (given < len) {
		ssize_t now;

		given = given + size < len ? given + size : len;
		now = reflect_pass(reflect,
				   bytes_slice(bytes_str(text), passed, given));
		if (now < 0)
			return -1;
		passed += (size_t)now;
	}
	return (ssize_t)passed;
}

static void a_reflected_credential_is_found_in_any_division(void **state)
{
	static const char *const texts[] = {
		TOKEN,
		OTHER,
		"{\"auth\": \"Bearer " TOKEN "\"}",
		"ghp_0123ghp_01234567" TOKEN,
		"a long beginning, longer than what is kept of what passed, "
		"and longer still, so that much has gone by: " OTHER " end",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		for (size_t size = 1; size <= strlen(texts[i]); size++) {
			struct reflect reflect;

			begin(&reflect);
			assert_int_equal(feed(&reflect, texts[i], size), -1);
			reflect_release(&reflect);
		}
	}
}

static void what_only_resembles_it_passes_whole(void **state)
{
	static const char *const texts[] = {
		"nothing at all",
		"ghp_0123456789abcdefghijklmnopqrstuvwxy, almost",
		"ghp_01234567, ghp_01234567, ghp_0123456789abc.",
		"an end that is too short to mean anything: ghp_012",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		for (size_t size = 1; size <= strlen(texts[i]); size++) {
			struct reflect reflect;

			begin(&reflect);
			assert_int_equal(feed(&reflect, texts[i], size),
					 strlen(texts[i]));
			reflect_release(&reflect);
		}
	}
}

static void of_a_beginning_no_more_than_chance_passes(void **state)
{
	struct reflect reflect;

	(void)state;
	for (size_t size = 1; size < strlen(TOKEN); size++) {
		begin(&reflect);
		/* All of it but the last character. */
		assert_true(feed(&reflect,
				 "ghp_0123456789abcdefghijklmnopqrstuvwxy",
				 size) < REFLECT_LEAST);
		reflect_release(&reflect);
	}
}

static void a_long_credential_is_known_by_its_beginning(void **state)
{
	struct reflect reflect = {0};
	char token[3000];
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(token) - 1; i++)
		token[i] = (char)('a' + i * i % 23);
	token[sizeof(token) - 1] = '\0';
	assert_int_equal(reflect_watch(&reflect, bytes_str(token), &err), 0);
	assert_int_equal(feed(&reflect, token, 7), -1);
	reflect_release(&reflect);
}

static void a_credential_too_short_to_be_told_is_not_watched(void **state)
{
	struct reflect reflect = {0};
	struct err err;

	(void)state;
	assert_int_equal(reflect_watch(&reflect, bytes_str("secret"), &err), 0);
	assert_int_equal(feed(&reflect, "a secret word", 3), 13);
	reflect_release(&reflect);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_reflected_credential_is_found_in_any_division),
		cmocka_unit_test(what_only_resembles_it_passes_whole),
		cmocka_unit_test(of_a_beginning_no_more_than_chance_passes),
		cmocka_unit_test(a_long_credential_is_known_by_its_beginning),
		cmocka_unit_test(
			a_credential_too_short_to_be_told_is_not_watched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
