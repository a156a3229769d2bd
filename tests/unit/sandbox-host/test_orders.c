#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sandbox-host/orders.h"

static void agent(int channel, const struct plan *plan)
{
	(void)channel;
	(void)plan;
}

static struct plan_step steps[] = {
	{.kind = PLAN_NAMESPACES, .target = "user mount"},
	{.kind = PLAN_TREE, .flags = PLAN_IDMAP, .target = "/srv/work"},
	{.kind = PLAN_BIND,
	 .flags = PLAN_WRITE | PLAN_OPENED,
	 .source = "/srv/work",
	 .target = "/work",
	 .tree = 3},
	{.kind = PLAN_FILE,
	 .source = "/etc/hosts",
	 .target = "/run/sallyport/hosts",
	 .content = BYTES_LITERAL("::1 here\0and on\n"),
	 .mode = 0444},
};
static const struct sandbox_variable variables[] = {{"PATH", "/bin"},
						    {"EMPTY", ""}};
static struct sock_filter code[] = {{.code = 6, .k = 0x7fff0000},
				    {.code = 1, .k = 2}};

static void text_is(const char *text, const char *wanted)
{
	if (wanted)
		assert_string_equal(text, wanted);
	else
		assert_null(text);
}

static void steps_are(const struct plan *plan, const struct plan *wanted)
{
	assert_int_equal(plan->step_count, wanted->step_count);
	for (size_t i = 0; i < plan->step_count; i++) {
		const struct plan_step *step = &plan->steps[i];

		assert_int_equal(step->kind, wanted->steps[i].kind);
		assert_int_equal(step->flags, wanted->steps[i].flags);
		assert_int_equal(step->mode, wanted->steps[i].mode);
		assert_int_equal(step->tree, wanted->steps[i].tree);
		text_is(step->source, wanted->steps[i].source);
		text_is(step->target, wanted->steps[i].target);
		assert_true(
			bytes_equal(step->content, wanted->steps[i].content));
	}
}

/* All that init.c, serve.c, exec.c, steps.c and limits.c take of it. */
static void orders_say_all_that_process_1_goes_by(void **state)
{
	static struct limits limits = {
		.wanted = {.memory_bytes = 1,
			   .processes = 2,
			   .disk_bytes = 3,
			   .files = 4},
		.group_count = 2,
		.has_processes = true,
		.is_v1 = true,
	};
	char told[] = "sb-one", title[] = "sb-___";
	const struct sandbox_spec spec = {
		.env = variables,
		.env_count = 2,
		.root.cwd = "/app",
		.is_service = true,
		.agent = agent,
	};
	const struct plan plan = {
		.steps = steps,
		.step_count = sizeof(steps) / sizeof(steps[0]),
		.identity = {true, 1000, 100},
		.workspace = "/work/tree",
		.cwd = "/work",
		.layers = "/var/lib/layers",
		.watches_reads = true,
	};
	const struct seccomp_program program = {code, 2};
	const struct init from = {
		.spec = &spec,
		.plan = &plan,
		.program = &program,
		.limits = &limits,
		.title = told,
	};
	struct init init = {.agent = agent, .title = title};
	struct err err = {0};
	int fd = orders_seal(&from, &err);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(orders_open(fd, &init, &err), 0);
	(void)close(fd);
	assert_string_equal(title, "sb-one");
	assert_true(init.spec->is_service && init.spec->agent == agent);
	text_is(init.spec->root.cwd, "/app");
	assert_int_equal(init.spec->env_count, 2);
	for (size_t i = 0; i < 2; i++) {
		text_is(init.spec->env[i].name, variables[i].name);
		text_is(init.spec->env[i].value, variables[i].value);
	}
	steps_are(init.plan, &plan);
	assert_true(init.plan->identity.is_privileged);
	assert_int_equal(init.plan->identity.uid, 1000);
	assert_int_equal(init.plan->identity.gid, 100);
	text_is(init.plan->workspace, plan.workspace);
	text_is(init.plan->cwd, plan.cwd);
	text_is(init.plan->layers, plan.layers);
	text_is(init.plan->image_layers, NULL);
	assert_true(init.plan->watches_reads);
	assert_memory_equal(&init.limits->wanted, &limits.wanted,
			    sizeof(limits.wanted));
	assert_int_equal(init.limits->group_count, 2);
	assert_true(!init.limits->has_memory && init.limits->has_processes &&
		    init.limits->is_v1);
	assert_int_equal(init.program->len, 2);
	assert_memory_equal(init.program->code, code, sizeof(code));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orders_say_all_that_process_1_goes_by),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
