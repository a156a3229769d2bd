/*
 * A test's rig, and a warden that answers control's questions from what the
 * test put into it.
 */
#ifndef TESTS_CONTROL_FAKES_H
#define TESTS_CONTROL_FAKES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "gateway/control/attach.h"
#include "gateway/control/ca.h"
#include "gateway/control/conn.h"
#include "gateway/control/events.h"
#include "gateway/keeper/records.h"

#define RIG_ID	     "s-aaaaaaaaaaaaaaaaaaaaaaaaaa"
#define RIG_PROPOSAL "p-bbbbbbbbbbbbbbbbbbbbbbbbbb"

struct rig {
	struct io_loop *loop;
	struct keeper keeper;
	struct control control;
	struct rpc *fakes[4];
	size_t fake_count;
	struct keeper_peer peers[3];
	int client; /* the test's side of the connection */
	struct buf got;
	/* What the fakes answer. */
	uint32_t owner_uid; /* of the session RIG_ID */
	bool has_no_session;
	uint64_t created_ms;  /* it was */
	uint16_t refuse_with; /* the next request, with this constraint */
	uint16_t refuse_renewal;
	bool signs;		/* RIG_ID */
	const char *signer_key; /* NULL: the vault has none for it */
	uint16_t refuse_signer;
	bool closes_before_renewal;
	bool holds_renewal; /* held has it */
	uint64_t rows;	    /* how many the ledger has */
	uint32_t processes; /* how many the warden has */
	uint64_t verify_steps;
	const char *failing; /* what verification says of the store */
	/* What they were asked. */
	char reason[32]; /* of the last revocation */
	unsigned revocations, attaches, creations, queries, renewals;
	uint64_t renewed_to_ms;
	char records[1024]; /* those of people: "allowed METHOD, " */
	char secret[64];
	struct msg_proposal_decide decided; /* the last; without its id */
	unsigned decisions;
	uint8_t proposal_state;	 /* of the one there is, RIG_PROPOSAL */
	struct package *package; /* of the last creation */
	bool is_silent;		 /* about who signs: held has the question */
	struct rpc_ticket held;
};

static inline bool rig_refuses(struct rig *rig, struct rpc_ticket ticket)
{
	if (!rig->refuse_with)
		return false;
	rpc_refuse(ticket, rig->refuse_with, "refused by the rig");
	rig->refuse_with = 0;
	return true;
}

static inline void rig_reply_empty(struct rpc_ticket ticket)
{
	const struct wire_empty empty = {0};

	rpc_reply(ticket, &wire_empty_schema, &empty, -1);
}

/* ---- the warden ---- */

static inline void rig_on_list(struct rpc_ticket ticket, const void *message,
			       int *fd, void *owner)
{
	const struct msg_session_query *query = message;
	struct rig *rig = owner;
	const struct msg_session session = {
		.id = bytes_str(RIG_ID),
		.repo = bytes_str("https://forge.example/o/r"),
		.owner_uid = rig->owner_uid,
		.created_ms = rig->created_ms,
		.expires_ms = rig->created_ms + 3600000,
		.signs = rig->signs,
	};
	bool matches = !rig->has_no_session &&
		       (!query->id.len || bytes_is(query->id, RIG_ID)) &&
		       (!query->of_owner || query->owner_uid == rig->owner_uid);
	const struct msg_session_list list = {&session, matches, matches, 0};

	(void)fd;
	if (!rig_refuses(rig, ticket))
		rpc_reply(ticket, &msg_session_list_schema, &list, -1);
}

static inline void rig_on_revoke(struct rpc_ticket ticket, const void *message,
				 int *fd, void *owner)
{
	const struct msg_session_ref *ref = message;
	struct rig *rig = owner;

	(void)fd;
	rig->revocations++;
	(void)snprintf(rig->reason, sizeof(rig->reason), "%.*s",
		       BYTES_ARGS(ref->reason));
	if (!rig_refuses(rig, ticket))
		rig_reply_empty(ticket);
}

static inline void rig_on_renew(struct rpc_ticket ticket, const void *message,
				int *fd, void *owner)
{
	const struct msg_session_renew *renew = message;
	struct rig *rig = owner;

	(void)fd;
	rig->renewals++;
	rig->renewed_to_ms = renew->expires_ms;
	if (rig->closes_before_renewal)
		http_server_close(&rig->control.server);
	rig->held = ticket;
	if (rig->holds_renewal)
		rpc_ticket_hold(ticket);
	else if (rig->refuse_renewal)
		rpc_refuse(ticket, rig->refuse_renewal, "refused by the rig");
	else
		rig_reply_empty(ticket);
}

static inline void rig_on_create(struct rpc_ticket ticket, const void *message,
				 int *fd, void *owner)
{
	struct rig *rig = owner;
	struct err err;

	(void)message;
	rig->creations++;
	package_free(rig->package);
	rig->package = package_open(*fd, &err);
	assert_non_null(rig->package);
	if (!rig_refuses(rig, ticket))
		rig_reply_empty(ticket);
}

static inline void rig_on_attach(struct rpc_ticket ticket, const void *message,
				 int *fd, void *owner)
{
	struct rig *rig = owner;

	(void)message;
	(void)fd;
	rig->attaches++;
	if (!rig_refuses(rig, ticket))
		rig_reply_empty(ticket);
}

static inline void rig_on_processes(struct rpc_ticket ticket,
				    const void *message, int *fd, void *owner)
{
	static struct msg_process rows[PROCESSES_TOLD_MAX];
	struct rig *rig = owner;
	uint32_t pid = ((const struct msg_process_query *)message)->skip;
	struct msg_process_list list = {.processes = rows};

	(void)fd;
	for (;
	     list.processes_count < PROCESSES_TOLD_MAX && pid < rig->processes;
	     pid++)
		rows[list.processes_count++] =
			(struct msg_process){.role = ROLE_EDGE, .pid = pid};
	rpc_reply(ticket, &msg_process_list_schema, &list, -1);
}

#endif
