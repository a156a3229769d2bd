/*
 * An operator's policy that can only narrow: what a session's policy lets
 * pass must be let pass by the guardrail too. It has version, name, network
 * and git alone; its rules are called "guardrail/...". It has no credential
 * and adds none.
 *
 * It is part of the session's policy (policy_guard()), so that every
 * decision of decide.h and every scope is made with it.
 */
#ifndef POLICIES_GUARDRAIL_H
#define POLICIES_GUARDRAIL_H

#include "common/buf.h"
#include "policies/facts.h"
#include "policies/policy.h"
#include "policies/verdict.h"

/* Compile an operator's text, as policy_compile() does. */
struct policy *guardrail_compile(struct bytes text,
				 const struct policy_variables *variables,
				 struct policy_errors *errors);

/* Bind policy to guardrail, which it owns from then on. NULL: none. Once,
 * before anything is decided. 0, or -1 when memory is out: free it then. */
int policy_guard(struct policy *policy, struct policy *guardrail);

/* Compile policy's text and bind it to the guardrail's, unless that is
 * empty. Errors of either are told, the guardrail's in its name. */
struct policy *guarded_compile(struct bytes text, struct bytes guardrail,
			       const struct policy_variables *variables,
			       struct policy_errors *errors);

/* What both say: the stricter. own is the policy's verdict. */
struct verdict guard_target(const struct policy *policy,
			    const struct target_facts *facts,
			    struct verdict own, struct buf *trace);
struct verdict guard_request(const struct policy *policy,
			     const struct request_facts *facts,
			     struct verdict own, struct buf *trace);
/* Of a git request that is the git lane's: `git` of the guardrail, where
 * that names the repository, else its rules. Nobody is asked here, and no
 * body is looked at: what would need that is denied. */
struct verdict guard_git(const struct policy *policy,
			 const struct request_facts *facts,
			 const struct policy_repo *repo, struct buf *trace);

/* Was it the guardrail that spoke? */
bool guardrail_spoke(const struct verdict *verdict);

#endif
