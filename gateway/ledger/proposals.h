/*
 * Proposals on disk: one table beside the ledger's rows, in the same
 * database, written through the same connection. What a session is waiting
 * for and what it was granted survives a restart of any process.
 *
 * A proposal is pending until somebody decides; approved and denied hold
 * until their time (column `until`), which is never later than the end of
 * the session. What ran out is marked when the table is next looked at, and
 * forgotten PROPOSALS_KEPT_MS after its session's end.
 */
#ifndef GATEWAY_LEDGER_PROPOSALS_H
#define GATEWAY_LEDGER_PROPOSALS_H

#include "gateway/flow/proposal.h"
#include "gateway/ledger/store.h"

#define PROPOSALS_PENDING_MAX 32 /* of one session */
#define PROPOSALS_KEPT_MS     ((uint64_t)24 * 3600 * 1000)
/* No session lives longer, whatever an edge says. */
#define PROPOSALS_LIFE_MAX_MS ((uint64_t)7 * 24 * 3600 * 1000)
/* Of the texts of one list, so that it fits a message. */
#define PROPOSALS_LIST_BYTES_MAX (40 * 1024)

/* Make the table where it is not there yet. Before confinement. 0, or -1. */
int proposals_open(struct store *store, struct err *err);

/* How a question is asked. */
struct proposal_ask {
	const struct proposal *question; /* untrusted, with its session */
	bool take;	 /* about to do it: approved once becomes used */
	uint64_t now_ms; /* wall clock */
};

/* What stands about this question of this session: pending, approved or
 * denied; a new pending proposal (*is_new) when nothing does. Approved once
 * is given to one taker alone. Texts of *found live in arena. 0, or -1
 * (ERR_TOO_LARGE: too many of the session are pending). */
int proposals_ask(struct store *store, const struct proposal_ask *ask,
		  struct arena *arena, struct proposal *found, bool *is_new,
		  struct err *err);

/* The proposal of that id. 1, 0 when there is none, or -1. */
int proposals_get(struct store *store, struct bytes id, uint64_t now_ms,
		  struct arena *arena, struct proposal *found, struct err *err);

/* The proposals that a query asks for. 0, or -1. */
int proposals_list(struct store *store, const struct msg_proposal_query *query,
		   uint64_t now_ms, struct arena *arena,
		   struct msg_proposal_list *list, struct err *err);

/* Decide a pending proposal. 1: done; 0: it is not pending (any more); -1:
 * failed. */
int proposals_decide(struct store *store,
		     const struct msg_proposal_decide *decide, uint64_t now_ms,
		     struct err *err);

/* The session is over: nothing of it is open any more. 0, or -1. */
int proposals_end_session(struct store *store, struct bytes session,
			  struct err *err);

#endif
