#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
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

/* Which group (below directory) has which mark of systemd's. */
static const char *marked, *mark;

ssize_t __wrap_getxattr(const char *path, const char *name, void *value,
			size_t size);
ssize_t __wrap_getxattr(const char *path, const char *name, void *value,
			size_t size)
{
	if (!marked || strcmp(path + strlen(directory), marked) != 0 ||
	    strcmp(name, mark) != 0 || size < 1) {
		errno = ENODATA;
		return -1;
	}
	*(char *)value = '1';
	return 1;
}

static const char *path_of(const char *group, const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s%s%s", directory, group,
		 *name ? "/" : "", name);
	return path;
}

static const char *const groups[] = {"", "/user", "/user/own"};
static const char *const files[] = {"cgroup.procs", "cgroup.subtree_control",
				    "cgroup.type", "cgroup.controllers"};

/* A tree of version 2, whose groups are ours to write where can_fill says so:
 * one letter for each of groups, 'w' or '-'. */
static void make_tree(const char *can_fill)
{
	for (size_t i = 0; i < 3; i++) {
		(void)mkdir(path_of(groups[i], ""), 0700);
		for (size_t j = 0; j < 2 && can_fill[i] == 'w'; j++)
			write_file(path_of(groups[i], files[j]), "");
	}
	write_file(path_of("", "cgroup.controllers"), "memory pids\n");
}

static void remove_tree(void)
{
	for (size_t i = 3; i-- > 0;) {
		for (size_t j = 0; j < 4; j++)
			(void)unlink(path_of(groups[i], files[j]));
		(void)unlink(path_of(groups[i], "sallyport-self/cgroup.procs"));
		(void)rmdir(path_of(groups[i], "sallyport-self"));
		if (i > 0)
			assert_int_equal(rmdir(path_of(groups[i], "")), 0);
	}
}

static int teardown(void **state)
{
	(void)state;
	(void)unlink(self);
	return rmdir(directory);
}

static void cgroup_place_of_v1_is_below_its_own(void **state)
{
	static const struct {
		const char *text;
		enum cgroup_tree tree;
		const char *place; /* NULL: none */
	} rows[] = {
		{"0::/user.slice/a.scope\n", CGROUP_V1_MEMORY, NULL},
		{"4:memory:/x/y\n0::/\n", CGROUP_V1_MEMORY, "/memory/x/y"},
		{"4:memory:/\n", CGROUP_V1_MEMORY, "/memory"},
		/* Hybrid: version 2 stands beside, and has no controllers. */
		{"4:memory:/\n0::/\n", CGROUP_V2, NULL},
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

#define ROOTS  "trusted.delegate"
#define USERS  "user.delegate"
#define OWN    "0::/user/own\n"
#define SECOND "0::/user\n"
#define TOP    "0::/\n"

static void cgroup_place_of_v2_is_where_systemd_changes_nothing(void **state)
{
	static const struct {
		const char *text, *can_fill;
		const char *marked, *mark;
		const char *place; /* NULL: none */
	} rows[] = {
		/* An ordinary user, whose own is all that can be written. */
		{OWN, "---", NULL, NULL, NULL},
		{OWN, "-ww", NULL, NULL, "/user"},
		{OWN, "--w", NULL, NULL, "/user/own"},
		{OWN, "-w-", NULL, NULL, "/user"},
		{TOP, "---", NULL, NULL, NULL},
		/* Root, who can write everywhere. */
		{OWN, "www", NULL, NULL, ""},
		{OWN, "www", "/user", ROOTS, "/user"},
		{OWN, "www", "/user/own", ROOTS, "/user/own"},
		{OWN, "www", "/user", USERS, ""},
		{OWN, "www", "/user/own", USERS, ""},
		{SECOND, "www", NULL, NULL, ""},
		{TOP, "www", NULL, NULL, ""},
		{"4:memory:/\n", "www", NULL, NULL, NULL},
	};
	char place[PATH_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool found;

		make_tree(rows[i].can_fill);
		marked = rows[i].marked;
		mark = rows[i].mark;
		write_file(self, rows[i].text);
		found = cgroup_place_on(&host, CGROUP_V2, place);
		assert_int_equal(found, rows[i].place != NULL);
		if (found)
			assert_string_equal(place + strlen(directory),
					    rows[i].place);
		remove_tree();
	}
}

/* In a group with those words in its cgroup.procs: did it go below? */
static bool settles(const char *text, const char *group, const char *procs)
{
	bool went;

	write_file(self, text);
	write_file(path_of(group, "cgroup.procs"), procs);
	cgroup_settle(&host);
	went = access(path_of(group, "sallyport-self"), F_OK) == 0;
	remove_tree();
	return went;
}

static void
cgroup_settle_goes_below_a_delegated_group_it_is_alone_in(void **state)
{
	char alone[32], others[32];

	(void)state;
	snprintf(alone, sizeof(alone), "%d\n", (int)getpid());
	snprintf(others, sizeof(others), "%d\n%d\n", (int)getpid(),
		 (int)getpid() + 1);
	marked = NULL;
	mark = ROOTS;
	/* An ordinary user's: beside is as good where that can be written,
	 * unless systemd says which is to be filled. */
	make_tree("--w");
	assert_true(settles(OWN, "/user/own", alone));
	make_tree("--w");
	assert_false(settles(OWN, "/user/own", others));
	make_tree("-ww");
	assert_false(settles(OWN, "/user/own", alone));
	marked = "/user/own";
	mark = USERS;
	make_tree("-ww");
	assert_true(settles(OWN, "/user/own", alone));
	/* Root's: only systemd's own word counts. */
	make_tree("www");
	assert_false(settles(OWN, "/user/own", alone));
	mark = ROOTS;
	make_tree("www");
	assert_true(settles(OWN, "/user/own", alone));
	make_tree("www");
	assert_false(settles(OWN, "/user/own", others));
	marked = "/user";
	make_tree("www");
	assert_false(settles(OWN, "/user/own", alone));
	/* The root of all holds whom it wants, that of a container does not. */
	marked = NULL;
	make_tree("www");
	assert_false(settles(TOP, "", alone));
	make_tree("www");
	write_file(path_of("", "cgroup.type"), "domain\n");
	assert_true(settles(TOP, "", alone));
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
		cmocka_unit_test(cgroup_place_of_v1_is_below_its_own),
		cmocka_unit_test(
			cgroup_place_of_v2_is_where_systemd_changes_nothing),
		cmocka_unit_test(
			cgroup_settle_goes_below_a_delegated_group_it_is_alone_in),
		cmocka_unit_test(
			cgroup_delegate_asks_for_each_controller_alone),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
