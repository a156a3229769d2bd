#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/dns/names.h"

static const struct sockaddr *address_of(const char *text,
					 struct sockaddr_storage *storage)
{
	void *any = storage;
	struct sockaddr_in *ipv4 = any;
	struct sockaddr_in6 *ipv6 = any;

	*storage = (struct sockaddr_storage){0};
	if (inet_pton(AF_INET, text, &ipv4->sin_addr) == 1) {
		ipv4->sin_family = AF_INET;
	} else {
		assert_int_equal(inet_pton(AF_INET6, text, &ipv6->sin6_addr),
				 1);
		ipv6->sin6_family = AF_INET6;
	}
	return any;
}

/* Give name an address and write it as "ipv4 ipv6". */
static int give(struct names *names, const char *name, uint64_t now_ms,
		char out[128])
{
	struct in_addr ipv4;
	struct in6_addr ipv6;
	char four[INET_ADDRSTRLEN], six[INET6_ADDRSTRLEN];

	if (names_address(names, bytes_str(name), now_ms, &ipv4, &ipv6))
		return -1;
	(void)inet_ntop(AF_INET, &ipv4, four, sizeof(four));
	(void)inet_ntop(AF_INET6, &ipv6, six, sizeof(six));
	(void)snprintf(out, 128, "%s %s", four, six);
	return 0;
}

static bool is_behind(struct names *names, const char *address,
		      const char *name, uint64_t now_ms)
{
	struct sockaddr_storage storage;

	return bytes_is(
		names_behind(names, address_of(address, &storage), now_ms),
		name);
}

static void name_has_one_address_of_each_family(void **state)
{
	struct names *names = names_new();
	char out[128];

	(void)state;
	assert_int_equal(give(names, "a.test", 0, out), 0);
	assert_string_equal(out, "198.18.0.2 fd00::c612:2");
	assert_int_equal(give(names, "b.test", 0, out), 0);
	assert_string_equal(out, "198.18.0.3 fd00::c612:3");
	assert_int_equal(give(names, "a.test", 0, out), 0);
	assert_string_equal(out, "198.18.0.2 fd00::c612:2");
	assert_int_equal(names_count(names), 2);
	names_free(names);
}

static void address_tells_its_name_in_every_spelling(void **state)
{
	static const struct {
		const char *address, *name;
	} rows[] = {
		{"198.18.0.2", "a.test"},
		{"fd00::c612:2", "a.test"},
		{"::ffff:198.18.0.2", "a.test"},
		{"198.18.0.3", "b.test"},
		{"198.18.0.4", ""},
		{"198.18.0.1", ""},
		{"198.18.0.0", ""},
		{"198.17.0.2", ""},
		{"fd00::1:c612:2", ""},
		{"fd00:0:0:1::c612:2", ""},
		{"fd01::c612:2", ""},
		{"::c612:2", ""},
		{"192.0.2.1", ""},
	};
	struct names *names = names_new();
	char out[128];

	(void)state;
	assert_int_equal(give(names, "a.test", 0, out), 0);
	assert_int_equal(give(names, "b.test", 0, out), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!is_behind(names, rows[i].address, rows[i].name, 0))
			fail_msg("%s", rows[i].address);
	assert_true(names_has(names, bytes_str("a.test")));
	assert_false(names_has(names, bytes_str("c.test")));
	names_free(names);
}

static void synthetic_ranges_are_known(void **state)
{
	static const struct {
		const char *address;
		bool expected;
	} rows[] = {
		{"198.18.0.1", true},	   {"198.19.255.255", true},
		{"198.17.255.255", false}, {"198.20.0.0", false},
		{"fd00::1", true},	   {"fd00::ffff:1:2", true},
		{"fd00:0:0:1::", false},   {"::ffff:198.18.0.9", true},
		{"::ffff:1.1.1.1", false},
	};
	struct sockaddr_storage storage;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (names_is_synthetic(address_of(rows[i].address, &storage)) !=
		    rows[i].expected)
			fail_msg("%s", rows[i].address);
}

static void full_table_gives_away_only_addresses_at_rest(void **state)
{
	struct names *names = names_new();
	char out[128], first[128], name[32];

	(void)state;
	assert_int_equal(give(names, "first.test", 0, first), 0);
	assert_int_equal(give(names, "second.test", 0, out), 0);
	for (unsigned i = 2; i < NAMES_MAX; i++) {
		(void)snprintf(name, sizeof(name), "n%u.test", i);
		assert_int_equal(give(names, name, 1000, out), 0);
	}
	assert_string_equal(out, "198.18.253.233 fd00::c612:fde9");
	/* A connection to its address keeps second.test in use. */
	assert_true(is_behind(names, "198.18.0.3", "second.test", 2000));
	assert_int_equal(give(names, "new.test", NAMES_REST_MS - 1, out), -1);
	assert_false(names_has(names, bytes_str("new.test")));
	assert_int_equal(give(names, "new.test", NAMES_REST_MS, out), 0);
	assert_string_equal(out, first);
	assert_false(names_has(names, bytes_str("first.test")));
	assert_int_equal(give(names, "more.test", NAMES_REST_MS, out), -1);
	assert_true(is_behind(names, "198.18.0.2", "new.test", NAMES_REST_MS));
	assert_int_equal(names_count(names), NAMES_MAX);
	names_free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(name_has_one_address_of_each_family),
		cmocka_unit_test(address_tells_its_name_in_every_spelling),
		cmocka_unit_test(synthetic_ranges_are_known),
		cmocka_unit_test(full_table_gives_away_only_addresses_at_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
