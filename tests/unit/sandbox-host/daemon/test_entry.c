#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/daemon/daemon.h"
#include "sandbox-host/daemon/isolate.h"
#include "sandbox-host/daemon/ready.h"

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

/* ---- beside another ---- */

static unsigned pauses;

static void answer_pause(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	const struct wire_empty empty = {0};

	(void)message;
	(void)fd;
	(void)owner;
	pauses++;
	rpc_reply(ticket, &wire_empty_schema, &empty, -1);
}

/* What stands beside rig's, while that is in a state: told to rest how often,
 * once it runs? */
static unsigned pauses_of(struct rig *rig, enum host_state in)
{
	static const struct rpc_permit permits[] = {
		{MSG_SUPERVISOR_PAUSE, &wire_empty_schema, answer_pause, false,
		 0},
	};
	const struct rpc_config served = {.permits = permits,
					  .permit_count = 1};
	static const struct rpc_config plain = {0};
	const struct text_pair of = {bytes_str(ISOLATED_OF_KEY),
				     bytes_str("sb-x")};
	const struct host_sandbox sandbox = {.id = bytes_str("sb-y"),
					     .state = HOST_PENDING,
					     .metadata = &of,
					     .metadata_count = 1};
	struct supervisor_state runs = {.state = HOST_RUNNING};
	struct daemon *daemon = &rig->daemon;
	struct entry *beside;
	struct rpc *peer;
	struct err err;
	int ends[2], dir;

	pauses = 0;
	daemon->loop = io_loop_new(&err);
	assert_int_equal(mkdirat(daemon->sandboxes_dir, "sb-y", 0700), 0);
	dir = openat(daemon->sandboxes_dir, "sb-y", O_DIRECTORY | O_CLOEXEC);
	beside = entry_new(daemon, "sb-y", dir);
	assert_int_equal(entry_store(beside, &sandbox, &err), 0);
	entry_insert(beside);
	assert_int_equal(io_message_pair(ends, &err), 0);
	beside->rpc = rpc_new(daemon->loop, ends[0], &plain, &err);
	peer = rpc_new(daemon->loop, ends[1], &served, &err);
	rig->entry->sandbox.state = (uint8_t)in;
	assert_true(entry_follow(beside, &runs));
	for (int i = 0; i < 4; i++)
		(void)io_loop_turn(daemon->loop, 0, &err);
	rpc_close(peer);
	entry_forget(beside);
	(void)io_loop_turn(daemon->loop, 0, &err);
	io_loop_free(daemon->loop);
	return pauses;
}

static void one_beside_a_sandbox_that_rests_by_now_rests(void **state)
{
	assert_int_equal(pauses_of(*state, HOST_PAUSED), 1);
	assert_int_equal(pauses_of(*state, HOST_RUNNING), 0);
}

/* ---- an end that takes too long ---- */

/* What it is once its supervisor, who was told to end it, is gone. */
static const struct host_sandbox *lose(struct rig *rig, bool is_late,
				       bool owns_workspace)
{
	struct daemon *daemon = &rig->daemon;
	struct entry *entry = rig->entry;
	struct err err;
	int status;

	daemon->loop = io_loop_new(&err);
	/* Nothing is to be swept. */
	daemon->config.workspaces = "/nonexistent";
	entry->owns_workspace = owns_workspace;
	entry_become(entry, HOST_STOPPING, "killed", "");
	if (is_late)
		assert_int_equal(entry_bound(entry, 1), 0);
	for (int i = 0; is_late && !entry->is_late; i++) {
		assert_int_not_equal(i, 1000);
		(void)io_loop_turn(daemon->loop, 10, &err);
	}
	keep_lost(entry, "the test says so");
	(void)wait(&status);
	if (entry->deadline)
		io_timer_free(entry->deadline);
	entry->deadline = NULL;
	io_loop_free(daemon->loop);
	daemon->loop = NULL;
	return &entry->sandbox;
}

static void one_whose_end_takes_too_long_has_ended(void **state)
{
	const struct host_sandbox *sandbox = lose(*state, true, true);

	assert_int_equal(sandbox->state, HOST_TERMINATED);
	assert_true(bytes_is(sandbox->reason, "killed"));
}

static void one_whose_supervisor_dies_as_it_ends_has_failed(void **state)
{
	const struct host_sandbox *sandbox = lose(*state, false, true);

	assert_int_equal(sandbox->state, HOST_FAILED);
	assert_true(bytes_is(sandbox->reason, "supervisor_lost"));
}

/* Nobody knows which of its changes were kept. */
static void one_in_a_workspace_of_somebody_has_failed_then(void **state)
{
	const struct host_sandbox *sandbox = lose(*state, true, false);

	assert_int_equal(sandbox->state, HOST_FAILED);
	assert_true(bytes_is(sandbox->reason, "supervisor_lost"));
}

#define RIG(test) cmocka_unit_test_setup_teardown(test, make_rig, free_rig)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG(it_becomes_what_its_supervisor_says),
		RIG(what_can_not_be_is_not_believed),
		RIG(one_that_is_to_end_does_not_run_again),
		RIG(it_is_found_by_its_whole_id),
		RIG(one_beside_a_sandbox_that_rests_by_now_rests),
		RIG(events_are_kept_once_and_the_newest),
		RIG(one_whose_end_takes_too_long_has_ended),
		RIG(one_whose_supervisor_dies_as_it_ends_has_failed),
		RIG(one_in_a_workspace_of_somebody_has_failed_then),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
