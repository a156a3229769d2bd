#include "tests/unit/gateway/ledger/fixture.h"

static void chain_starts_at_a_fixed_genesis(void **state)
{
	struct chain chain;
	char hex[2 * DIGEST_LEN + 1];

	(void)state;
	chain_start(&chain);
	bytes_to_hex(bytes_from(chain.hash, DIGEST_LEN), hex);
	assert_int_equal(chain.sequence, 0);
	/* printf 'sallyport ledger 1' | sha256sum */
	assert_string_equal(hex, "dbcdcf0a78ca8360caca3c3d74e0236bafa32288c8fb5"
				 "593768ce05b556cc41f");
}

static void chain_hash_covers_the_row_and_the_hash_before_it(void **state)
{
	uint8_t a[DIGEST_LEN] = {1}, b[DIGEST_LEN] = {2};
	uint8_t first[DIGEST_LEN], again[DIGEST_LEN], other[DIGEST_LEN];

	(void)state;
	chain_hash(a, bytes_str("{}"), first);
	chain_hash(a, bytes_str("{}"), again);
	assert_memory_equal(first, again, DIGEST_LEN);
	chain_hash(b, bytes_str("{}"), other);
	assert_memory_not_equal(first, other, DIGEST_LEN);
	chain_hash(a, bytes_str("{ }"), other);
	assert_memory_not_equal(first, other, DIGEST_LEN);
}

static void chain_line_is_the_row_and_its_two_hashes(void **state)
{
	uint8_t prev[DIGEST_LEN], hash[DIGEST_LEN];
	auto_type(buf_release) struct buf out;
	char wanted[256], hex[2][2 * DIGEST_LEN + 1];

	(void)state;
	memset(prev, 0x0a, sizeof(prev));
	memset(hash, 0xb0, sizeof(hash));
	bytes_to_hex(bytes_from(prev, DIGEST_LEN), hex[0]);
	bytes_to_hex(bytes_from(hash, DIGEST_LEN), hex[1]);
	(void)snprintf(wanted, sizeof(wanted),
		       "{\"a\":1,\"prev\":\"%s\",\"hash\":\"%s\"}", hex[0],
		       hex[1]);
	buf_init(&out, 1024);
	assert_int_equal(chain_add_line(&out, bytes_str("{\"a\":1}"),
					bytes_from(prev, DIGEST_LEN),
					bytes_from(hash, DIGEST_LEN)),
			 0);
	assert_string_equal(buf_str(&out), wanted);
}

static void chain_line_refuses_a_hash_of_the_wrong_length(void **state)
{
	uint8_t hash[DIGEST_LEN] = {0};
	auto_type(buf_release) struct buf out;

	(void)state;
	buf_init(&out, 1024);
	assert_int_equal(chain_add_line(&out, bytes_str("{}"),
					bytes_from(hash, DIGEST_LEN - 1),
					bytes_from(hash, DIGEST_LEN)),
			 -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chain_starts_at_a_fixed_genesis),
		cmocka_unit_test(
			chain_hash_covers_the_row_and_the_hash_before_it),
		cmocka_unit_test(chain_line_is_the_row_and_its_two_hashes),
		cmocka_unit_test(chain_line_refuses_a_hash_of_the_wrong_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
