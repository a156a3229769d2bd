/*
 * What edges and control ask about proposals, and who is told: every new
 * proposal and every decision becomes a row of the record, and the edge of
 * the session hears of a decision at once. An edge asks and reads for its own
 * session alone, and never about a command; only control decides.
 */
#ifndef GATEWAY_LEDGER_APPROVALS_H
#define GATEWAY_LEDGER_APPROVALS_H

#include "gateway/keeper/keeper.h"
#include "gateway/ledger/batch.h"
#include "gateway/ledger/proposals.h"

struct approvals {
	struct keeper *keeper;
	struct store *store;
	struct batch *batch;
};

/* Answers of an edge's channel: MSG_PROPOSAL_TAKE, _ASK, _SHOW. */
void approvals_take(struct approvals *approvals, const struct keeper_peer *peer,
		    struct rpc_ticket ticket, const struct proposal *question);
void approvals_ask(struct approvals *approvals, const struct keeper_peer *peer,
		   struct rpc_ticket ticket, const struct proposal *question);
void approvals_show(struct approvals *approvals, const struct keeper_peer *peer,
		    struct rpc_ticket ticket,
		    const struct msg_proposal_ref *ref);
/* Answers of control's: MSG_PROPOSAL_TAKE (of commands alone, for the session
 * that the question names), _GET, _LIST, _DECIDE. */
void approvals_take_command(struct approvals *approvals,
			    struct rpc_ticket ticket,
			    const struct proposal *question);
void approvals_get(struct approvals *approvals, struct rpc_ticket ticket,
		   const struct msg_proposal_ref *ref);
void approvals_list(struct approvals *approvals, struct rpc_ticket ticket,
		    const struct msg_proposal_query *query);
void approvals_decide(struct approvals *approvals, struct rpc_ticket ticket,
		      const struct msg_proposal_decide *decide);

/* Records of the warden came: sessions that have ended keep no grant. */
void approvals_note_ends(struct approvals *approvals,
			 const struct msg_records *records);

#endif
