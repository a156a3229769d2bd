/*
 * Which rules could decide about a host, without asking each: every host
 * of every rule, sorted. It never changes a verdict, only how soon it is
 * there: rules come in their order, and those it leaves out differ in host.
 */
#ifndef POLICIES_RULE_INDEX_H
#define POLICIES_RULE_INDEX_H

#include "policies/policy.h"

/* With fewer hosts asking each rule is as fast. */
#define RULE_INDEX_MIN 64
/* A host has at most 126 dots; then itself, any name, any host. */
#define RULE_RUNS_MAX (126 + 3)

struct rule_index_entry;

struct rule_index {
	const struct rule_index_entry *entries;
	uint32_t count;
};

/* Rules of one kind of match, in their order: places in the index. Small,
 * since each decision begins by clearing all of them. */
struct rule_run {
	uint32_t next, end;
};

struct candidates {
	const struct policy *policy;
	bool is_indexed; /* each rule given matches the host */
	size_t next;	 /* not indexed: the next rule */
	struct rule_run runs[RULE_RUNS_MAX];
	size_t run_count;
};

/* Give a policy with its rules an index, if it needs one. 0, or -1 when the
 * arena is full. */
int rule_index_build(struct policy *policy);

/* Does a rule of policy name host (canonical) as it is, by no wildcard? */
bool rules_name_host(const struct policy *policy, struct bytes host);

/* Start with the rules for host (canonical); all: also those for others. */
void candidates_init(struct candidates *candidates, const struct policy *policy,
		     struct bytes host, bool all);
/* The next rule, or NULL. */
const struct policy_rule *candidates_next(struct candidates *candidates);

#endif
