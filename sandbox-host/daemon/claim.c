#include "sandbox-host/daemon/claim.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "sandbox-host/daemon/pool.h"
#include "sandbox-host/daemon/ready.h"

/* Somebody who gets one of them. */
struct claim {
	struct daemon *daemon;
	char id[HOST_ID_MAX + 1];
	struct rpc_ticket ticket;
	int request;
	struct spawn_for asker;
	uint64_t asked_ms; /* wall clock */
};

/* ---- nobody gets it ---- */

void claim_end(struct entry *entry)
{
	const struct supervisor_end message = {.reason = bytes_str("killed")};

	if (state_is_over((enum host_state)entry->sandbox.state))
		return;
	if (entry_bound(entry, END_TIMEOUT_MS) < 0 || !entry->rpc ||
	    rpc_tell(entry->rpc, MSG_SUPERVISOR_END, &supervisor_end_schema,
		     &message, -1, NULL) < 0)
		keep_kill(entry);
}

/* ---- giving one out ---- */

static void free_claim(struct claim *claim)
{
	(void)close(claim->request);
	free(claim);
}

/* What is ready can not be had: make one. */
static void make_another(struct claim *claim)
{
	auto_type(request_release) struct request_memory memory = {0};
	struct daemon *daemon = claim->daemon;
	struct sandbox_request request;
	struct entry *entry = NULL;
	struct err err;

	if (daemon->is_draining) {
		rpc_refuse(claim->ticket, HOST_REFUSED_UNREACHABLE,
			   "the daemon is about to end");
		free_claim(claim);
		return;
	}
	if (sandbox_request_open(claim->request, &memory, &request, &err) == 0)
		entry = spawn(daemon, claim->request, &request, &claim->asker,
			      &err);
	if (!entry)
		rpc_refuse(claim->ticket, HOST_REFUSED, "%s", err.text);
	else if (entry_wait(entry, claim->ticket, false) < 0)
		rpc_refuse(claim->ticket, HOST_REFUSED_FULL, "no memory");
	if (entry)
		ready_want(entry, &request, &claim->asker);
	ready_refill(daemon);
	free_claim(claim);
}

/* It is theirs: with what its request says of it alone. */
static int give(struct entry *entry, const struct claim *claim, struct err *err)
{
	auto_type(request_release) struct request_memory memory = {0};
	struct host_sandbox given = entry->sandbox;
	struct text_item shown[SHOWN_ARGS_MAX];
	struct sandbox_request request;

	if (sandbox_request_open(claim->request, &memory, &request, err) < 0)
		return -1;
	given.name = request.name;
	given.note = request.note;
	given.metadata = request.metadata;
	given.metadata_count = request.metadata_count;
	given.entrypoint = shown;
	given.entrypoint_count = spawn_shown(&request, shown);
	given.owner_uid = claim->asker.uid;
	given.created_ms = claim->asked_ms;
	entry->is_pooled = false;
	if (entry_store(entry, &given, err) == 0)
		return 0;
	entry->is_pooled = true;
	return -1;
}

static void on_taken(struct rpc_outcome *outcome, void *owner)
{
	struct claim *claim = owner;
	struct entry *entry = entry_find(claim->daemon, bytes_str(claim->id));
	struct err err;

	if (entry)
		entry->is_claimed = false;
	if (!entry || outcome->err || give(entry, claim, &err) < 0) {
		if (outcome->err)
			log_info("%s was ready, and is not given out: %s",
				 claim->id, outcome->err->text);
		if (entry)
			claim_end(entry);
		make_another(claim);
		return;
	}
	/* It is that asker's by now, and nobody else's. */
	if (!rpc_ticket_is_heard(claim->ticket))
		claim_end(entry);
	rpc_reply(claim->ticket, &host_sandbox_schema, &entry->sandbox, -1);
	free_claim(claim);
}

/* It runs: let its supervisor make it theirs. */
static void hand_out(struct entry *entry, struct claim *claim)
{
	const struct wire_empty empty = {0};
	const struct rpc_call call = {
		.type = MSG_SUPERVISOR_TAKE,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = claim->request,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = SUPERVISOR_TIMEOUT_MS,
		.on_outcome = on_taken,
		.owner = claim,
	};
	struct err err;

	if (entry->rpc && rpc_ask(entry->rpc, &call, NULL, &err) == 0)
		return;
	entry->is_claimed = false;
	claim_end(entry);
	make_another(claim);
}

static struct claim *claim_new(struct entry *entry, struct rpc_ticket ticket,
			       int request_fd, const struct spawn_for *asker)
{
	struct claim *claim = calloc(1, sizeof(*claim));
	int request = fcntl(request_fd, F_DUPFD_CLOEXEC, 0);

	if (!claim || request < 0) {
		free(claim);
		if (request >= 0)
			(void)close(request);
		return NULL;
	}
	*claim = (struct claim){
		.daemon = entry->daemon,
		.ticket = ticket,
		.request = request,
		.asker = *asker,
		.asked_ms = clock_wall_ms(),
	};
	memcpy(claim->id, entry->id, sizeof(claim->id));
	return claim;
}

bool claim_begin(struct entry *entry, struct rpc_ticket ticket, int request_fd,
		 const struct spawn_for *asker)
{
	enum host_state state = (enum host_state)entry->sandbox.state;
	struct claim *claim =
		state == HOST_RUNNING || state == HOST_PENDING
			? claim_new(entry, ticket, request_fd, asker)
			: NULL;

	if (!claim) {
		claim_end(entry);
		return false;
	}
	entry->is_claimed = true;
	if (state == HOST_RUNNING)
		hand_out(entry, claim);
	else
		entry->claim = claim;
	return true;
}

void claim_follow(struct entry *entry)
{
	enum host_state state = (enum host_state)entry->sandbox.state;
	struct claim *claim = entry->claim;

	if (!claim || (!state_is_over(state) && state != HOST_RUNNING))
		return;
	entry->claim = NULL;
	if (state == HOST_RUNNING) {
		hand_out(entry, claim);
		return;
	}
	entry->is_claimed = false;
	make_another(claim);
}

void claim_close_all(struct daemon *daemon)
{
	for (struct entry *entry = daemon->entries; entry;
	     entry = entry->next) {
		struct claim *claim = entry->claim;

		entry->claim = NULL;
		if (!claim)
			continue;
		rpc_refuse(claim->ticket, HOST_REFUSED_UNREACHABLE,
			   "the daemon is about to end");
		free_claim(claim);
	}
}
