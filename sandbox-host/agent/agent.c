#include "sandbox-host/agent/agent.h"

#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/agent/parts.h"

static const struct rpc_permit permits[] = {
	{MSG_FILE_SHOW, &file_ref_schema, answer_show, false, 0},
	{MSG_FILE_WALK, &file_walk_schema, answer_walk, false, 0},
	{MSG_FILE_WALK_ON, &wire_empty_schema, answer_walk_on, false, 0},
	{MSG_FILE_OPEN, &file_ref_schema, answer_open, false, 0},
	{MSG_FILE_READ, &file_span_schema, answer_read, false, 0},
	{MSG_FILE_CREATE, &file_access_schema, answer_create, false, 0},
	{MSG_FILE_WRITE, &file_piece_schema, answer_write, false, 0},
	{MSG_FILE_COMMIT, &wire_empty_schema, answer_commit, false, 0},
	{MSG_FILE_REMOVE, &file_remove_schema, answer_remove, false, 0},
	{MSG_FILE_MOVE, &file_pair_schema, answer_move, false, 0},
	{MSG_FILE_MKDIR, &file_access_schema, answer_mkdir, false, 0},
	{MSG_FILE_LINK, &file_pair_schema, answer_link, false, 0},
	{MSG_FILE_SET_ACCESS, &file_access_schema, answer_set_access, false, 0},
	{MSG_FILE_REPLACE, &wire_empty_schema, answer_replace, true, 0},
};

void agent_reply_empty(struct rpc_ticket ticket)
{
	const struct wire_empty empty = {0};

	rpc_reply(ticket, &wire_empty_schema, &empty, -1);
}

static void on_closed(struct rpc *rpc, const char *why, void *owner)
{
	struct agent *agent = owner;

	(void)rpc;
	(void)why;
	io_loop_stop(agent->loop);
}

void agent_run(int channel, const struct plan *plan)
{
	struct agent agent = {.plan = plan, .reading = -1, .writing.fd = -1};
	const struct rpc_config config = {
		.permits = permits,
		.permit_count = ARRAY_SIZE(permits),
		.owner = &agent,
		.on_closed = on_closed,
	};
	struct err err;

	(void)umask(022);
	agent.loop = io_loop_new(&err);
	if (agent.loop && guard_open(&agent.guard, plan, &err) == 0 &&
	    rpc_new(agent.loop, channel, &config, &err))
		(void)io_loop_run(agent.loop, &err);
	writing_drop(&agent.writing);
	walker_free(agent.walker);
	if (agent.reading >= 0)
		(void)close(agent.reading);
	guard_close(&agent.guard);
	io_loop_free(agent.loop);
}
