#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/digest.h"

static void check_sha256(const char *a, const char *b, const char *expected)
{
	uint8_t out[DIGEST_LEN];
	char hex[2 * DIGEST_LEN + 1];

	digest_sha256(bytes_str(a), bytes_str(b), out);
	bytes_to_hex(bytes_from(out, sizeof(out)), hex);
	assert_string_equal(hex, expected);
}

/* FIPS 180-4 examples. */
static void digest_matches_the_published_examples(void **state)
{
	(void)state;
	check_sha256("", "",
		     "e3b0c44298fc1c149afbf4c8996fb924"
		     "27ae41e4649b934ca495991b7852b855");
	check_sha256("abc", "",
		     "ba7816bf8f01cfea414140de5dae2223"
		     "b00361a396177a9cb410ff61f20015ad");
	check_sha256("a", "bc",
		     "ba7816bf8f01cfea414140de5dae2223"
		     "b00361a396177a9cb410ff61f20015ad");
	check_sha256("", "abc",
		     "ba7816bf8f01cfea414140de5dae2223"
		     "b00361a396177a9cb410ff61f20015ad");
	check_sha256("abcdbcdecdefdefgefghfghi",
		     "ghijhijkijkljklmklmnlmnomnopnopq",
		     "248d6a61d20638b8e5c026930c3e6039"
		     "a33ce45964ff2167f6ecedd419db06c1");
}

static void random_bytes_differ_each_time(void **state)
{
	uint8_t first[32] = {0}, second[32] = {0};

	(void)state;
	random_bytes(first, sizeof(first));
	random_bytes(second, sizeof(second));
	assert_memory_not_equal(first, second, sizeof(first));
}

static void random_id_is_26_letters_of_base32(void **state)
{
	char first[27], second[27];

	(void)state;
	random_id(first);
	random_id(second);
	assert_int_equal(strlen(first), 26);
	assert_int_equal(strspn(first, "abcdefghijklmnopqrstuvwxyz234567"), 26);
	/* 26 digits hold 130 bits: the last two are always 0. */
	assert_non_null(strchr("aeimquy4", first[25]));
	assert_string_not_equal(first, second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digest_matches_the_published_examples),
		cmocka_unit_test(random_bytes_differ_each_time),
		cmocka_unit_test(random_id_is_26_letters_of_base32),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
