/* Files of the host's that can be read in a sandbox, by its plan. What is in
 * /tmp is nowhere inside, unless it is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sandbox-host/plan.h"
#include "sandbox-host/shown.h"
#include "tests/unit/sandbox-host/scratch.h"

static const char *const argv[] = {"/bin/true", NULL};

static int setup(void **state)
{
	(void)state;
	scratch_make();
	scratch_dir("work");
	scratch_dir("read");
	scratch_dir("write");
	scratch_file("work/key");
	scratch_file("read/key");
	scratch_file("write/key");
	scratch_file("key");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scratch_remove();
	return 0;
}

/* It stays, unlike scratch_path()'s. */
static const char *named(const char *name, char path[PATH_MAX])
{
	(void)snprintf(path, PATH_MAX, "%s/%s", scratch, name);
	return path;
}

static bool shows(const struct sandbox_spec *spec, const char *name)
{
	struct sandbox_spec with = *spec;
	struct plan plan;
	struct err err = {0};
	bool result;

	with.argv = argv;
	with.workspace = scratch_path("work");
	if (sandbox_plan(&with, &plan, &err) < 0)
		fail_msg("%s", err.text);
	result = plan_shows(&plan, scratch_path(name));
	plan_release(&plan);
	return result;
}

static void what_is_in_the_workspace_is_shown(void **state)
{
	const struct sandbox_spec spec = {0};

	(void)state;
	assert_true(shows(&spec, "work/key"));
	assert_true(shows(&spec, "work/not/yet"));
	assert_false(shows(&spec, "key"));
	assert_false(shows(&spec, "workshop"));
	scratch_link("way", "work/key");
	assert_true(shows(&spec, "way"));
}

static void what_is_hidden_is_not(void **state)
{
	const char *const hide[] = {"./key", "./later", "**/*.pem"};
	char token[PATH_MAX];
	const char *const secrets[] = {named("work/token", token)};
	const struct sandbox_spec spec = {.hide = {hide, 3},
					  .secrets = {secrets, 1}};

	(void)state;
	assert_false(shows(&spec, "work/key"));
	assert_false(shows(&spec, "work/later"));
	assert_false(shows(&spec, "work/a/b.pem"));
	assert_false(shows(&spec, "work/token"));
	assert_true(shows(&spec, "work/other"));
}

/* Root's command is another user, but in what it may write. */
static void what_is_named_is_shown_to_its_owner(void **state)
{
	char paths[2][PATH_MAX];
	const char *const read[] = {named("read", paths[0])};
	const char *const write[] = {named("write", paths[1])};
	const struct sandbox_spec spec = {.read = {read, 1},
					  .write = {write, 1}};
	bool is_root = geteuid() == 0;

	(void)state;
	assert_int_equal(shows(&spec, "read/key"), !is_root);
	assert_true(shows(&spec, "write/key"));
	assert_true(shows(&spec, "write/later"));
}

static void what_a_volume_shows_elsewhere_is_shown(void **state)
{
	char path[PATH_MAX];
	const struct sandbox_volume volume = {.source = named("write", path),
					      .target = "/srv",
					      .is_writable = true};
	const struct sandbox_spec spec = {.volumes = &volume,
					  .volume_count = 1};

	(void)state;
	assert_true(shows(&spec, "write/key"));
	assert_false(shows(&spec, "read/key"));
}

/* Nobody but root makes a file there, which its owner alone may read. */
static void what_an_ordinary_user_could_not_make_is_not(void **state)
{
	struct plan_step steps[] = {
		{.kind = PLAN_BIND, .source = "/etc", .target = "/etc"},
		{.kind = PLAN_BIND,
		 .source = scratch,
		 .target = scratch,
		 .flags = PLAN_WRITE},
	};
	const struct plan plan = {.steps = steps, .step_count = 2};

	(void)state;
	assert_int_equal(chmod(scratch, 0755), 0);
	if (geteuid() == 0)
		assert_int_equal(seteuid(12345), 0);
	if (geteuid() == 12345)
		assert_false(plan_shows(&plan, "/etc/shadow"));
	assert_true(plan_shows(&plan, "/etc/passwd"));
	assert_int_equal(plan_shows(&plan, scratch_path("later")),
			 geteuid() != 12345);
	if (geteuid() == 12345)
		assert_int_equal(seteuid(0), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			what_is_in_the_workspace_is_shown, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_hidden_is_not, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			what_is_named_is_shown_to_its_owner, setup, teardown),
		cmocka_unit_test_setup_teardown(
			what_a_volume_shows_elsewhere_is_shown, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			what_an_ordinary_user_could_not_make_is_not, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
