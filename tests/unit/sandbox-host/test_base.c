#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sandbox-host/plan.h"
#include "tests/unit/sandbox-host/scratch.h"

static int setup(void **state)
{
	(void)state;
	scratch_make();
	scratch_dir("shown");
	scratch_file("shown/secret");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scratch_remove();
	return 0;
}

/* Whose the scratch directory is. */
static struct base base_of_us(void)
{
	return (struct base){.uid = geteuid(), .gid = getegid()};
}

static bool begins(const struct base *base, const struct sandbox_spec *spec)
{
	struct plan first, plan;
	struct err err;
	bool does;

	assert_int_equal(sandbox_plan_base(base, &first, &err), 0);
	assert_int_equal(sandbox_plan(spec, &plan, &err), 0);
	/* Most of it: otherwise it is of no use. */
	assert_true(first.step_count > 30);
	does = base_begins(&first, &plan);
	plan_release(&plan);
	plan_release(&first);
	return does;
}

static void sandboxes_of_all_kinds_begin_alike(void **state)
{
	static const char *secret[] = {"secret"}, *inside[] = {"."};
	const struct sandbox_paths hide = {secret, 1}, all = {inside, 1};
	const char *changes = scratch_path("changes");
	const struct sandbox_spec specs[] = {
		{.workspace_mode = SANDBOX_WRITE},
		{.workspace_mode = SANDBOX_READ},
		{.workspace_mode = SANDBOX_OVERLAY, .changes = changes},
		{.home = "/var/lib"},
		{.hide = hide},
		{.protect = all, .write = all},
		{.ca_pem = BYTES_LITERAL("pem")},
	};
	const struct base base = base_of_us();

	(void)state;
	assert_int_equal(mkdir(changes, 0700), 0);
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		struct sandbox_spec spec = specs[i];

		spec.is_service = true;
		spec.workspace = scratch_path("shown");
		assert_true(begins(&base, &spec));
	}
}

static void others_do_not(void **state)
{
	const struct base base = base_of_us();
	struct sandbox_spec spec = {.is_service = true, .workspace = scratch};
	struct plan first, plan;
	struct err err;

	(void)state;
	spec.has_read = true;
	assert_false(begins(&base, &spec));
	spec.has_read = false;
	spec.hostname = "other";
	assert_false(begins(&base, &spec));
	spec.hostname = NULL;
	assert_int_equal(sandbox_plan_base(&base, &first, &err), 0);
	assert_int_equal(sandbox_plan(&spec, &plan, &err), 0);
	assert_true(base_begins(&first, &plan));
	assert_false(base_begins(&plan, &first));
	/* Each word of who it is, and of a step, counts. */
	first.identity.uid++;
	assert_false(base_begins(&first, &plan));
	first.identity.uid--;
	first.identity.gid++;
	assert_false(base_begins(&first, &plan));
	first.identity.gid--;
	first.identity.is_privileged = !first.identity.is_privileged;
	assert_false(base_begins(&first, &plan));
	first.identity = plan.identity;
	for (size_t i = 0; i < first.step_count; i++) {
		const struct plan_step step = plan.steps[i];

		plan.steps[i].mode ^= 1;
		assert_false(base_begins(&first, &plan));
		plan.steps[i] = step;
		plan.steps[i].flags ^= PLAN_WRITE;
		assert_false(base_begins(&first, &plan));
		plan.steps[i] = step;
		plan.steps[i].source = step.source ? NULL : "/x";
		assert_false(base_begins(&first, &plan));
		plan.steps[i] = step;
		plan.steps[i].target = "/other";
		assert_false(base_begins(&first, &plan));
		plan.steps[i] = step;
		plan.steps[i].content = bytes_str("x");
		assert_false(base_begins(&first, &plan));
		plan.steps[i] = step;
	}
	assert_true(base_begins(&first, &plan));
	plan_release(&plan);
	plan_release(&first);
}

static void a_name_that_leads_elsewhere_is_seen(void **state)
{
	const char *path = scratch_path("shown");
	struct plan_step steps[] = {
		{.kind = PLAN_DIR, .target = "/run"},
		{.kind = PLAN_BIND, .source = path, .target = path},
	};
	const struct plan plan = {.steps = steps, .step_count = 2};
	struct base_shown shown[2];

	(void)state;
	base_look(&plan, shown);
	assert_true(base_is_shown(&plan, shown));
	/* What is in it is nobody's business. */
	scratch_file("shown/more");
	assert_true(base_is_shown(&plan, shown));
	assert_int_equal(rename(path, scratch_path("moved")), 0);
	assert_false(base_is_shown(&plan, shown));
	assert_int_equal(mkdir(path, 0755), 0);
	assert_false(base_is_shown(&plan, shown));
}

static void a_base_is_an_argument_and_nothing_else_is_one(void **state)
{
	const struct base bases[] = {
		{0}, {1000, 100, true, 1}, {~0u, ~0u, true, UINT64_MAX}};
	static const char *const others[] = {
		"", "1", "1:2:0", "1:2:0:", "1:2:0:3x", "1:2:0:3:4", "a:b:c:d"};
	struct base base;
	char text[BASE_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
		base_text(&bases[i], text);
		assert_int_equal(base_parse(text, &base), 0);
		assert_true(base.uid == bases[i].uid &&
			    base.gid == bases[i].gid &&
			    base.has_read == bases[i].has_read &&
			    base.tmpfs_bytes == bases[i].tmpfs_bytes);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_equal(base_parse(others[i], &base), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sandboxes_of_all_kinds_begin_alike),
		cmocka_unit_test(others_do_not),
		cmocka_unit_test(a_name_that_leads_elsewhere_is_seen),
		cmocka_unit_test(a_base_is_an_argument_and_nothing_else_is_one),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
