/*
 * May this push pass? Every update is asked for (policies/decide.h) against
 * the tips that upstream has now; one denial refuses all (security E2).
 *
 *	push_decide(&push, repo, &refs, &ruling);
 *	if (ruling.needs_proof)  ask packcheck about push_update.needs_proof,
 *	    then push_proven() or push_disproven()
 */
#ifndef GATEWAY_GIT_RULING_H
#define GATEWAY_GIT_RULING_H

#include "gateway/flow/messages.h"
#include "gateway/flow/push.h"
#include "gateway/git/refs.h"

struct ruling {
	bool is_allowed;
	bool needs_proof; /* allowed only if packcheck proves fast-forwards */
	size_t denied_count;
	struct verdict verdict; /* of the whole: the first denial's, or the
				   first update's */
};

/* Decide. Sets verb, verdict and needs_proof of every update; on a denial
 * the innocent updates are denied with it (their reason says so). refs are
 * upstream's tips now (a fresh advertisement). */
void push_decide(struct push *push, const struct policy_repo *repo,
		 const struct git_refs *refs, struct ruling *ruling);
/* Of a push that was allowed: may it have its options? What says which one
 * may not is in arena. */
void push_decide_options(struct push *push, const struct policy_repo *repo,
			 struct arena *arena, struct ruling *ruling);
/* Packcheck proved every update that needed it: ask again with the proven
 * verb. */
void push_proven(struct push *push, const struct policy_repo *repo,
		 struct ruling *ruling);
/* Update `index` of the push could not be proven, or worse: deny it for
 * that constraint (push_not_fast_forward, push_pack_invalid, ...) and
 * reason (borrowed; may be empty), and the others with it. */
void push_disproven(struct push *push, size_t index, enum constraint constraint,
		    struct bytes reason, struct ruling *ruling);
/* Deny all of it for a reason that is not one ref's (pack too large, audit
 * not available...). */
void push_refuse(struct push *push, enum constraint constraint,
		 struct bytes reason, struct ruling *ruling);

/* The question for packcheck: the updates that need proof, or all that are
 * no delete when its content is looked at, in arena; indexes[i] (in arena) is
 * the place in push of its i-th update. 0, or -1 when there are more than 256.
 */
int push_proof_ask(const struct push *push, bool is_looked_at,
		   struct arena *arena, struct msg_pack_check *ask,
		   size_t **indexes);

#endif
