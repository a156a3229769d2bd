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
#include "sandbox-host/daemon/pool.h"

/* A daemon with one sandbox that was built ahead. */
struct rig {
	struct daemon daemon;
	struct host_pool_config pool;
	struct entry *entry;
	struct rpc *peer; /* stands for its supervisor's channel */
	char path[64];
};

static void on_sweep(void *owner)
{
	(void)owner;
}

static int make_rig(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	const struct host_sandbox sandbox = {.id = bytes_str("sb-x"),
					     .state = HOST_RUNNING};
	static const struct rpc_config config = {0};
	struct daemon *daemon = &rig->daemon;
	struct err err;
	int ends[2], dir;

	(void)snprintf(rig->path, sizeof(rig->path), "/tmp/pool-XXXXXX");
	assert_non_null(mkdtemp(rig->path));
	daemon->sandboxes_dir = open(rig->path, O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(daemon->sandboxes_dir, "sb-x", 0700), 0);
	dir = openat(daemon->sandboxes_dir, "sb-x", O_DIRECTORY | O_CLOEXEC);
	daemon->loop = io_loop_new(&err);
	daemon->sweep_timer = io_timer_new(daemon->loop, on_sweep, NULL);
	rig->pool = (struct host_pool_config){.name = "plain", .size = 1};
	daemon->config.store.pools = &rig->pool;
	daemon->config.store.pool_count = 1;
	rig->entry = entry_new(daemon, "sb-x", dir);
	assert_int_equal(entry_store(rig->entry, &sandbox, &err), 0);
	entry_insert(rig->entry);
	assert_int_equal(io_message_pair(ends, &err), 0);
	rig->entry->rpc = rpc_new(daemon->loop, ends[0], &config, &err);
	rig->peer = rpc_new(daemon->loop, ends[1], &config, &err);
	assert_true(rig->entry->rpc && rig->peer);
	rig->entry->is_pooled = true;
	*state = rig;
	return 0;
}

static int free_rig(void **state)
{
	struct rig *rig = *state;
	struct err err;

	rpc_close(rig->peer);
	entry_forget(rig->entry);
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
	const struct sandbox_request request = {.name = bytes_str("mine")};

	assert_ptr_equal(pool_take(&rig->daemon, &request, 7), rig->entry);
	assert_false(rig->entry->is_pooled);
	assert_int_equal(rig->entry->sandbox.owner_uid, 7);
	assert_true(bytes_is(rig->entry->sandbox.name, "mine"));
	assert_null(pool_take(&rig->daemon, &request, 7));
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
		if (pool_take(&rig->daemon, &rows[i], 7))
			fail_msg("row %zu", i);
	assert_true(rig->entry->is_pooled);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_rig, free_rig)
	const struct CMUnitTest tests[] = {
		TEST(one_that_was_built_ahead_is_given_out_once),
		TEST(what_is_asked_for_beside_the_pool_is_not_from_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
