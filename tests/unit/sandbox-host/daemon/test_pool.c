#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/daemon/pool.h"
#include "sandbox-host/daemon/ready.h"

/* A daemon with one sandbox that was built ahead, and somebody who asks. */
struct rig {
	struct daemon daemon;
	struct host_pool_config pool;
	struct entry *entry;
	struct rpc *peer; /* stands for its supervisor */
	bool refuses;
	struct rpc *service, *asker;
	struct sandbox_request request;
	struct spawn_for who;
	bool was_taken, was_answered;
	char name[REQUEST_NAME_MAX + 1]; /* of what the asker got; or "" */
	char path[64];
};

static void on_sweep(void *owner)
{
	(void)owner;
}

/* ---- the supervisor ---- */

static void answer_take(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct wire_empty empty = {0};
	const struct rig *rig = owner;

	(void)message;
	(void)fd;
	if (rig->refuses)
		rpc_refuse(ticket, HOST_REFUSED_STATE, "other terms");
	else
		rpc_reply(ticket, &wire_empty_schema, &empty, -1);
}

static void answer_end(struct rpc_ticket ticket, const void *message, int *fd,
		       void *owner)
{
	(void)ticket;
	(void)message;
	(void)fd;
	(void)owner;
}

/* ---- who asks ---- */

static void answer_create(struct rpc_ticket ticket, const void *message,
			  int *fd, void *owner)
{
	struct rig *rig = owner;

	(void)message;
	rig->was_taken =
		pool_take(&rig->daemon, ticket, *fd, &rig->request, &rig->who);
	if (!rig->was_taken)
		rpc_refuse(ticket, HOST_REFUSED, "there is none");
}

static void on_created(struct rpc_outcome *outcome, void *owner)
{
	const struct host_sandbox *sandbox = outcome->message;
	struct rig *rig = owner;

	rig->was_answered = true;
	rig->name[0] = '\0';
	if (!outcome->err)
		(void)snprintf(rig->name, sizeof(rig->name), "%.*s",
			       BYTES_ARGS(sandbox->name));
}

/* Ask for one, and wait for the answer. */
static bool take(struct rig *rig)
{
	const struct wire_empty empty = {0};
	struct err err;
	auto_fd int fd = sandbox_request_seal(&rig->request, &err);
	const struct rpc_call call = {
		.type = MSG_HOST_CREATE,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = fd,
		.reply_schema = &host_sandbox_schema,
		.timeout_ms = 60000,
		.on_outcome = on_created,
		.owner = rig,
	};

	assert_true(fd >= 0);
	rig->was_answered = false;
	assert_int_equal(rpc_ask(rig->asker, &call, NULL, &err), 0);
	while (!rig->was_answered)
		assert_int_equal(io_loop_turn(rig->daemon.loop, 100, &err), 0);
	return rig->was_taken;
}

/* ---- */

static void pair(struct rig *rig, const struct rpc_permit *permits,
		 size_t count, struct rpc **served, struct rpc **other)
{
	static const struct rpc_config plain = {0};
	const struct rpc_config config = {
		.permits = permits, .permit_count = count, .owner = rig};
	struct err err;
	int ends[2];

	assert_int_equal(io_message_pair(ends, &err), 0);
	*served = rpc_new(rig->daemon.loop, ends[0], &config, &err);
	*other = rpc_new(rig->daemon.loop, ends[1], &plain, &err);
	assert_true(*served && *other);
}

static int make_rig(void **state)
{
	static const struct rpc_permit supervisor[] = {
		{MSG_SUPERVISOR_TAKE, &wire_empty_schema, answer_take, true, 0},
		{MSG_SUPERVISOR_END, &supervisor_end_schema, answer_end, false,
		 0},
	};
	static const struct rpc_permit service[] = {
		{MSG_HOST_CREATE, &wire_empty_schema, answer_create, true, 0},
	};
	struct rig *rig = calloc(1, sizeof(*rig));
	const struct host_sandbox sandbox = {.id = bytes_str("sb-x"),
					     .state = HOST_RUNNING};
	struct daemon *daemon = &rig->daemon;
	struct err err;
	int dir;

	(void)snprintf(rig->path, sizeof(rig->path), "/tmp/pool-XXXXXX");
	assert_non_null(mkdtemp(rig->path));
	daemon->sandboxes_dir = open(rig->path, O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(daemon->sandboxes_dir, "sb-x", 0700), 0);
	dir = openat(daemon->sandboxes_dir, "sb-x", O_DIRECTORY | O_CLOEXEC);
	daemon->loop = io_loop_new(&err);
	daemon->sweep_timer = io_timer_new(daemon->loop, on_sweep, NULL);
	assert_int_equal(ready_open(daemon, &err), 0);
	rig->pool = (struct host_pool_config){.name = "plain", .size = 1};
	daemon->config.store.pools = &rig->pool;
	daemon->config.store.pool_count = 1;
	/* None is built in these tests. */
	daemon->is_draining = true;
	rig->entry = entry_new(daemon, "sb-x", dir);
	assert_int_equal(entry_store(rig->entry, &sandbox, &err), 0);
	entry_insert(rig->entry);
	pair(rig, supervisor, ARRAY_SIZE(supervisor), &rig->peer,
	     &rig->entry->rpc);
	pair(rig, service, ARRAY_SIZE(service), &rig->service, &rig->asker);
	rig->entry->is_pooled = true;
	rig->who.uid = 7;
	*state = rig;
	return 0;
}

static int free_rig(void **state)
{
	struct rig *rig = *state;
	struct err err;

	rpc_close(rig->peer);
	rpc_close(rig->service);
	rpc_close(rig->asker);
	entry_forget(rig->entry);
	ready_close(&rig->daemon);
	/* Channels are freed in the turn after. */
	(void)io_loop_turn(rig->daemon.loop, 0, &err);
	io_timer_free(rig->daemon.sweep_timer);
	io_loop_free(rig->daemon.loop);
	(void)close(rig->daemon.sandboxes_dir);
	assert_int_equal(rmdir(rig->path), 0);
	free(rig);
	return 0;
}

static void one_that_was_built_ahead_is_given_out_once(void **state)
{
	struct rig *rig = *state;

	rig->request.name = bytes_str("mine");
	assert_true(take(rig));
	assert_string_equal(rig->name, "mine");
	assert_false(rig->entry->is_pooled);
	assert_int_equal(rig->entry->sandbox.owner_uid, 7);
	assert_true(bytes_is(rig->entry->sandbox.name, "mine"));
	assert_false(take(rig));
}

static void one_whose_supervisor_refuses_is_nobodys(void **state)
{
	struct rig *rig = *state;

	rig->request.name = bytes_str("mine");
	rig->refuses = true;
	assert_true(take(rig));
	assert_string_equal(rig->name, "");
	assert_true(rig->entry->is_pooled);
	assert_false(rig->entry->is_claimed);
	assert_int_equal(rig->entry->sandbox.name.len, 0);
}

/* Its policy may name what is the host's. */
static void whose_policy_is_bounded_gets_none(void **state)
{
	struct rig *rig = *state;

	rig->who.is_bounded = true;
	assert_false(take(rig));
	rig->who.is_bounded = false;
	assert_true(take(rig));
}

static void write_default(struct rig *rig, char path[96], const char *text)
{
	int fd;

	(void)snprintf(path, 96, "%s/default", rig->path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	(void)close(fd);
}

static void after_another_default_policy_it_is_not_given_out(void **state)
{
	struct rig *rig = *state;
	char path[96];

	write_default(rig, path, "version: 1\n");
	rig->daemon.config.default_policy = path;
	rig->entry->built = built_of(&rig->daemon, &rig->request);
	write_default(rig, path, "version: 1\nname: other\n");
	assert_false(take(rig));
	/* One with a policy of its own does not care. */
	rig->pool.policy_text = bytes_str("version: 1\n");
	rig->request.policy = rig->pool.policy_text;
	rig->entry->built = built_of(&rig->daemon, &rig->request);
	write_default(rig, path, "version: 1\n");
	assert_true(take(rig));
	assert_int_equal(unlink(path), 0);
}

static void after_another_configuration_all_that_nobody_has_end(void **state)
{
	struct rig *rig = *state;

	pool_begin_anew(&rig->daemon);
	assert_int_equal(rig->entry->sandbox.state, HOST_STOPPING);
	assert_false(take(rig));
}

static void what_is_asked_for_beside_the_pool_is_not_from_there(void **state)
{
	static const struct text_item item = {BYTES_LITERAL("A=b")};
	static const struct volume_request volume = {0};
	const struct sandbox_request rows[] = {
		{.policy = bytes_str("version: 1\n")},
		{.policy_path = bytes_str("/p")},
		{.repo = bytes_str("https://x/y")},
		{.branch = bytes_str("b")},
		{.workspace = bytes_str("/w")},
		{.home = bytes_str("/h")},
		{.image = bytes_str("i")},
		{.snapshot = bytes_str("snap-x")},
		{.volumes = &volume, .volumes_count = 1},
		{.caller = &item, .caller_count = 1},
		{.env = &item, .env_count = 1},
		{.entrypoint = &item, .entrypoint_count = 1},
		{.memory_bytes = 1},
		{.processes = 1},
		{.cpu_milli = 500},
		{.is_isolated = true},
		{.mode = REQUEST_MODE_READ},
		{.is_offline = true},
	};
	struct rig *rig = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (pool_take(&rig->daemon, (struct rpc_ticket){0}, -1,
			      &rows[i], &rig->who))
			fail_msg("row %zu", i);
	assert_true(rig->entry->is_pooled);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_rig, free_rig)
	const struct CMUnitTest tests[] = {
		TEST(one_that_was_built_ahead_is_given_out_once),
		TEST(one_whose_supervisor_refuses_is_nobodys),
		TEST(whose_policy_is_bounded_gets_none),
		TEST(after_another_default_policy_it_is_not_given_out),
		TEST(after_another_configuration_all_that_nobody_has_end),
		TEST(what_is_asked_for_beside_the_pool_is_not_from_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
