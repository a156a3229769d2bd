/* Targets: any spelling to one form, one form to a verdict. */
#include "common/cleanup.h"
#include "policies.h"

static void target_is_one_form_whatever_the_spelling(void **state)
{
	static const struct {
		const char *host;
		uint16_t port;
		enum target_scheme scheme;
		const char *canonical;
		enum host_kind kind;
		uint16_t wanted_port;
	} rows[] = {
		{"API.Example.com.", 0, SCHEME_HTTPS, "api.example.com",
		 HOST_NAME, 443},
		{"a.b", 0, SCHEME_HTTP, "a.b", HOST_NAME, 80},
		{"a.b", 22, SCHEME_TCP, "a.b", HOST_NAME, 22},
		{"[2001:DB8::0:1]", 8443, SCHEME_HTTPS, "2001:db8::1",
		 HOST_IPV6, 8443},
		{"192.0.2.1", 0, SCHEME_HTTP, "192.0.2.1", HOST_IPV4, 80},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct target target =
			target_at(rows[i].host, rows[i].port, rows[i].scheme);

		assert_string_equal(target.host, rows[i].canonical);
		assert_int_equal(target.kind, rows[i].kind);
		assert_int_equal(target.port, rows[i].wanted_port);
	}
}

static void target_refuses_what_is_no_host(void **state)
{
	static const char *const hosts[] = {
		"", "0x7f.1", "a_b.c", "a b", "2130706433", "fe80::1%eth0"};
	struct target target;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++)
		assert_int_equal(target_named(bytes_str(hosts[i]), 443,
					      SCHEME_HTTPS, &target),
				 -1);
	assert_int_equal(target_named(bytes_str("a.b"), 0, SCHEME_TCP, &target),
			 -1);
}

static void target_check_decides_by_host_and_port(void **state)
{
	static const struct {
		const char *host;
		uint16_t port;
		enum constraint constraint;
	} rows[] = {
		{"api.example.com", 443, CONSTRAINT_none},
		{"api.example.com", 22, CONSTRAINT_port_not_allowed},
		{"evilapi.example.com", 443, CONSTRAINT_host_not_allowed},
		{"x.cdn.example.net", 8443, CONSTRAINT_none},
		{"cdn.example.net", 8443, CONSTRAINT_host_not_allowed},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct target target =
			target_at(rows[i].host, rows[i].port, SCHEME_HTTPS);
		struct verdict verdict = target_check(small_policy(), &target);

		assert_int_equal(verdict.constraint, rows[i].constraint);
		assert_int_equal(verdict.kind, rows[i].constraint
						       ? VERDICT_DENY
						       : VERDICT_ALLOW);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(target_is_one_form_whatever_the_spelling),
		cmocka_unit_test(target_refuses_what_is_no_host),
		cmocka_unit_test(target_check_decides_by_host_and_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
