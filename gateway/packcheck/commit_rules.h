/*
 * What every commit of a pushed pack must be like: whoever wrote and
 * committed it, its message, and how many there are.
 *
 *	commit_rules_read(&rules, ask, &err)	once; lives until release
 *	commit_rules_look(&rules, oid, content, finding)	for each commit
 *
 * The commits are untrusted, and sound as far as git's fsck looks (fsck.h).
 */
#ifndef GATEWAY_PACKCHECK_COMMIT_RULES_H
#define GATEWAY_PACKCHECK_COMMIT_RULES_H

#include "common/arena.h"
#include "gateway/flow/messages.h"
#include "gateway/packcheck/finding.h"

/* The policy's and its guardrail's: both must hold. */
#define COMMIT_RULES_MAX 2

struct pattern;

struct commit_rules {
	struct arena arena;
	struct {
		const struct pattern *author, *committer, *subject, *message;
		uint64_t count_max;
	} sets[COMMIT_RULES_MAX];
	size_t set_count;
	uint64_t seen;
};

/* Compile what the edge tells. 0, or -1: it cannot be understood. rules is
 * zeroed before. */
int commit_rules_read(struct commit_rules *rules,
		      const struct msg_pack_commits *told, size_t count,
		      struct err *err);
/* Look at one commit, its content as git stores it: what is against a rule
 * is in finding. */
void commit_rules_look(struct commit_rules *rules, const git_oid *oid,
		       struct bytes content, struct finding *finding);
void commit_rules_release(struct commit_rules *rules);

#endif
