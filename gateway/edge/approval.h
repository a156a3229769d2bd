/*
 * A request, or a tunnel, that the policy leaves to a person: asked at the
 * ledger, held for as long as the rule says, then let go as if it were
 * allowed, or refused with the id of the proposal.
 *
 *	ask --pending--> held --decided--> ask again --approved--> NEXT
 *	 |                 |                 `--denied--> approval_denied
 *	 |                 `--time over, client gone--> approval_pending
 *	 `--a grant answers it--> NEXT
 *
 * While it is held no byte of its body is asked for or passed on.
 */
#ifndef GATEWAY_EDGE_APPROVAL_H
#define GATEWAY_EDGE_APPROVAL_H

#include "gateway/edge/conn.h"

#define APPROVALS_HELD_MAX 64 /* of one session; more are not held */
/* A backstop: the rule's own time ends before. */
#define DEADLINE_APPROVAL_MS (POLICY_HOLD_MAX_MS + DEADLINE_ASK_MS)

struct approval {
	struct conn *conn;
	char id[PROPOSAL_ID_MAX + 1]; /* "": not known yet */
	uint8_t state;		      /* enum proposal_state */
	bool is_answered;	      /* the ledger said something */
	bool is_held;
	bool is_over;	/* it may be held no longer */
	bool was_woken; /* somebody decided while we asked */
	struct io_timer *timer;
	struct approval *next, *prev; /* in edge->held */
};

/* AT_APPROVE: a verdict that asks becomes one that allows, or a refusal;
 * every other passes. */
enum step approval_step(struct conn *conn, enum lane_event event);
/* AT_TUNNEL_APPROVE: the same for the target's verdict. */
enum step approval_tunnel_step(struct conn *conn, enum lane_event event);
/* Forget it, with its place. */
void approval_release(struct conn *conn);

/* The question behind a verdict; borrows from both. */
struct proposal approval_question(const struct conn *conn,
				  const struct verdict *verdict);

/* Wait for a decision on that proposal: EV_WAKE comes with it, or after ms.
 * False when there is no place to wait in. */
bool approval_wait(struct conn *conn, struct bytes id, unsigned ms);
/* Is the time of approval_wait() over? */
bool approval_is_over(const struct conn *conn);
/* Did somebody decide while the connection asked something else? Once. */
bool approval_was_woken(struct conn *conn);

/* Who waits for this proposal asks again; id empty: everybody. */
void approvals_wake(struct edge *edge, struct bytes id);

#endif
