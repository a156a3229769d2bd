/*
 * Limits on a directory tree that looks like cgroups: where a group is made
 * its files appear, as the kernel would have them, and go with it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cgroup.h"
#include "sandbox-host/limits.h"

int __real_mkdir(const char *path, mode_t mode);
int __real_rmdir(const char *path);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_rmdir(const char *path);

static char directory[] = "/tmp/sp-limits-XXXXXX";
static char self[PATH_MAX];
static const struct cgroup_host host = {directory, self};
/* What a new group has; NULL-ended. */
static const char *const *files;
static unsigned made;

static const char *path_in(const char *group, const char *name)
{
	static char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", group, name);
	return path;
}

static void put(const char *group, const char *name, const char *text)
{
	FILE *file = fopen(path_in(group, name), "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static const char *get(const char *group, const char *name)
{
	static char text[64];
	FILE *file = fopen(path_in(group, name), "r");

	text[0] = '\0';
	if (file) {
		(void)!fgets(text, sizeof(text), file);
		(void)fclose(file);
	}
	return text;
}

int __wrap_mkdir(const char *path, mode_t mode)
{
	if (__real_mkdir(path, mode) < 0)
		return -1;
	if (!strstr(path, "sallyport-"))
		return 0;
	made++;
	for (size_t i = 0; files[i]; i++)
		put(path, files[i], "");
	return 0;
}

int __wrap_rmdir(const char *path)
{
	for (size_t i = 0; strstr(path, "sallyport-") && files[i]; i++)
		(void)unlink(path_in(path, files[i]));
	if (__real_rmdir(path) < 0)
		return -1;
	made -= strstr(path, "sallyport-") != NULL;
	return 0;
}

static const char *const v2_files[] = {"memory.max",	"memory.swap.max",
				       "memory.events", "pids.max",
				       "pids.events",	"cpu.max",
				       "cgroup.freeze", "cgroup.events",
				       "cgroup.procs",	NULL};
static const char *const v2_pids_alone[] = {"pids.max", "pids.events",
					    "cgroup.procs", NULL};
static const char *const v1_files[] = {"memory.limit_in_bytes",
				       "memory.oom_control",
				       "pids.max",
				       "pids.events",
				       "cpu.cfs_period_us",
				       "cpu.cfs_quota_us",
				       "freezer.state",
				       "cgroup.procs",
				       "tasks",
				       NULL};
static const char *const no_files[] = {NULL};

static const struct sandbox_limits wanted = {
	.memory_bytes = 1 << 20, .processes = 9, .cpu_milli = 1500};

static unsigned told;
static char last[REPORT_TEXT_MAX];

static void on_event(void *owner, const struct sandbox_event *event)
{
	(void)owner;
	told++;
	snprintf(last, sizeof(last), "%s", event->text);
}

static void enter_self(const struct limits *limits)
{
	int fds[LIMITS_GROUPS_MAX];
	size_t count;
	struct err err;

	assert_int_equal(limits_open(limits, fds, &count, &err), 0);
	assert_int_equal(count, limits_opened(limits));
	assert_int_equal(limits_enter_self(fds, count, &err), 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(close(fds[i]), 0);
}

static void limits_of_v2_are_one_group_beside_our_own(void **state)
{
	struct limits limits;
	struct report report;
	struct err err;

	(void)state;
	files = v2_files;
	put(directory, "cgroup.controllers", "cpu memory pids\n");
	put(directory, "user/cgroup.procs", "");
	put(directory, "user/cgroup.subtree_control", "");
	put(directory, "self", "0::/user/own.scope\n");
	limits_prepare(&limits, &host, &wanted, true);
	assert_int_equal(limits.group_count, 1);
	assert_true(limits.has_memory && limits.has_processes &&
		    limits.has_cpu && limits_can_rest(&limits));
	assert_string_equal(get(limits.groups[0], "memory.max"), "1048576");
	assert_string_equal(get(limits.groups[0], "memory.swap.max"), "0");
	assert_string_equal(get(limits.groups[0], "pids.max"), "10");
	assert_string_equal(get(limits.groups[0], "cpu.max"), "150000 100000");
	assert_int_equal(limits_enter(&limits, 77, &err), 0);
	assert_string_equal(get(limits.groups[0], "cgroup.procs"), "77");
	enter_self(&limits);
	assert_string_equal(get(limits.groups[0], "cgroup.procs"), "77");
	assert_int_equal(limits_rest(&limits, true, &err), 0);
	assert_string_equal(get(limits.groups[0], "cgroup.freeze"), "1");
	assert_false(limits_rests(&limits));
	put(limits.groups[0], "cgroup.events", "populated 1\nfrozen 1\n");
	assert_true(limits_rests(&limits));
	report_open(&report, on_event, NULL);
	limits_say_open(&limits, &report);
	limits_report(&limits, &report);
	assert_int_equal(told, 0);
	put(limits.groups[0], "memory.events", "oom 3\noom_kill 2\n");
	limits_report(&limits, &report);
	limits_report(&limits, &report);
	assert_int_equal(told, 1);
	assert_non_null(strstr(last, "2 processes were ended by "
				     "resource_limit (limits.memory)"));
	put(limits.groups[0], "pids.events", "max 1\n");
	limits_report(&limits, &report);
	assert_int_equal(told, 2);
	assert_non_null(strstr(last, "a new process denied"));
	limits_release(&limits);
	assert_int_equal(made, 0);
}

/* A group of a maker that is gone, if its pid is one of that namespace. */
static const char *dead_group(char out[PATH_MAX], uintmax_t space)
{
	/* More than any kernel counts to. */
	snprintf(out, PATH_MAX, "%s/user/sallyport-%d-0-%ju", directory,
		 INT32_MAX, space);
	assert_int_equal(__real_mkdir(out, 0700), 0);
	return out;
}

static void groups_of_another_container_are_left_alone(void **state)
{
	char ours[PATH_MAX], others[PATH_MAX];
	struct limits limits;

	(void)state;
	files = v2_files;
	(void)dead_group(ours, cgroup_pid_namespace());
	(void)dead_group(others, cgroup_pid_namespace() + 1);
	limits_prepare(&limits, &host, &wanted, false);
	assert_int_equal(limits.group_count, 1);
	assert_int_not_equal(access(ours, F_OK), 0);
	assert_int_equal(access(others, F_OK), 0);
	assert_int_equal(__real_rmdir(others), 0);
	limits_release(&limits);
	assert_int_equal(made, 0);
}

static void limits_of_v2_have_what_was_delegated(void **state)
{
	struct limits limits;

	(void)state;
	files = v2_pids_alone;
	limits_prepare(&limits, &host, &wanted, false);
	assert_true(!limits.has_memory && limits.has_processes &&
		    !limits.has_cpu);
	limits_release(&limits);
	files = no_files;
	limits_prepare(&limits, &host, &wanted, true);
	assert_int_equal(limits.group_count, 0);
	assert_false(limits_can_rest(&limits));
	assert_int_equal(made, 0);
}

static void limits_of_v2_take_no_blame_for_the_hosts_memory(void **state)
{
	static const struct sandbox_limits nothing = {0};
	struct limits limits;
	struct report report;

	(void)state;
	files = v2_files;
	limits_prepare(&limits, &host, &nothing, true);
	assert_int_equal(limits.group_count, 1);
	put(limits.groups[0], "memory.events", "oom 0\noom_kill 1\n");
	put(limits.groups[0], "pids.events", "max 1\n");
	report_open(&report, on_event, NULL);
	told = 0;
	limits_report(&limits, &report);
	assert_int_equal(told, 0);
	limits_release(&limits);
	assert_int_equal(made, 0);
	assert_int_equal(unlink(path_in(directory, "user/cgroup.procs")), 0);
	assert_int_equal(
		unlink(path_in(directory, "user/cgroup.subtree_control")), 0);
}

static void limits_of_v1_are_a_group_of_each_controller(void **state)
{
	struct limits limits;
	struct err err;

	(void)state;
	files = v1_files;
	assert_int_equal(unlink(path_in(directory, "cgroup.controllers")), 0);
	put(directory, "self",
	    "4:memory:/own\n3:pids:/\n2:cpu,cpuacct:/\n1:freezer:/\n");
	limits_prepare(&limits, &host, &wanted, true);
	assert_int_equal(limits.group_count, 4);
	assert_true(limits.has_memory && limits.has_processes &&
		    limits.has_cpu && limits_can_rest(&limits));
	assert_string_equal(get(limits.groups[0], "memory.limit_in_bytes"),
			    "1048576");
	assert_string_equal(get(limits.groups[1], "pids.max"), "10");
	assert_string_equal(get(limits.groups[2], "cpu.cfs_quota_us"),
			    "150000");
	assert_int_equal(limits_enter(&limits, 77, &err), 0);
	enter_self(&limits);
	for (unsigned i = 0; i < limits.group_count; i++) {
		assert_string_equal(get(limits.groups[i], "cgroup.procs"), "");
		assert_string_equal(get(limits.groups[i], "tasks"), "0");
	}
	limits_release(&limits);
	assert_int_equal(made, 0);
}

static void limits_that_nothing_holds_are_said(void **state)
{
	struct limits limits;
	struct report report;

	(void)state;
	put(directory, "self", "4:memory:/own\n");
	limits_prepare(&limits, &host, &wanted, false);
	assert_true(limits.has_memory && !limits.has_cpu);
	report_open(&report, on_event, NULL);
	told = 0;
	limits_say_open(&limits, &report);
	assert_int_equal(told, 1);
	assert_non_null(strstr(last, "limits.cpu does not hold"));
	limits_release(&limits);
}

static const char *const places[] = {"user", "memory", "memory/own",
				     "pids", "cpu",    "freezer"};

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	snprintf(self, sizeof(self), "%s/self", directory);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (__real_mkdir(path_in(directory, places[i]), 0700) < 0)
			return -1;
	return 0;
}

static int teardown(void **state)
{
	size_t i = sizeof(places) / sizeof(places[0]);

	(void)state;
	(void)unlink(self);
	while (i-- > 0)
		if (__real_rmdir(path_in(directory, places[i])) < 0)
			return -1;
	return __real_rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_of_v2_are_one_group_beside_our_own),
		cmocka_unit_test(groups_of_another_container_are_left_alone),
		cmocka_unit_test(limits_of_v2_have_what_was_delegated),
		cmocka_unit_test(
			limits_of_v2_take_no_blame_for_the_hosts_memory),
		cmocka_unit_test(limits_of_v1_are_a_group_of_each_controller),
		cmocka_unit_test(limits_that_nothing_holds_are_said),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
