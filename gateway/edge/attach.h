/*
 * What an allowed request has of credentials, before it leaves: the
 * sandbox's own are dropped or refused, placeholders are found, and what the
 * courier needs to know for its part is written down. No secret is here.
 */
#ifndef GATEWAY_EDGE_ATTACH_H
#define GATEWAY_EDGE_ATTACH_H

#include "gateway/edge/conn.h"

/* The most of a body that is held for its hash or for a placeholder in it. */
#define ATTACH_BODY_MAX (16 * 1024 * 1024)

/* Must the body of this request be held, for its credential's sake? 1, 0;
 * or -1: it cannot be sent at all, refusal set. */
int attach_wants_body(struct conn *conn);

/* Make conn->errand->request ready for the credential of conn->verdict, or for
 * none. drops: the sandbox's own credentials go in any case (git). 0, or -1:
 * refusal set. */
int attach_prepare(struct conn *conn, bool drops);

/* ---- look.c ---- */

/* What is held of the body, all of it once it was looked at; may be empty. */
struct bytes look_body(const struct conn *conn);

/* ---- swaps.c ---- */

/* Find the placeholders in conn->errand->request: those that stand where the
 * credential (NULL: none) puts its secret go into its swaps, any other one
 * is a refusal. 0, or -1. */
int swaps_find(struct conn *conn, const struct policy_credential *credential);
/* Refuse: the placeholder of a credential stands in `place`, where it means
 * nothing. -1. */
int swaps_refuse(struct conn *conn, const struct policy_credential *of,
		 const char *place);
/* Does the credential's own placeholder stand in the value, also as Basic? */
bool swaps_hold(struct conn *conn, const struct policy_credential *credential,
		struct bytes value);
/* What a value of Basic says, in the connection's arena; empty: it is none. */
struct bytes swaps_basic(struct conn *conn, struct bytes value);

/* ---- aws.c: sigv4 ---- */

/* Refuse what cannot be signed again. 0, or -1. */
int aws_check(struct conn *conn);
/* Must the body be hashed here? */
bool aws_wants_hash(const struct conn *conn,
		    const struct policy_credential *credential);
/* Put the body's hash into the request. 0, or -1. */
int aws_hash(struct conn *conn, const struct policy_credential *credential);

#endif
