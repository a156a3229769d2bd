/* Leases: what is made, and what is read from a client. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "gateway/session/lease.h"

static void a_lease_is_shaped_like_a_github_token(void **state)
{
	char one[LEASE_SIZE], other[LEASE_SIZE];

	(void)state;
	lease_new(one);
	lease_new(other);
	assert_int_equal(strlen(one), LEASE_SIZE - 1);
	assert_memory_equal(one, "ghp_", 4);
	assert_string_not_equal(one, other);
	for (const char *c = one + 4; *c; c++)
		assert_true((*c >= '0' && *c <= '9') ||
			    (*c >= 'A' && *c <= 'Z') ||
			    (*c >= 'a' && *c <= 'z'));
}

/* As GitHub's own tools check it: six base62 digits of the CRC-32. */
static void a_lease_ends_with_its_checksum(void **state)
{
	static const char base62[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz";
	char lease[LEASE_SIZE];
	unsigned long long sum = 0;

	(void)state;
	lease_new(lease);
	for (int i = 34; i < 40; i++)
		sum = sum * 62 +
		      (unsigned long long)(strchr(base62, lease[i]) - base62);
	assert_int_equal(sum, crc32(0, (const Bytef *)lease + 4, 30));
}

static void a_lease_is_known_by_its_shape_and_checksum(void **state)
{
	char lease[LEASE_SIZE];

	(void)state;
	lease_new(lease);
	assert_true(lease_is_one(bytes_str(lease)));
	assert_false(lease_is_one(bytes_from(lease, LEASE_SIZE - 2)));
	assert_false(lease_is_one(bytes_from(lease, LEASE_SIZE)));
	for (size_t i = 0; i < LEASE_SIZE - 1; i++) {
		char was = lease[i];

		for (const char *other = "a1-"; *other; other++) {
			lease[i] = *other;
			assert_true(lease_is_one(bytes_str(lease)) ==
				    (*other == was));
		}
		lease[i] = '\0';
		assert_false(lease_is_one(bytes_from(lease, LEASE_SIZE - 1)));
		lease[i] = was;
	}
}

static void a_lease_is_read_from_what_clients_send(void **state)
{
	static const struct {
		const char *field, *lease;
	} rows[] = {
		{"Bearer ghp_abc", "ghp_abc"},
		{"bearer   ghp_abc ", "ghp_abc"},
		{"Basic eDpnaHBfYWJj", "ghp_abc"}, /* x:ghp_abc */
		{"basic eDpnaHBfYWJj", "ghp_abc"},
		{"Basic OmdocF9hYmM=", "ghp_abc"}, /* :ghp_abc */
		{"Basic Z2hwX2FiYzo=", "ghp_abc"}, /* ghp_abc: */
	};
	uint8_t room[LEASE_FIELD_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bytes lease =
			lease_of_field(bytes_str(rows[i].field), room);

		assert_true(bytes_is(lease, rows[i].lease));
	}
}

static void what_is_no_credential_has_no_lease(void **state)
{
	static const char *const fields[] = {
		"",
		"Basic",
		"Basic ",
		"Bearer",
		"Basic Z2hwX2FiYw==", /* no colon */
		"Basic %%%%",
		"Basic Z2hwX2FiYzo", /* without its padding */
		"Basic Z2hw_2FiYzo=",
		"Digest username=x",
	};
	char longer[3 * LEASE_FIELD_MAX] = "Basic ";
	uint8_t room[LEASE_FIELD_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		assert_int_equal(lease_of_field(bytes_str(fields[i]), room).len,
				 0);
	memset(longer + 6, 'Q', sizeof(longer) - 7);
	assert_int_equal(lease_of_field(bytes_str(longer), room).len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lease_is_shaped_like_a_github_token),
		cmocka_unit_test(a_lease_ends_with_its_checksum),
		cmocka_unit_test(a_lease_is_known_by_its_shape_and_checksum),
		cmocka_unit_test(a_lease_is_read_from_what_clients_send),
		cmocka_unit_test(what_is_no_credential_has_no_lease),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
