/*
 * A session that is made anew, since the gateway that had it has ended
 * (`again` of POST /v1/sessions): the record must say that whoever asks had
 * made the one of before, that nobody ended it and that its time was not over,
 * and that the policy is the one that held last.
 */
#ifndef GATEWAY_CONTROL_AGAIN_H
#define GATEWAY_CONTROL_AGAIN_H

#include "gateway/control/conn.h"

#define POLICY_HASH_SIZE (sizeof("sha256:") + 2 * DIGEST_LEN)
/* Changes of a policy of which it may still be told that they were not made. */
#define AGAIN_CHANGES_MAX 16

/* "sha256:" and digits of a policy's text. */
void policy_hash(struct bytes text, char out[POLICY_HASH_SIZE]);

struct again_change {
	char before[POLICY_HASH_SIZE], after[POLICY_HASH_SIZE];
};

/* What the rows of one session say so far. */
struct again {
	char id[SESSION_ID_MAX + 1]; /* of the one before */
	uid_t uid;		     /* who asks */
	bool was_made, was_ended, was_over;
	char policy[POLICY_HASH_SIZE]; /* the one before the changes */
	struct again_change changes[AGAIN_CHANGES_MAX]; /* in their order */
	size_t changes_count;
	char lease[POLICY_HASH_SIZE]; /* its digest */
	char given[POLICY_HASH_SIZE]; /* of the lease that is given now */
};

/* Take a row of the ledger, in their order. */
void again_take(struct again *again, struct bytes row);
/* How the row of a session that is created begins: who, the policy, the
 * lease. */
#define AGAIN_CREATED "uid %u: %s lease %s, "
/* May it be made anew, of a policy with that hash? NULL, or why not; *status
 * then. */
const char *again_judge(const struct again *again, const char *policy,
			unsigned *status);

/* Ask the ledger; fn is called once it may be, else the request is refused.
 * again is in the request's arena; conn->task is ours until then. */
typedef void again_fn(struct conn *conn);
void again_ask(struct conn *conn, struct again *again, const char *policy,
	       again_fn *fn);

#endif
