/*
 * What to tell whoever was refused: a sentence about this request, what
 * would have been allowed nearby, and what to do instead. Reads the policy
 * as the decision did; decides nothing.
 */
#ifndef GATEWAY_DECIDE_ADVICE_H
#define GATEWAY_DECIDE_ADVICE_H

#include "gateway/flow/message.h"
#include "gateway/flow/refusal.h"
#include "gateway/flow/target.h"
#include "policies/decide.h"

/* Bytes of arena that one advice may take. */
#define ADVICE_ARENA_BYTES (8 * 1024)

/* The refusal of a connection. allowed: hosts, or ports of the host. Texts
 * live in arena; without room they stay empty. */
struct refusal advice_target(const struct policy *policy,
			     const struct target *target,
			     const struct verdict *verdict,
			     struct arena *arena);

/* The refusal of a request. allowed: "METHOD path" of rules near it. */
struct refusal advice_request(const struct policy *policy,
			      const struct target *target,
			      const struct request *request,
			      const struct verdict *verdict,
			      struct arena *arena);

#endif
