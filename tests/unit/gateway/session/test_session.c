#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/session/session.h"

static struct package *package_of(const char *id, uint64_t expires_ms,
				  const char *lease)
{
	uint8_t hash[DIGEST_LEN];
	struct session_package package = {
		.id = bytes_str(id),
		.expires_ms = expires_ms,
		.lease_hash = bytes_from(hash, sizeof(hash)),
	};
	struct package *opened;
	struct err err;
	int fd;

	digest_sha256(bytes_str(lease), bytes_from(NULL, 0), hash);
	fd = package_seal(&package, &err);
	assert_true(fd >= 0);
	opened = package_open(fd, &err);
	assert_non_null(opened);
	(void)close(fd);
	return opened;
}

static struct session *add(struct session_table *table, const char *id)
{
	struct err err;
	struct session *session =
		session_add(table, package_of(id, 1000, "lease"), &err);

	assert_non_null(session);
	return session;
}

static void table_finds_the_session_that_was_added(void **state)
{
	struct session_table table = {0};
	struct session *a, *b;

	(void)state;
	a = add(&table, "s-a");
	b = add(&table, "s-b");
	assert_ptr_equal(session_find(&table, bytes_str("s-a")), a);
	assert_ptr_equal(session_find(&table, bytes_str("s-b")), b);
	session_table_release(&table);
}

static void table_finds_nothing_under_other_names(void **state)
{
	static const char *const others[] = {"", "s-", "s-ab", "S-a", "a"};
	struct session_table table = {0};

	(void)state;
	(void)add(&table, "s-a");
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_null(session_find(&table, bytes_str(others[i])));
	session_table_release(&table);
}

static void table_renews_a_session_and_keeps_all_else(void **state)
{
	struct session_table table = {0};
	struct package *package;
	struct session *session;
	struct err err;
	int owner;

	(void)state;
	session = add(&table, "s-a");
	session->owner = &owner;
	package = session->package;
	assert_ptr_equal(
		session_add(&table, package_of("s-a", 2000, "lease"), &err),
		session);
	assert_ptr_equal(session->owner, &owner);
	/* Who holds views into it goes on to hold them. */
	assert_ptr_equal(session->package, package);
	assert_false(session_is_expired(session, 1999));
	assert_true(session_is_expired(session, 2000));
	session_table_release(&table);
}

static void table_forgets_a_session_that_was_removed(void **state)
{
	struct session_table table = {0};

	(void)state;
	(void)add(&table, "s-a");
	(void)add(&table, "s-b");
	session_remove(&table, session_find(&table, bytes_str("s-a")));
	assert_null(session_find(&table, bytes_str("s-a")));
	assert_non_null(session_find(&table, bytes_str("s-b")));
	session_table_release(&table);
}

static void session_expires_at_its_millisecond(void **state)
{
	struct session_table table = {0};
	struct session *session;

	(void)state;
	session = add(&table, "s-a");
	assert_false(session_is_expired(session, 999));
	assert_true(session_is_expired(session, 1000));
	assert_true(session_is_expired(session, 1001));
	session_table_release(&table);
}

static void session_knows_its_lease_and_no_other(void **state)
{
	struct session_table table = {0};
	struct session *session;

	(void)state;
	session = add(&table, "s-a");
	assert_true(session_lease_is(session, bytes_str("lease")));
	assert_false(session_lease_is(session, bytes_str("leasf")));
	assert_false(session_lease_is(session, bytes_str("")));
	session_table_release(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_finds_the_session_that_was_added),
		cmocka_unit_test(table_finds_nothing_under_other_names),
		cmocka_unit_test(table_renews_a_session_and_keeps_all_else),
		cmocka_unit_test(table_forgets_a_session_that_was_removed),
		cmocka_unit_test(session_expires_at_its_millisecond),
		cmocka_unit_test(session_knows_its_lease_and_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
