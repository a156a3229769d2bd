/*
 * A sandbox beside this one: with its policy as it holds now, its image,
 * bounds and variables, in its workspace. We say what it is made of; the
 * daemon makes it.
 */
#include <stdio.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/supervisor/again.h"
#include "sandbox-host/supervisor/parts.h"

#define CONTROL_WAIT_MS 1000
#define PATH_BYTES	160
#define SEAL_ARENA_MAX	(256 * 1024)

static const enum policy_workspace_mode modes[REQUEST_MODE_MAX] = {
	[REQUEST_MODE_WRITE] = WORKSPACE_WRITE,
	[REQUEST_MODE_OVERLAY] = WORKSPACE_OVERLAY,
	[REQUEST_MODE_READ] = WORKSPACE_READ,
};

int isolate_set_mode(struct policy *policy,
		     const struct sandbox_request *request, struct err *err)
{
	enum policy_workspace_mode given = policy->filesystem.workspace_mode;

	if (request->mode == REQUEST_MODE_POLICY)
		return 0;
	/* Its changes are not in the directory that would be below ours. */
	if (given == WORKSPACE_OVERLAY)
		return err_set(err, ERR_UNSUPPORTED,
			       "the workspace of the sandbox is an overlay "
			       "itself");
	if (given == WORKSPACE_READ && request->mode != REQUEST_MODE_READ)
		return err_set(err, ERR_DENIED,
			       "the policy lets the workspace be read alone: "
			       "mode must be ro");
	policy->filesystem.workspace_mode = modes[request->mode];
	return 0;
}

int isolate_read_policy(const struct supervisor *supervisor,
			struct reply *reply, struct err *err)
{
	char path[PATH_BYTES];
	const struct client_request request = {.method = "GET", .path = path};
	struct client client;
	int result;

	(void)snprintf(path, sizeof(path), "/v1/sessions/%s/policy",
		       json_text(supervisor->session.json, "id"));
	if (client_open_within(&client, CONTROL_WAIT_MS, err) < 0)
		return -1;
	result = client_call(&client, &request, reply, err);
	client_close(&client);
	if (result == 0 && reply->status != 200)
		result = err_set(err, ERR_CLOSED,
				 "the gateway does not tell the policy");
	return result;
}

static int seal(const struct supervisor *supervisor,
		const struct host_isolate *asked, struct bytes policy,
		struct arena *arena, struct err *err)
{
	const struct text_pair said[] = {
		{bytes_str(ISOLATED_OF_KEY), bytes_str(supervisor->options.id)},
		{bytes_str(ISOLATED_OFFLINE_KEY), bytes_str("true")},
	};
	struct sandbox_request request = supervisor->request;

	if (isolate_narrow(supervisor, asked, arena, &request, err) < 0)
		return -1;
	request.name = (struct bytes){0};
	request.policy = policy;
	request.workspace = bytes_str(supervisor->workspace);
	request.image = asked->image;
	request.snapshot = (struct bytes){0};
	request.entrypoint_count = 0;
	/* The daemon ends it with us, if not before. */
	request.expires_ms = asked->expires_ms;
	request.metadata = said;
	request.metadata_count = asked->is_offline ? 2 : 1;
	request.note = asked->note;
	request.is_isolated = true;
	request.mode = asked->mode;
	request.is_offline = asked->is_offline;
	return sandbox_request_seal(&request, err);
}

static bool check(struct supervisor *supervisor,
		  const struct host_isolate *asked, struct rpc_ticket ticket)
{
	const struct sandbox_request wanted = {.mode = asked->mode};
	/* To be asked, not to be changed. */
	struct policy policy = *supervisor->policy;
	const struct user_wish user = {asked->has_uid, asked->has_gid,
				       asked->uid, asked->gid};
	struct err err;

	if (supervisor->request.is_isolated)
		rpc_refuse(ticket, HOST_REFUSED_UNSUPPORTED,
			   "an isolated session has none of its own");
	else if (!bytes_is(asked->workspace, supervisor->workspace))
		rpc_refuse(ticket, HOST_REFUSED_INVALID,
			   "workspace.path must be that of the sandbox: %.300s",
			   supervisor->workspace);
	else if (isolate_set_mode(&policy, &wanted, &err) < 0)
		rpc_refuse(ticket,
			   err.code == ERR_DENIED ? HOST_REFUSED_FORBIDDEN
						  : HOST_REFUSED_UNSUPPORTED,
			   "%s", err.text);
	else if (user_check(supervisor, &user, &err) < 0)
		rpc_refuse(ticket, HOST_REFUSED_UNSUPPORTED, "%s", err.text);
	else
		return isolate_check_binds(supervisor, asked, ticket);
	return false;
}

void isolate_answer(struct rpc_ticket ticket, const void *message, int *fd,
		    void *owner)
{
	const struct host_isolate *asked = message;
	struct supervisor *supervisor = owner;
	const struct wire_empty empty = {0};
	auto_type(reply_release) struct reply reply;
	auto_type(arena_release) struct arena arena;
	auto_fd int sealed = -1;
	struct err err;

	(void)fd;
	arena_init(&arena, SEAL_ARENA_MAX);
	reply = (struct reply){0};
	if (!check(supervisor, asked, ticket))
		return;
	if (isolate_read_policy(supervisor, &reply, &err) < 0) {
		rpc_refuse(ticket, HOST_REFUSED_UNREACHABLE, "%s", err.text);
		return;
	}
	sealed = seal(supervisor, asked,
		      bytes_str(json_text(reply.json, "policy")), &arena, &err);
	if (sealed < 0)
		rpc_refuse(ticket, HOST_REFUSED, "%s", err.text);
	else
		rpc_reply(ticket, &wire_empty_schema, &empty, sealed);
}
