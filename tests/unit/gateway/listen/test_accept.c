#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/listen/accept.h"

static struct sockaddr_storage storage(const char *address, uint16_t port)
{
	struct sockaddr_storage out = {0};
	struct sockaddr_in ipv4 = {.sin_family = AF_INET,
				   .sin_port = htons(port)};
	struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6,
				    .sin6_port = htons(port)};

	if (inet_pton(AF_INET, address, &ipv4.sin_addr) == 1)
		memcpy(&out, &ipv4, sizeof(ipv4));
	else if (inet_pton(AF_INET6, address, &ipv6.sin6_addr) == 1)
		memcpy(&out, &ipv6, sizeof(ipv6));
	return out;
}

static void arrival_knows_where_it_was_going(void **state)
{
	static const struct {
		const char *address, *host;
		enum host_kind kind;
	} rows[] = {
		{"140.82.121.4", "140.82.121.4", HOST_IPV4},
		{"2001:db8::7", "2001:db8::7", HOST_IPV6},
		{"::ffff:192.0.2.1", "192.0.2.1", HOST_IPV4},
	};
	struct arrival arrival;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sockaddr_storage to = storage(rows[i].address, 443);

		assert_int_equal(arrival_from(&to, true, &arrival), 0);
		assert_int_equal(arrival.kind, ARRIVAL_REDIRECTED);
		assert_string_equal(arrival.host, rows[i].host);
		assert_int_equal(arrival.host_kind, rows[i].kind);
		assert_int_equal(arrival.port, 443);
		assert_int_equal(arrival_from(&to, false, &arrival), 0);
		assert_int_equal(arrival.kind, ARRIVAL_PROXY);
	}
}

static void arrival_of_another_family_is_refused(void **state)
{
	struct sockaddr_storage to = {.ss_family = AF_UNIX};
	struct arrival arrival;

	(void)state;
	assert_int_equal(arrival_from(&to, true, &arrival), -1);
}

static void arrival_at_a_synthetic_address_takes_its_name(void **state)
{
	struct sockaddr_storage to = storage("198.18.0.9", 22);
	struct arrival arrival;

	(void)state;
	assert_int_equal(arrival_from(&to, true, &arrival), 0);
	arrival_set_name(&arrival, bytes_str("github.com"));
	assert_string_equal(arrival.host, "github.com");
	assert_int_equal(arrival.host_kind, HOST_NAME);
	assert_int_equal(arrival.port, 22);
}

static const struct {
	struct wanted wanted;
	enum hello_kind kind;
	const char *name;
	enum constraint expected;
	const char *host;
	enum target_scheme scheme;
} joins[] = {
	/* CONNECT to a name */
	{{"a.test", HOST_NAME, 443, true},
	 HELLO_TLS,
	 "a.test",
	 CONSTRAINT_none,
	 "a.test",
	 SCHEME_HTTPS},
	{{"a.test", HOST_NAME, 443, true},
	 HELLO_TLS,
	 "b.test",
	 CONSTRAINT_host_mismatch,
	 "a.test",
	 SCHEME_HTTPS},
	{{"a.test", HOST_NAME, 443, true},
	 HELLO_TLS,
	 "",
	 CONSTRAINT_none,
	 "a.test",
	 SCHEME_HTTPS},
	{{"a.test", HOST_NAME, 443, true},
	 HELLO_INVALID,
	 "",
	 CONSTRAINT_tls_client_failed,
	 "a.test",
	 SCHEME_HTTPS},
	{{"a.test", HOST_NAME, 80, true},
	 HELLO_HTTP,
	 "",
	 CONSTRAINT_none,
	 "a.test",
	 SCHEME_HTTP},
	{{"a.test", HOST_NAME, 22, true},
	 HELLO_OTHER,
	 "",
	 CONSTRAINT_none,
	 "a.test",
	 SCHEME_TCP},
	/* CONNECT to an address */
	{{"192.0.2.1", HOST_IPV4, 443, true},
	 HELLO_TLS,
	 "",
	 CONSTRAINT_none,
	 "192.0.2.1",
	 SCHEME_HTTPS},
	{{"192.0.2.1", HOST_IPV4, 443, true},
	 HELLO_TLS,
	 "a.test",
	 CONSTRAINT_host_mismatch,
	 "192.0.2.1",
	 SCHEME_HTTPS},
	/* redirected, by the name behind its synthetic address */
	{{"a.test", HOST_NAME, 443, false},
	 HELLO_TLS,
	 "a.test",
	 CONSTRAINT_none,
	 "a.test",
	 SCHEME_HTTPS},
	{{"a.test", HOST_NAME, 443, false},
	 HELLO_TLS,
	 "b.test",
	 CONSTRAINT_host_mismatch,
	 "a.test",
	 SCHEME_HTTPS},
	/* redirected, to an address that the program knew */
	{{"192.0.2.1", HOST_IPV4, 443, false},
	 HELLO_TLS,
	 "a.test",
	 CONSTRAINT_none,
	 "a.test",
	 SCHEME_HTTPS},
	{{"192.0.2.1", HOST_IPV4, 443, false},
	 HELLO_TLS,
	 "",
	 CONSTRAINT_none,
	 "192.0.2.1",
	 SCHEME_HTTPS},
};

static void target_joins_what_was_wanted_and_what_was_said(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(joins); i++) {
		struct hello hello = {.kind = joins[i].kind};
		struct target target;

		(void)snprintf(hello.name, sizeof(hello.name), "%s",
			       joins[i].name);
		print_message("row %zu\n", i);
		assert_int_equal(target_from(&joins[i].wanted, &hello, &target),
				 joins[i].expected);
		assert_string_equal(target.host, joins[i].host);
		assert_int_equal(target.scheme, joins[i].scheme);
		assert_int_equal(target.port, joins[i].wanted.port);
		assert_int_equal(target.kind,
				 target.host[0] == '1' ? HOST_IPV4 : HOST_NAME);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arrival_knows_where_it_was_going),
		cmocka_unit_test(arrival_of_another_family_is_refused),
		cmocka_unit_test(arrival_at_a_synthetic_address_takes_its_name),
		cmocka_unit_test(
			target_joins_what_was_wanted_and_what_was_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
