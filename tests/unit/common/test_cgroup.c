#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cgroup.h"

static char directory[] = "/tmp/sp-cgroup-XXXXXX";
static char self[sizeof(directory) + 16];
static struct cgroup_host host = {directory, self};

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	snprintf(self, sizeof(self), "%s/self", directory);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)unlink(self);
	return rmdir(directory);
}

static void cgroup_place_is_beside_its_own_of_v2_and_below_of_v1(void **state)
{
	static const struct {
		const char *text;
		enum cgroup_tree tree;
		const char *place; /* NULL: none */
	} rows[] = {
		{"0::/user.slice/a.scope\n", CGROUP_V2, "/user.slice"},
		{"0::/a.scope\n", CGROUP_V2, ""},
		{"0::/\n", CGROUP_V2, ""},
		{"0::/user.slice/a.scope\n", CGROUP_V1_MEMORY, NULL},
		{"4:memory:/x/y\n0::/\n", CGROUP_V1_MEMORY, "/memory/x/y"},
		{"4:memory:/\n", CGROUP_V1_MEMORY, "/memory"},
		{"4:memory:/\n", CGROUP_V2, NULL},
		{"3:cpu,cpuacct:/x\n", CGROUP_V1_CPU, "/cpu/x"},
		{"3:cpuacct,cpu:/x\n", CGROUP_V1_CPU, "/cpu/x"},
		{"3:cpuacct:/a\n2:cpu:/b\n", CGROUP_V1_CPU, "/cpu/b"},
		{"3:cpuset:/a\n", CGROUP_V1_CPU, NULL},
		{"9:name=systemd:/cpu:/x\n", CGROUP_V1_CPU, NULL},
		{"6:freezer:/odd:name\n", CGROUP_V1_FREEZER,
		 "/freezer/odd:name"},
		{"6:freezer:\n", CGROUP_V1_FREEZER, NULL},
		{"nonsense\n", CGROUP_V1_PIDS, NULL},
		{"", CGROUP_V1_PIDS, NULL},
	};
	char place[PATH_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool found;

		write_file(self, rows[i].text);
		found = cgroup_place_on(&host, rows[i].tree, place);
		assert_int_equal(found, rows[i].place != NULL);
		if (found)
			assert_string_equal(place + strlen(directory),
					    rows[i].place);
	}
}

static void cgroup_delegate_asks_for_each_controller_alone(void **state)
{
	static const char *const wanted[] = {"memory", "pids"};
	char path[sizeof(directory) + 64];
	char text[64];
	FILE *file;

	(void)state;
	assert_false(cgroup_is_v2(&host));
	snprintf(path, sizeof(path), "%s/cgroup.controllers", directory);
	write_file(path, "");
	assert_true(cgroup_is_v2(&host));
	assert_int_equal(unlink(path), 0);
	/* Nothing to write to: nothing happens. */
	cgroup_delegate(directory, wanted, 2);
	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", directory);
	write_file(path, "");
	cgroup_delegate(directory, wanted, 2);
	/* A plain file keeps the last over the first: +pids over +memory. */
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	assert_string_equal(text, "+pidsry");
	(void)fclose(file);
	assert_int_equal(unlink(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			cgroup_place_is_beside_its_own_of_v2_and_below_of_v1),
		cmocka_unit_test(
			cgroup_delegate_asks_for_each_controller_alone),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
