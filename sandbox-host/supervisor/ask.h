/*
 * A person is asked about a command (ask.c), and what comes of it.
 */
#ifndef SANDBOX_HOST_SUPERVISOR_ASK_H
#define SANDBOX_HOST_SUPERVISOR_ASK_H

#include "gateway/flow/proposal.h"
#include "policies/command/judge.h"
#include "sandbox-host/supervisor/supervisor.h"

/* What a person is asked about. */
struct ask_question {
	char command[PROPOSAL_PATH_MAX + 1]; /* policies/command/spell.h */
	char rule[PROPOSAL_RULE_MAX + 1];
	char words[COMMAND_REASON_MAX + 1]; /* why */
};

struct ask;
struct ask_hooks {
	/* A person can answer from now on; again, when it is another proposal
	 * that is to be answered. */
	void (*on_asked)(const struct exec_asked *asked, void *owner);
	/* why: the words of a refusal; NULL: it may run. The ask is over. */
	void (*on_end)(const char *why, void *owner);
};
/* Ask a person, and wait so long as the policy says. on_end comes once, and
 * none of the hooks from in here. They stay the caller's. NULL: too many
 * wait. */
struct ask *ask_begin(struct supervisor *supervisor,
		      const struct ask_question *question,
		      const struct ask_hooks *hooks, void *owner,
		      struct err *err);
/* Nobody waits any more; the proposal stays. May be NULL. */
void ask_drop(struct ask *ask);

#endif
