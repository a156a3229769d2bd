#include "tests/unit/gateway/vault/fixture.h"

static const uint8_t bytes33[33] = "0123456789abcdef0123456789abcdefX";

static int load(struct fixture *fixture, const struct seal_source *source,
		struct secret *key)
{
	return seal_key_load(source, key, &fixture->err);
}

static void key_is_made_once_and_kept(void **state)
{
	struct fixture *fixture = *state;
	struct seal_source source = source_of(fixture);
	struct secret first, second;
	struct stat status;

	secret_init(&first);
	secret_init(&second);
	assert_int_equal(load(fixture, &source, &first), 0);
	assert_int_equal(first.len, SEAL_KEY_LEN);
	assert_int_equal(fstatat(fixture->directory, "vault.key", &status, 0),
			 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	source.may_make = false;
	assert_int_equal(load(fixture, &source, &second), 0);
	assert_memory_equal(first.data, second.data, SEAL_KEY_LEN);
	secret_release(&first);
	secret_release(&second);
}

static void key_is_not_made_beside_sealed_secrets(void **state)
{
	struct fixture *fixture = *state;
	struct seal_source source = source_of(fixture);
	struct secret key;

	secret_init(&key);
	source.may_make = false;
	assert_int_equal(load(fixture, &source, &key), -1);
	assert_int_equal(fixture->err.code, ERR_MISSING);
	assert_null(key.data);
}

static void key_file_must_be_its_owners_alone(void **state)
{
	static const struct {
		mode_t mode;
		size_t len;
		int loaded;
	} rows[] = {
		{0600, 32, 0},	{0400, 32, 0},	{0640, 32, -1},
		{0604, 32, -1}, {0660, 32, -1}, {0610, 32, -1},
		{0600, 31, -1}, {0600, 33, -1}, {0600, 0, -1},
	};
	struct fixture *fixture = *state;
	struct seal_source source = source_of(fixture);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct secret key;

		secret_init(&key);
		write_file(fixture, "vault.key", bytes33, rows[i].len,
			   rows[i].mode);
		assert_int_equal(load(fixture, &source, &key), rows[i].loaded);
		assert_int_equal(key.len,
				 rows[i].loaded == 0 ? SEAL_KEY_LEN : 0);
		secret_release(&key);
		(void)unlinkat(fixture->directory, "vault.key", 0);
	}
}

static void key_is_not_followed_through_a_link(void **state)
{
	struct fixture *fixture = *state;
	struct seal_source source = source_of(fixture);
	struct secret key;

	secret_init(&key);
	write_file(fixture, "other.key", bytes33, 32, 0600);
	assert_int_equal(
		symlinkat("other.key", fixture->directory, "vault.key"), 0);
	assert_int_equal(load(fixture, &source, &key), -1);
	assert_null(key.data);
}

static void key_comes_from_a_credential_when_there_is_one(void **state)
{
	static const struct {
		mode_t mode;
		int loaded;
	} rows[] = {
		{0400, 0}, {0440, 0}, {0600, 0}, {0444, -1}, {0420, -1},
	};
	struct fixture *fixture = *state;
	struct seal_source source = source_of(fixture);
	struct secret key;
	struct stat status;

	source.credentials = fixture->path;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		secret_init(&key);
		write_file(fixture, "sallyport-vault-key", bytes33, 32,
			   rows[i].mode);
		assert_int_equal(load(fixture, &source, &key), rows[i].loaded);
		if (rows[i].loaded == 0)
			assert_memory_equal(key.data, bytes33, SEAL_KEY_LEN);
		secret_release(&key);
		(void)unlinkat(fixture->directory, "sallyport-vault-key", 0);
	}
	assert_int_equal(fstatat(fixture->directory, "vault.key", &status, 0),
			 -1);
	/* A credentials directory without it: the vault's own file. */
	assert_int_equal(load(fixture, &source, &key), 0);
	assert_int_equal(fstatat(fixture->directory, "vault.key", &status, 0),
			 0);
	secret_release(&key);
}

#define KEY_TEST(test)                                                         \
	cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		KEY_TEST(key_is_made_once_and_kept),
		KEY_TEST(key_is_not_made_beside_sealed_secrets),
		KEY_TEST(key_file_must_be_its_owners_alone),
		KEY_TEST(key_is_not_followed_through_a_link),
		KEY_TEST(key_comes_from_a_credential_when_there_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
