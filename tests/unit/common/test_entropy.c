#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/entropy.h"

#define TEXT_MAX 4096

static void entropy_of_few_letters_is_none(void **state)
{
	(void)state;
	assert_true(entropy_bits(bytes_from(NULL, 0)) == 0);
	assert_true(entropy_bits(bytes_str("a")) == 0);
	assert_true(entropy_bits(bytes_str("aaaaaaa")) == 0);
}

/* Rules compare with whole bits a letter. */
static void entropy_of_whole_bits_is_exact(void **state)
{
	static uint8_t text[TEXT_MAX];

	(void)state;
	for (size_t letters = 1, bits = 0; letters <= 256;
	     letters *= 2, bits++) {
		for (size_t i = 0; i < sizeof(text); i++)
			text[i] = (uint8_t)(i % letters);
		for (size_t times = 1; times <= 15; times++) {
			size_t len = letters * times;

			assert_true(entropy_bits(bytes_from(text, len)) ==
				    (double)(bits * len));
		}
	}
}

/* Counts and bits, from another program's log2. */
static void entropy_is_what_a_logarithm_says(void **state)
{
	static const struct {
		size_t counts[4];
		double bits;
	} rows[] = {
		{{1, 2}, 2.7548875021634687},
		{{1, 2, 3}, 8.754887502163468},
		{{5, 7, 11, 13}, 68.69671098223874},
		{{1, 4095}, 13.442518916320843},
		{{1000, 24}, 164.1766153206052},
		{{3, 3, 3, 1}, 18.954618442383218},
	};
	uint8_t text[TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t len = 0;
		double off;

		for (size_t c = 0; c < 4; c++) {
			memset(text + len, (int)c, rows[i].counts[c]);
			len += rows[i].counts[c];
		}
		off = entropy_bits(bytes_from(text, len)) - rows[i].bits;
		assert_true(off < 1e-12 * rows[i].bits &&
			    off > -1e-12 * rows[i].bits);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entropy_of_few_letters_is_none),
		cmocka_unit_test(entropy_of_whole_bits_is_exact),
		cmocka_unit_test(entropy_is_what_a_logarithm_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
