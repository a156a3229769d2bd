/*
 * What the gateway asks of a request beside the rules: that it is one, that
 * its name tells nobody anything, that its address may be dialled.
 */
#ifndef CLI_POLICY_BEYOND_H
#define CLI_POLICY_BEYOND_H

#include "common/arena.h"
#include "policies/facts.h"
#include "policies/policy.h"
#include "policies/verdict.h"

/* A denial of no rule's. why lives as long as the verdict. */
struct verdict beyond_refuse(enum constraint constraint, struct bytes why);
/* Before the rules: read the request as the gateway would, with those header
 * fields; facts->fields become those that rules see. False, with *verdict set,
 * when it is none that is served. */
bool beyond_is_request(struct request_facts *facts,
		       const struct fields *headers, struct arena *arena,
		       struct verdict *verdict);
/* After them: what is left of their verdict. Addresses of names, and which
 * are the host's own, are not known here. */
struct verdict beyond_rules(const struct policy *policy,
			    const struct request_facts *facts,
			    struct verdict verdict, struct arena *arena);

#endif
