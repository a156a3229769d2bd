#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "sandbox-host/mounts.h"
#include "sandbox-host/steps.h"
#include "tests/unit/sandbox-host/scratch.h"

#define GONE "/sallyport-test-that-is-gone"

enum { BUILT = 0, REFUSED = 2, CAN_NOT = 3 };

static bool put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	return file && fputs(text, file) >= 0 && fclose(file) == 0;
}

/* An ordinary user's are those of a user namespace of its own. */
static bool take_mounts(void)
{
	char uid[32], gid[32];

	if (geteuid() == 0)
		return unshare(CLONE_NEWNS) == 0;
	(void)snprintf(uid, sizeof(uid), "%u %u 1", geteuid(), geteuid());
	(void)snprintf(gid, sizeof(gid), "%u %u 1", getegid(), getegid());
	return unshare(CLONE_NEWNS | CLONE_NEWUSER) == 0 &&
	       put("/proc/self/setgroups", "deny") &&
	       put("/proc/self/uid_map", uid) && put("/proc/self/gid_map", gid);
}

/* A directory that was removed after it was opened, and before its mount is. */
static int removed_tree(void)
{
	char path[] = "/tmp/sallyport-unit-XXXXXX";
	struct err err;
	int tree = mkdtemp(path) ? mounts_clone(path, &err) : -1;

	return rmdir(path) == 0 ? tree : -1;
}

/* In a child with mounts of its own: a root of these binds, and of what is
 * there. */
static int build(const struct plan_step *binds, size_t count)
{
	struct plan_step steps_of[8] = {{.kind = PLAN_ROOT}};
	const struct plan plan = {.steps = steps_of, .step_count = count + 1};
	struct err err = {0};
	int tree;
	struct steps steps = {
		.plan = &plan, .trees = &tree, .tree_count = 1, .ruleset = -1};

	memcpy(steps_of + 1, binds, count * sizeof(*binds));
	if (!take_mounts())
		return CAN_NOT;
	tree = removed_tree();
	if (tree < 0)
		return CAN_NOT;
	if (steps_build(&steps, &err) < 0)
		return strstr(err.text, GONE) ? REFUSED : CAN_NOT;
	/* What stands behind it came all the same. */
	return (rmdir(GONE) == 0 || errno == ENOENT) &&
			       access("/usr/bin", F_OK) == 0
		       ? BUILT
		       : CAN_NOT;
}

static int outcome_of(unsigned flags, const char *source)
{
	const struct plan_step binds[] = {
		{.kind = PLAN_BIND,
		 .flags = flags,
		 .source = source,
		 .target = source},
		{.kind = PLAN_BIND,
		 .flags = PLAN_TOP,
		 .source = "/usr",
		 .target = "/usr"},
	};
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		_exit(build(binds, ARRAY_SIZE(binds)));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void a_name_of_the_hosts_root_that_is_gone_is_left_out(void **state)
{
	(void)state;
	assert_int_equal(outcome_of(PLAN_TOP, GONE), BUILT);
}

static void one_that_goes_while_it_is_mounted_is_left_out(void **state)
{
	(void)state;
	assert_int_equal(outcome_of(PLAN_TOP | PLAN_OPENED, GONE), BUILT);
	assert_int_equal(outcome_of(PLAN_OPENED, GONE), REFUSED);
}

static void what_was_named_and_is_gone_is_refused(void **state)
{
	static const unsigned flags[] = {0, PLAN_WRITE, PLAN_DEVICE,
					 PLAN_WRITE | PLAN_DEVICE};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		assert_int_equal(outcome_of(flags[i], GONE), REFUSED);
	assert_int_equal(outcome_of(0, "/usr" GONE), REFUSED);
}

/* Gone is not: there, and not to be had. */
static void one_that_is_behind_a_link_by_now_is_refused(void **state)
{
	(void)state;
	scratch_make();
	scratch_link("link", "/");
	assert_int_equal(outcome_of(PLAN_TOP, scratch_path("link" GONE)),
			 REFUSED);
	scratch_remove();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_name_of_the_hosts_root_that_is_gone_is_left_out),
		cmocka_unit_test(one_that_goes_while_it_is_mounted_is_left_out),
		cmocka_unit_test(what_was_named_and_is_gone_is_refused),
		cmocka_unit_test(one_that_is_behind_a_link_by_now_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
