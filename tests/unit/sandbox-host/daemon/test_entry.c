#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/daemon/daemon.h"

/* A daemon with one sandbox, whose supervisor is the test. */
struct rig {
	struct daemon daemon;
	struct entry *entry;
	char path[64];
};

static int make_rig(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	const struct host_sandbox sandbox = {.id = bytes_str("sb-x"),
					     .state = HOST_PENDING};
	struct err err;
	int dir;

	(void)snprintf(rig->path, sizeof(rig->path), "/tmp/entry-XXXXXX");
	assert_non_null(mkdtemp(rig->path));
	rig->daemon.sandboxes_dir = open(rig->path, O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(rig->daemon.sandboxes_dir, "sb-x", 0700), 0);
	dir = openat(rig->daemon.sandboxes_dir, "sb-x",
		     O_DIRECTORY | O_CLOEXEC);
	rig->entry = entry_new(&rig->daemon, "sb-x", dir);
	assert_non_null(rig->entry);
	assert_int_equal(entry_store(rig->entry, &sandbox, &err), 0);
	entry_insert(rig->entry);
	*state = rig;
	return 0;
}

static int free_rig(void **state)
{
	struct rig *rig = *state;

	entry_forget(rig->entry);
	assert_null(rig->daemon.entries);
	(void)close(rig->daemon.sandboxes_dir);
	/* With its directory. */
	assert_int_equal(rmdir(rig->path), 0);
	free(rig);
	return 0;
}

static bool says(struct rig *rig, enum host_state state)
{
	const struct supervisor_state message = {.state = (uint8_t)state,
						 .session = bytes_str("s-1")};

	return entry_follow(rig->entry, &message);
}

static void it_becomes_what_its_supervisor_says(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(rig->daemon.live_count, 1);
	assert_true(says(rig, HOST_RUNNING));
	assert_int_equal(rig->entry->sandbox.state, HOST_RUNNING);
	assert_true(bytes_is(rig->entry->sandbox.session, "s-1"));
	assert_true(says(rig, HOST_STOPPING));
	assert_true(says(rig, HOST_TERMINATED));
	assert_int_equal(rig->daemon.live_count, 0);
}

static void what_can_not_be_is_not_believed(void **state)
{
	struct rig *rig = *state;

	assert_false(says(rig, HOST_PAUSED));
	assert_int_equal(rig->entry->sandbox.state, HOST_PENDING);
	assert_true(says(rig, HOST_RUNNING));
	assert_false(says(rig, HOST_TERMINATED));
	assert_int_equal(rig->entry->sandbox.state, HOST_RUNNING);
}

static void one_that_is_to_end_does_not_run_again(void **state)
{
	struct rig *rig = *state;

	entry_become(rig->entry, HOST_STOPPING, "killed", "");
	assert_true(says(rig, HOST_RUNNING));
	assert_int_equal(rig->entry->sandbox.state, HOST_STOPPING);
	assert_true(says(rig, HOST_TERMINATED));
	assert_int_equal(rig->entry->sandbox.state, HOST_TERMINATED);
}

static void it_is_found_by_its_whole_id(void **state)
{
	struct rig *rig = *state;

	assert_ptr_equal(entry_find(&rig->daemon, bytes_str("sb-x")),
			 rig->entry);
	assert_null(entry_find(&rig->daemon, bytes_str("sb-")));
	assert_null(entry_find(&rig->daemon, bytes_str("sb-xy")));
}

static void events_are_kept_once_and_the_newest(void **state)
{
	struct rig *rig = *state;
	struct host_event event = {.kind = bytes_str("k"),
				   .text = bytes_str("t")};

	for (uint64_t i = 1; i <= EVENTS_KEPT + 10; i++) {
		event.sequence = i;
		entry_add_event(rig->entry, &event);
		entry_add_event(rig->entry, &event);
	}
	assert_int_equal(rig->entry->event_last, EVENTS_KEPT + 10);
	for (size_t i = 0; i < EVENTS_KEPT; i++)
		assert_true(rig->entry->events[i].sequence > 10);
	event.sequence = 5;
	entry_add_event(rig->entry, &event);
	assert_int_equal(rig->entry->event_last, EVENTS_KEPT + 10);
}

#define RIG(test) cmocka_unit_test_setup_teardown(test, make_rig, free_rig)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG(it_becomes_what_its_supervisor_says),
		RIG(what_can_not_be_is_not_believed),
		RIG(one_that_is_to_end_does_not_run_again),
		RIG(it_is_found_by_its_whole_id),
		RIG(events_are_kept_once_and_the_newest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
