/*
 * http://sallyport.internal/: what a sandbox may ask of its own edge. No
 * upstream stands behind it, nothing secret is in it, and it decides
 * nothing but what is signed.
 *
 *	GET  /policy                   the policy in words
 *	GET  /denials                  the last refusals, JSON lines
 *	POST /proposals                ask a person before trying
 *	GET  /proposals/{id}?wait=30   what became of it
 *	POST /sign                     sign this commit or tag
 */
#ifndef GATEWAY_EDGE_INTERNAL_H
#define GATEWAY_EDGE_INTERNAL_H

#include "gateway/edge/conn.h"

#define INTERNAL_HOST	    "sallyport.internal"
#define INTERNAL_BODY_MAX   (16 * 1024)
#define INTERNAL_ANSWER_MAX (1024 * 1024)
#define INTERNAL_WAIT_MAX_S 60
#define DEADLINE_INTERNAL_MS                                                   \
	(INTERNAL_WAIT_MAX_S * 1000 + DEADLINE_ASK_MS + DEADLINE_HEAD_MS)

struct internal {
	struct buf body;
	uint64_t reserved; /* for it, in edge->held_bytes */
	/* The body is whole. */
	enum step (*take_body)(struct conn *conn);
	char id[PROPOSAL_ID_MAX + 1]; /* GET /proposals/{id} */
	unsigned wait_ms;
	bool is_over;	/* it has waited long enough */
	enum step next; /* once the ledger has answered */
};

/* Is this connection's target the internal host? */
bool internal_is_host(struct bytes host, uint16_t port);
/* AT_INTERNAL: NEXT: answered, the next request; OTHER: and close. */
enum step internal_step(struct conn *conn, enum lane_event event);
void internal_release(struct conn *conn);

/* ---- internal_reply.c ---- */

/* Answer. allow: methods of a 405, else NULL. */
enum step internal_reply(struct conn *conn, unsigned status, const char *type,
			 struct bytes body);
/* Answer with a problem document (RFC 9457). */
enum step internal_problem(struct conn *conn, unsigned status,
			   const char *detail);
enum step internal_not_allowed(struct conn *conn, const char *allow);
/* Answer with a proposal. */
enum step internal_proposal(struct conn *conn, unsigned status,
			    const struct proposal *proposal);

/* ---- internal_sign.c ---- */

/* The body is whole: have it signed. */
enum step internal_sign(struct conn *conn);

/* ---- internal_proposals.c ---- */

/* The body is whole: ask for what it says. */
enum step internal_propose(struct conn *conn);
/* Ask the ledger what became of conn->internal->id. */
enum step internal_show(struct conn *conn);
/* It has answered. */
enum step internal_answered(struct conn *conn);

#endif
