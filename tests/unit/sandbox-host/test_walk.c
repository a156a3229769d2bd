/* A tree that changes while it is walked, and one that is too large. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox-host/walk.h"

struct seen {
	pid_t child;
	size_t entries;
};

static enum walk_answer on_entry(void *owner, const struct walk_entry *entry,
				 struct err *err)
{
	struct seen *seen = owner;

	(void)err;
	seen->entries++;
	if (strcmp(entry->name, "fd") != 0)
		return WALK_SKIP;
	if (seen->child) {
		assert_int_equal(kill(seen->child, SIGKILL), 0);
		assert_int_equal(waitpid(seen->child, NULL, 0), seen->child);
		seen->child = 0;
	}
	return WALK_INTO;
}

static size_t walk_child(bool ends)
{
	struct seen seen = {0};
	struct walk walk = {
		.owner = &seen,
		.on_entry = on_entry,
		.depth_max = 10,
		.entries_max = 10000,
	};
	pid_t child = fork();
	char path[32];
	struct err err;

	assert_true(child >= 0);
	if (child == 0) {
		(void)pause();
		_exit(0);
	}
	seen.child = ends ? child : 0;
	(void)snprintf(path, sizeof(path), "/proc/%d", (int)child);
	assert_int_equal(walk_tree(&walk, path, &err), 0);
	assert_int_equal(seen.child, 0);
	if (!ends) {
		assert_int_equal(kill(child, SIGKILL), 0);
		assert_int_equal(waitpid(child, NULL, 0), child);
	}
	return seen.entries;
}

static void walk_goes_on_when_a_process_of_proc_ends(void **state)
{
	(void)state;
	assert_true(walk_child(false) > walk_child(true));
}

static void walk_says_that_not_all_entries_were_looked_at(void **state)
{
	const size_t most[] = {3, 0, 10000};

	(void)state;
	for (size_t i = 0; i < sizeof(most) / sizeof(*most); i++) {
		struct seen seen = {0};
		struct walk walk = {
			.owner = &seen,
			.on_entry = on_entry,
			.depth_max = 1,
			.entries_max = most[i],
		};
		struct err err;

		assert_int_equal(walk_tree(&walk, "/dev", &err), 0);
		assert_int_equal(walk.is_cut, most[i] < 10000);
		if (walk.is_cut)
			assert_int_equal(seen.entries, most[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walk_goes_on_when_a_process_of_proc_ends),
		cmocka_unit_test(walk_says_that_not_all_entries_were_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
