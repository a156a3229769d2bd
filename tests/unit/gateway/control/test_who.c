#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <unistd.h>

#include "gateway/control/who.h"

static void who_is_admin_is_root_the_owner_and_the_group(void **state)
{
	static const struct who_rules roots = {0, true, 500};
	static const struct who_rules users = {1000, false, 0};
	static const gid_t groups[] = {7, 500};

	(void)state;
	assert_true(who_is_admin(&roots, 0, NULL, 0));
	assert_true(who_is_admin(&roots, 1001, groups, 2));
	assert_false(who_is_admin(&roots, 1001, groups, 1));
	assert_true(who_is_admin(&users, 0, NULL, 0));
	assert_true(who_is_admin(&users, 1000, NULL, 0));
	assert_false(who_is_admin(&users, 1001, groups, 2));
}

static void who_of_tells_the_peer_of_a_socket(void **state)
{
	const struct who_rules rules = {getuid(), false, 0};
	struct who who;
	struct err err;
	int fds[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(who_of(&rules, fds[0], &who, &err), 0);
	assert_int_equal(who.uid, getuid());
	assert_true(who.is_admin);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

static void who_of_fails_for_what_is_no_socket(void **state)
{
	const struct who_rules rules = {0, false, 0};
	struct who who;
	struct err err;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(who_of(&rules, fds[0], &who, &err), -1);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_admin_is_root_the_owner_and_the_group),
		cmocka_unit_test(who_of_tells_the_peer_of_a_socket),
		cmocka_unit_test(who_of_fails_for_what_is_no_socket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
