/*
 * A session that is made anew, since the gateway that had it has ended
 * (`again` of POST /v1/sessions): the record must say that whoever asks had
 * made the one of before, that nobody ended it and that its time was not over,
 * and that the policy is the one that held last. The same of each that was made
 * in its place since, which its own record names (AGAIN_METHOD): what ended one
 * of them ended all; the policy is that of the last.
 */
#ifndef GATEWAY_CONTROL_AGAIN_H
#define GATEWAY_CONTROL_AGAIN_H

#include "gateway/control/conn.h"

#define POLICY_HASH_SIZE (sizeof("sha256:") + 2 * DIGEST_LEN)
/* Changes of a policy of which it may still be told that they were not made. */
#define AGAIN_CHANGES_MAX 16
/* Sessions that were made in its place, or in the place of those. */
#define AGAIN_LINKS_MAX 16

/* "sha256:" and digits of a policy's text. */
void policy_hash(struct bytes text, char out[POLICY_HASH_SIZE]);

struct again_change {
	char before[POLICY_HASH_SIZE], after[POLICY_HASH_SIZE];
};

/* What the rows of one session, and of those before it, say so far. */
struct again {
	char id[SESSION_ID_MAX + 1]; /* whose rows are taken */
	char links[AGAIN_LINKS_MAX][SESSION_ID_MAX + 1]; /* all that follow */
	size_t links_count, links_taken;
	uid_t uid; /* who asks */
	bool was_made, was_ended, was_over;
	bool has_more_links;	       /* than are followed */
	char policy[POLICY_HASH_SIZE]; /* the one before the changes */
	struct again_change changes[AGAIN_CHANGES_MAX]; /* in their order */
	size_t changes_count;
	char lease[POLICY_HASH_SIZE]; /* its digest */
	char given[POLICY_HASH_SIZE]; /* of the lease that is given now */
};

/* Take a row of the ledger, in their order. */
void again_take(struct again *again, struct bytes row);
/* Go on with the rows of the next one that was made in its place. False: there
 * is none whose rows could still matter. */
bool again_follow(struct again *again);
/* How the row of a session that is created begins: who, the policy, the
 * lease. */
#define AGAIN_CREATED "uid %u: %s lease %s, "
/* The row of one in whose place another was made: who, the other. */
#define AGAIN_METHOD "session.again"
#define AGAIN_LINK   "uid %u: %s"
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
