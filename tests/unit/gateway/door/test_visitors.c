#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <string.h>

#include "gateway/door/visitors.h"

static struct sockaddr_storage v4(const char *text)
{
	struct sockaddr_storage address = {.ss_family = AF_INET};
	void *room = &address;
	struct sockaddr_in *in = room;

	assert_int_equal(inet_pton(AF_INET, text, &in->sin_addr), 1);
	return address;
}

static struct sockaddr_storage v6(const char *text)
{
	struct sockaddr_storage address = {.ss_family = AF_INET6};
	void *room = &address;
	struct sockaddr_in6 *in = room;

	assert_int_equal(inet_pton(AF_INET6, text, &in->sin6_addr), 1);
	return address;
}

static void a_visitor_has_a_bounded_number_of_connections(void **state)
{
	struct visitors visitors = {0};
	struct sockaddr_storage one = v4("192.0.2.1"), other = v4("192.0.2.2");
	struct visitor *visitor = NULL;

	(void)state;
	for (int i = 0; i < VISITOR_CONNS_MAX; i++)
		assert_non_null(visitor = visitors_enter(&visitors, &one, 1));
	assert_null(visitors_enter(&visitors, &one, 1));
	assert_non_null(visitors_enter(&visitors, &other, 1));
	visitors_leave(&visitors, visitor, 1);
	assert_ptr_equal(visitors_enter(&visitors, &one, 1), visitor);
	visitors_release(&visitors);
}

static void one_ipv6_network_is_one_visitor(void **state)
{
	struct visitors visitors = {0};
	struct sockaddr_storage a = v6("2001:db8:0:1::1");
	struct sockaddr_storage b = v6("2001:db8:0:1:ffff::2");
	struct sockaddr_storage c = v6("2001:db8:0:2::1");
	struct sockaddr_storage plain = v4("192.0.2.1");
	struct sockaddr_storage mapped = v6("::ffff:192.0.2.1");
	struct visitor *visitor;

	(void)state;
	visitor = visitors_enter(&visitors, &a, 1);
	assert_ptr_equal(visitors_enter(&visitors, &b, 1), visitor);
	assert_ptr_not_equal(visitors_enter(&visitors, &c, 1), visitor);
	assert_ptr_equal(visitors_enter(&visitors, &plain, 1),
			 visitors_enter(&visitors, &mapped, 1));
	visitors_release(&visitors);
}

static void each_further_failure_waits_longer_up_to_a_bound(void **state)
{
	struct visitors visitors = {0};
	struct sockaddr_storage from = v4("192.0.2.1");
	struct visitor *visitor = visitors_enter(&visitors, &from, 1);
	unsigned before = 0;

	(void)state;
	for (int i = 0; i < VISITOR_FREE_FAILS; i++)
		assert_int_equal(visitor_failed(visitor, 1), 0);
	assert_int_equal(visitor_failed(visitor, 1), VISITOR_HOLD_MS);
	before = VISITOR_HOLD_MS;
	for (int i = 0; i < 100; i++) {
		unsigned hold = visitor_failed(visitor, 1);

		assert_true(hold > before || hold == VISITOR_HOLD_MAX_MS);
		assert_true(hold <= VISITOR_HOLD_MAX_MS);
		before = hold;
	}
	visitors_release(&visitors);
}

static void failures_are_remembered_and_forgiven_by_time(void **state)
{
	struct visitors visitors = {0};
	struct sockaddr_storage from = v4("192.0.2.1");
	struct visitor *visitor = visitors_enter(&visitors, &from, 1000);

	(void)state;
	for (int i = 0; i < 10; i++)
		(void)visitor_failed(visitor, 1000);
	visitors_leave(&visitors, visitor, 1000);
	visitor = visitors_enter(&visitors, &from, 2000);
	assert_true(visitor_failed(visitor, 2000) > 0);
	visitors_leave(&visitors, visitor, 2000);
	visitor = visitors_enter(&visitors, &from, 2001 + VISITOR_FORGIVEN_MS);
	assert_int_equal(visitor_failed(visitor, 2001 + VISITOR_FORGIVEN_MS),
			 0);
	visitors_release(&visitors);
}

static void a_visitor_without_failures_is_not_remembered(void **state)
{
	struct visitors visitors = {0};
	struct sockaddr_storage from = v4("192.0.2.1");

	(void)state;
	visitors_leave(&visitors, visitors_enter(&visitors, &from, 1), 1);
	assert_null(visitors.head);
}

static void the_oldest_without_a_connection_makes_room(void **state)
{
	struct visitors visitors = {0};
	struct visitor *visitor;

	(void)state;
	for (uint32_t i = 0; i < 2 * VISITORS_MAX; i++) {
		struct sockaddr_storage from = v4("10.0.0.0");
		void *room = &from;
		struct sockaddr_in *in = room;

		in->sin_addr.s_addr = htonl(0x0a000000U + i);
		visitor = visitors_enter(&visitors, &from, 1);
		assert_non_null(visitor);
		(void)visitor_failed(visitor, 1);
		visitors_leave(&visitors, visitor, 1);
		assert_true(HASH_COUNT(visitors.head) <= VISITORS_MAX);
	}
	visitors_release(&visitors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_visitor_has_a_bounded_number_of_connections),
		cmocka_unit_test(one_ipv6_network_is_one_visitor),
		cmocka_unit_test(
			each_further_failure_waits_longer_up_to_a_bound),
		cmocka_unit_test(failures_are_remembered_and_forgiven_by_time),
		cmocka_unit_test(a_visitor_without_failures_is_not_remembered),
		cmocka_unit_test(the_oldest_without_a_connection_makes_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
