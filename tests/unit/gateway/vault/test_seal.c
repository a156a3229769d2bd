#include "tests/unit/gateway/vault/fixture.h"

#include "gateway/flow/messages.h"

static const struct seal_place place = {
	.name = BYTES_LITERAL("github-app"),
	.version = 7,
};

struct sealed {
	struct secret key;
	struct buf sealed;
	struct err err;
};

static int setup(void **state)
{
	struct sealed *sealed = calloc(1, sizeof(*sealed));

	assert_non_null(sealed);
	secret_init(&sealed->key);
	assert_int_equal(
		secret_random(&sealed->key, SEAL_KEY_LEN, &sealed->err), 0);
	buf_init(&sealed->sealed, SECRET_VALUE_MAX + SEAL_OVERHEAD);
	*state = sealed;
	return 0;
}

static int teardown(void **state)
{
	struct sealed *sealed = *state;

	secret_release(&sealed->key);
	buf_release(&sealed->sealed);
	free(sealed);
	return 0;
}

static void seal_text(struct sealed *sealed, struct bytes text)
{
	assert_int_equal(seal_close(&sealed->key, &place, text, &sealed->sealed,
				    &sealed->err),
			 0);
	assert_int_equal(buf_len(&sealed->sealed), text.len + SEAL_OVERHEAD);
}

static void seal_gives_back_what_it_was_given(void **state)
{
	static const size_t lengths[] = {0, 1, 40, 4096, SECRET_VALUE_MAX};
	uint8_t text[SECRET_VALUE_MAX];
	struct sealed *sealed = *state;

	random_bytes(text, sizeof(text));
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct secret plain;

		secret_init(&plain);
		buf_clear(&sealed->sealed);
		seal_text(sealed, bytes_from(text, lengths[i]));
		assert_int_equal(seal_open(&sealed->key, &place,
					   buf_view(&sealed->sealed), &plain,
					   &sealed->err),
				 0);
		assert_int_equal(plain.len, lengths[i]);
		if (plain.len)
			assert_memory_equal(plain.data, text, plain.len);
		secret_release(&plain);
	}
}

static void seal_hides_the_text_and_never_repeats_itself(void **state)
{
	const struct bytes text = bytes_str("ghp_0123456789abcdefghij");
	struct sealed *sealed = *state;
	auto_type(buf_release) struct buf again;

	buf_init(&again, 1024);
	seal_text(sealed, text);
	assert_int_equal(bytes_find_bytes(buf_view(&sealed->sealed), text, 0),
			 -1);
	assert_int_equal(
		seal_close(&sealed->key, &place, text, &again, &sealed->err),
		0);
	assert_false(bytes_equal(buf_view(&sealed->sealed), buf_view(&again)));
}

static void seal_refuses_every_altered_byte(void **state)
{
	struct sealed *sealed = *state;
	struct secret plain;

	secret_init(&plain);
	seal_text(sealed, bytes_str("secret"));
	for (size_t i = 0; i < buf_len(&sealed->sealed); i++) {
		uint8_t *at = sealed->sealed.data + sealed->sealed.start + i;

		*at ^= 1;
		assert_int_equal(seal_open(&sealed->key, &place,
					   buf_view(&sealed->sealed), &plain,
					   &sealed->err),
				 -1);
		assert_int_equal(sealed->err.code, ERR_INVALID);
		assert_int_equal(plain.len, 0);
		assert_null(plain.data);
		*at ^= 1;
	}
	for (size_t len = 0; len < buf_len(&sealed->sealed); len++)
		assert_int_equal(
			seal_open(
				&sealed->key, &place,
				bytes_slice(buf_view(&sealed->sealed), 0, len),
				&plain, &sealed->err),
			-1);
	/* The twin: as it was. */
	assert_int_equal(seal_open(&sealed->key, &place,
				   buf_view(&sealed->sealed), &plain,
				   &sealed->err),
			 0);
	secret_release(&plain);
}

static void seal_is_bound_to_its_place_and_key(void **state)
{
	static const struct seal_place others[] = {
		{BYTES_LITERAL("github-apq"), 7},
		{BYTES_LITERAL("github-app"), 8},
		{BYTES_LITERAL("github-ap"), 7},
		{BYTES_LITERAL("github-app2"), 7},
	};
	struct sealed *sealed = *state;
	struct secret plain, other;

	secret_init(&plain);
	secret_init(&other);
	seal_text(sealed, bytes_str("secret"));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_int_equal(seal_open(&sealed->key, &others[i],
					   buf_view(&sealed->sealed), &plain,
					   &sealed->err),
				 -1);
	assert_int_equal(secret_random(&other, SEAL_KEY_LEN, &sealed->err), 0);
	assert_int_equal(seal_open(&other, &place, buf_view(&sealed->sealed),
				   &plain, &sealed->err),
			 -1);
	assert_int_equal(seal_open(&sealed->key, &place,
				   buf_view(&sealed->sealed), &plain,
				   &sealed->err),
			 0);
	secret_release(&plain);
	secret_release(&other);
}

#define SEAL_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SEAL_TEST(seal_gives_back_what_it_was_given),
		SEAL_TEST(seal_hides_the_text_and_never_repeats_itself),
		SEAL_TEST(seal_refuses_every_altered_byte),
		SEAL_TEST(seal_is_bound_to_its_place_and_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
