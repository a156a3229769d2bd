/*
 * The fake minter and ledger, and the table of all that fakes answer.
 */
#ifndef TESTS_CONTROL_FAKES_KEEPERS_H
#define TESTS_CONTROL_FAKES_KEEPERS_H

#include "tests/unit/gateway/control/fakes_policy.h"
#include "tests/unit/gateway/control/fakes_vault.h"

static inline void rig_on_ca(struct rpc_ticket ticket, const void *message,
			     int *fd, void *owner)
{
	const struct msg_ca ca = {bytes_str("-----CA-----\n"),
				  bytes_str("p12")};

	(void)message;
	(void)fd;
	(void)owner;
	rpc_reply(ticket, &msg_ca_schema, &ca, -1);
}

/* ---- the ledger's ear ---- */

static inline void rig_on_records(struct rpc_ticket ticket, const void *message,
				  int *fd, void *owner)
{
	const struct msg_records *records = message;
	struct rig *rig = owner;

	(void)ticket;
	(void)fd;
	for (size_t i = 0; i < records->records_count; i++) {
		const struct record *record = &records->records[i];
		size_t used = strlen(rig->records);

		if (record->kind == RECORD_ADMIN)
			(void)snprintf(rig->records + used,
				       sizeof(rig->records) - used, "%s %.*s, ",
				       record->allowed ? "allowed" : "denied",
				       BYTES_ARGS(record->method));
	}
}

/* Rows 1 to rig->rows; every second one is a denial. */
static inline void rig_on_query(struct rpc_ticket ticket, const void *message,
				int *fd, void *owner)
{
	const struct msg_ledger_query *query = message;
	struct rig *rig = owner;
	static char texts[64][160];
	struct ledger_row rows[64];
	struct msg_ledger_rows answer = {.rows = rows};
	uint64_t at =
		query->newest ? rig->rows - (rig->rows > 0) : query->after;

	(void)fd;
	rig->queries++;
	if (rig_refuses(rig, ticket))
		return;
	while (at < rig->rows && answer.rows_count < query->limit) {
		char *text = texts[answer.rows_count];

		at++;
		(void)snprintf(text, sizeof(texts[0]),
			       "{\"sequence\":%u,\"allowed\":%s,"
			       "\"session\":\"" RIG_ID "\"}",
			       (unsigned)at, at % 2 ? "true" : "false");
		rows[answer.rows_count++] =
			(struct ledger_row){at, bytes_str(text)};
	}
	answer.more = at < rig->rows;
	rpc_reply(ticket, &msg_ledger_rows_schema, &answer, -1);
}

static inline void rig_on_follow(struct rpc_ticket ticket, const void *message,
				 int *fd, void *owner)
{
	(void)message;
	(void)fd;
	(void)owner;
	rig_reply_empty(ticket);
}

static inline void rig_on_verify(struct rpc_ticket ticket, const void *message,
				 int *fd, void *owner)
{
	const struct msg_ledger_verify *verify = message;
	struct rig *rig = owner;
	const struct msg_ledger_verified verified = {
		.is_intact = true,
		.is_done = rig->verify_steps == 0,
		.first = 11,
		.checked_to = verify->after + 10,
		.failing = bytes_str(rig->failing),
	};

	(void)fd;
	rig->verify_steps -= rig->verify_steps > 0;
	rpc_reply(ticket, &msg_ledger_verified_schema, &verified, -1);
}

static inline struct proposal rig_proposal(const struct rig *rig)
{
	return (struct proposal){
		.id = bytes_str(RIG_PROPOSAL),
		.session = bytes_str(RIG_ID),
		.rule = bytes_str("release"),
		.method = bytes_str("POST"),
		.scheme = 1,
		.host = bytes_str("a.example"),
		.port = 443,
		.path = bytes_str("/x"),
		.created_ms = 1763751600000,
		.state = rig->proposal_state,
	};
}

static inline void rig_on_proposal(struct rpc_ticket ticket,
				   const void *message, int *fd, void *owner)
{
	const struct msg_proposal_ref *ref = message;
	struct rig *rig = owner;
	const struct proposal proposal = rig_proposal(rig);
	const struct msg_proposal_found found = {
		.proposals = &proposal,
		.proposals_count = bytes_is(ref->id, RIG_PROPOSAL),
	};

	(void)fd;
	rpc_reply(ticket, &msg_proposal_found_schema, &found, -1);
}

/* Two parts of one each. */
static inline void rig_on_proposals(struct rpc_ticket ticket,
				    const void *message, int *fd, void *owner)
{
	const struct msg_proposal_query *query = message;
	struct rig *rig = owner;
	const struct proposal proposal = rig_proposal(rig);
	bool matches = query->state == PROPOSAL_STATE_MAX ||
		       query->state == proposal.state;
	const struct msg_proposal_list list = {
		.proposals = &proposal,
		.proposals_count = matches,
		.last = query->after + 1,
		.more = query->after == 0,
	};

	(void)fd;
	rpc_reply(ticket, &msg_proposal_list_schema, &list, -1);
}

static inline void rig_on_decide(struct rpc_ticket ticket, const void *message,
				 int *fd, void *owner)
{
	const struct msg_proposal_decide *decide = message;
	struct rig *rig = owner;
	struct proposal proposal;
	struct msg_proposal_found found = {.proposals = &proposal,
					   .proposals_count = 1};

	(void)fd;
	rig->decisions++;
	rig->decided = *decide;
	rig->decided.id = bytes_from(NULL, 0);
	found.has_changed = rig->proposal_state == PROPOSAL_PENDING;
	if (found.has_changed)
		rig->proposal_state =
			decide->approve ? PROPOSAL_APPROVED : PROPOSAL_DENIED;
	proposal = rig_proposal(rig);
	rpc_reply(ticket, &msg_proposal_found_schema, &found, -1);
}

static const struct rpc_permit rig_permits[] = {
	{MSG_PROCESS_LIST, &msg_process_query_schema, rig_on_processes, false,
	 0},
	{MSG_SESSION_LIST, &msg_session_query_schema, rig_on_list, false, 0},
	{MSG_SESSION_REVOKE, &msg_session_ref_schema, rig_on_revoke, false, 0},
	{MSG_SESSION_CREATE, &wire_empty_schema, rig_on_create, true, 0},
	{MSG_SESSION_ATTACH, &msg_attach_schema, rig_on_attach, true, 0},
	{MSG_SESSION_PACKAGE, &msg_session_ref_schema, rig_on_package, false,
	 0},
	{MSG_SESSION_CHANGE, &msg_session_change_schema, rig_on_change, true,
	 0},
	{MSG_SESSION_RENEW, &msg_session_renew_schema, rig_on_renew, false, 0},
	{MSG_SECRET_PUT, &msg_secret_schema, rig_on_put, false, 0},
	{MSG_SIGNER_GET, &msg_session_ref_schema, rig_on_signer, false, 0},
	{MSG_CA_GET, &wire_empty_schema, rig_on_ca, false, 0},
	{MSG_LEDGER_QUERY, &msg_ledger_query_schema, rig_on_query, false, 0},
	{MSG_LEDGER_FOLLOW, &msg_ledger_query_schema, rig_on_follow, false, 0},
	{MSG_LEDGER_VERIFY, &msg_ledger_verify_schema, rig_on_verify, false, 0},
	{MSG_RECORDS, &msg_records_schema, rig_on_records, false, 0},
	{MSG_PROPOSAL_GET, &msg_proposal_ref_schema, rig_on_proposal, false, 0},
	{MSG_PROPOSAL_LIST, &msg_proposal_query_schema, rig_on_proposals, false,
	 0},
	{MSG_PROPOSAL_DECIDE, &msg_proposal_decide_schema, rig_on_decide, false,
	 0},
};

#endif
