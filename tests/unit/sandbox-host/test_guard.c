#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sandbox-host/guard.h"

static struct guard guard_of(void)
{
	static struct plan_step steps[] = {
		{.kind = PLAN_GUARD, .target = "/w/.bashrc"},
		{.kind = PLAN_GUARD, .target = "/w/.config/git"},
		{.kind = PLAN_GUARD,
		 .flags = PLAN_GLOB,
		 .target = "/w/**/hooks"},
		{.kind = PLAN_VEIL, .flags = PLAN_GLOB, .target = "/w/**/.env"},
		{.kind = PLAN_VEIL, .target = "/w/conf/key"},
		{.kind = PLAN_GUARD,
		 .flags = PLAN_GLOB,
		 .target = "/w/ci/x/*.yml"},
		{.kind = PLAN_SOCKET, .target = "/run/agent"},
		{.kind = PLAN_HIDE, .target = "/w/hidden"},
	};
	const struct plan plan = {
		.steps = steps, .step_count = sizeof(steps) / sizeof(steps[0])};
	struct guard guard;
	struct err err;

	assert_int_equal(guard_open(&guard, &plan, &err), 0);
	return guard;
}

static void guard_covers_a_name_and_what_is_below(void **state)
{
	static const struct {
		const char *path;
		bool covered;
	} rows[] = {
		{"/w/.bashrc", true},	       {"/w/.bashrc/x", true},
		{"/w/.bashrc2", false},	       {"/w/a/.bashrc", false},
		{"/w/.config", false},	       {"/w/.config/git", true},
		{"/w/.config/git/conf", true}, {"/w/hooks", true},
		{"/w/a/b/hooks", true},	       {"/w/a/b/hooks/x", true},
		{"/w/a/b/hooked", false},      {"/x/hooks", false},
		{"/w/hidden", false},	       {"/w/a/.env", true},
	};
	struct guard guard = guard_of();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (guard_covers(&guard, rows[i].path) != rows[i].covered)
			fail_msg("%s", rows[i].path);
	guard_close(&guard);
}

static void guard_knows_the_directories_above(void **state)
{
	struct guard guard = guard_of();

	(void)state;
	assert_true(guard_is_above(&guard, "/w/.config"));
	assert_true(guard_is_above(&guard, "/w"));
	assert_true(guard_is_above(&guard, "/w/conf"));
	assert_true(guard_is_above(&guard, "/w/ci"));
	assert_true(guard_is_above(&guard, "/w/ci/x"));
	assert_false(guard_is_above(&guard, "/w/ci/x/y"));
	assert_false(guard_is_above(&guard, "/w/.conf"));
	assert_false(guard_is_above(&guard, "/w/x"));
	guard_close(&guard);
}

static void guard_allows_only_sockets_by_name(void **state)
{
	struct guard guard = guard_of();

	(void)state;
	assert_true(guard_allows_socket(&guard, "/run/agent"));
	assert_false(guard_allows_socket(&guard, "/run/agent2"));
	guard_close(&guard);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(guard_covers_a_name_and_what_is_below),
		cmocka_unit_test(guard_knows_the_directories_above),
		cmocka_unit_test(guard_allows_only_sockets_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
