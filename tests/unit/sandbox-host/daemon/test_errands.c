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

#define TURNS_MAX 1000
#define TURN_MS	  10

/* A daemon with one sandbox that runs; the test is its supervisor, and asks. */
struct rig {
	struct daemon daemon;
	struct entry *entry;
	char path[64];
	struct rpc *supervisor, *asking;
	struct rpc_ticket ticket;
	bool was_heard, is_answered;
	uint16_t code; /* of what was answered; 0: it was no refusal */
};

static void answer_renew(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	struct rig *rig = owner;

	(void)message;
	(void)fd;
	rig->was_heard = true;
	/* It does not come to answer. */
	rig->ticket = ticket;
}

static int make_rig(void **state)
{
	static const struct rpc_permit permits[] = {
		{MSG_SUPERVISOR_RENEW, &host_renew_schema, answer_renew, false,
		 0},
	};
	static const struct rpc_config plain = {0};
	struct rig *rig = calloc(1, sizeof(*rig));
	const struct rpc_config served = {
		.permits = permits, .permit_count = 1, .owner = rig};
	const struct host_sandbox sandbox = {.id = bytes_str("sb-x"),
					     .state = HOST_RUNNING};
	struct daemon *daemon = &rig->daemon;
	struct err err;
	int ends[2], dir;

	(void)snprintf(rig->path, sizeof(rig->path), "/tmp/errands-XXXXXX");
	assert_non_null(mkdtemp(rig->path));
	daemon->config.workspaces = "/nonexistent";
	daemon->sandboxes_dir = open(rig->path, O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(daemon->sandboxes_dir, "sb-x", 0700), 0);
	dir = openat(daemon->sandboxes_dir, "sb-x", O_DIRECTORY | O_CLOEXEC);
	daemon->loop = io_loop_new(&err);
	rig->entry = entry_new(daemon, "sb-x", dir);
	assert_int_equal(entry_store(rig->entry, &sandbox, &err), 0);
	entry_insert(rig->entry);
	assert_int_equal(io_message_pair(ends, &err), 0);
	assert_int_equal(keep_open(rig->entry, ends[0], &err), 0);
	rig->supervisor = rpc_new(daemon->loop, ends[1], &served, &err);
	assert_int_equal(io_message_pair(ends, &err), 0);
	assert_non_null(askers_add(daemon, ends[0], 0, false, &err));
	rig->asking = rpc_new(daemon->loop, ends[1], &plain, &err);
	*state = rig;
	return 0;
}

static int free_rig(void **state)
{
	struct rig *rig = *state;
	struct err err;

	rpc_close(rig->asking);
	askers_close(&rig->daemon);
	entry_forget(rig->entry);
	(void)io_loop_turn(rig->daemon.loop, 0, &err);
	io_loop_free(rig->daemon.loop);
	(void)close(rig->daemon.sandboxes_dir);
	assert_int_equal(rmdir(rig->path), 0);
	free(rig);
	return 0;
}

static void turn_until(struct rig *rig, const bool *is_so)
{
	struct err err;

	for (int i = 0; !*is_so; i++) {
		assert_int_not_equal(i, TURNS_MAX);
		(void)io_loop_turn(rig->daemon.loop, TURN_MS, &err);
	}
}

static void on_outcome(struct rpc_outcome *outcome, void *owner)
{
	struct rig *rig = owner;

	rig->is_answered = true;
	rig->code = outcome->refusal ? outcome->refusal->code : 0;
}

static void ask(struct rig *rig)
{
	const struct host_renew renew = {.id = bytes_str("sb-x")};
	const struct rpc_call call = {
		.type = MSG_HOST_RENEW,
		.schema = &host_renew_schema,
		.message = &renew,
		.fd = -1,
		.reply_schema = &host_sandbox_schema,
		.timeout_ms = TURNS_MAX * TURN_MS,
		.on_outcome = on_outcome,
		.owner = rig,
	};

	assert_int_equal(rpc_ask(rig->asking, &call, NULL, NULL), 0);
	turn_until(rig, &rig->was_heard);
}

static void say(struct rig *rig, enum host_state state)
{
	const struct supervisor_state message = {.state = (uint8_t)state};

	assert_int_equal(rpc_tell(rig->supervisor, MSG_SUPERVISOR_STATE,
				  &supervisor_state_schema, &message, -1, NULL),
			 0);
}

static void leave(struct rig *rig)
{
	struct err err;
	int status;

	while (rpc_queued(rig->supervisor) > 0)
		(void)io_loop_turn(rig->daemon.loop, TURN_MS, &err);
	rpc_close(rig->supervisor);
	rpc_refuse(rig->ticket, HOST_REFUSED, "nobody hears this");
	turn_until(rig, &rig->is_answered);
	/* Who swept. */
	(void)wait(&status);
}

static void what_the_end_of_a_sandbox_overtakes_is_a_conflict(void **state)
{
	struct rig *rig = *state;

	ask(rig);
	say(rig, HOST_STOPPING);
	say(rig, HOST_TERMINATED);
	leave(rig);
	assert_int_equal(rig->entry->sandbox.state, HOST_TERMINATED);
	assert_int_equal(rig->code, HOST_REFUSED_STATE);
}

static void who_asks_a_supervisor_that_is_lost_is_told_of_that(void **state)
{
	struct rig *rig = *state;

	ask(rig);
	leave(rig);
	assert_int_equal(rig->code, HOST_REFUSED_UNREACHABLE);
}

#define RIG(test) cmocka_unit_test_setup_teardown(test, make_rig, free_rig)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG(what_the_end_of_a_sandbox_overtakes_is_a_conflict),
		RIG(who_asks_a_supervisor_that_is_lost_is_told_of_that),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
