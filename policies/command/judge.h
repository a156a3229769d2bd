/*
 * May this command line run? The policy's `commands` decide, before it is
 * executed: by what the line says, not by what it does. It keeps an honest
 * agent from what its operator would not want, and asks early. It is no
 * boundary: the sandbox's mounts, filter and network hold whatever is judged
 * here, and a program that was allowed can do all that they let it.
 *
 *	struct command_facts facts = {policy, home, workspace, cwd};
 *	struct command_gate gate;		// one for each session
 *	command_gate_open(&gate, policy);
 *	command_admit(&gate, &facts, &what, clock_monotonic_ms(), &arena,
 *		      &verdict);
 *	if (verdict.kind != VERDICT_ALLOW)
 *		refuse(verdict.constraint, command_verdict_words(...));
 *
 * A policy without `commands` allows every line. Of several findings the
 * worst counts: a denial, then what a person must be asked about.
 */
#ifndef POLICIES_COMMAND_JUDGE_H
#define POLICIES_COMMAND_JUDGE_H

#include "common/arena.h"
#include "common/buf.h"
#include "policies/command/call.h"
#include "policies/command/paths.h"
#include "policies/command/window.h"
#include "policies/policy.h"
#include "policies/verdict.h"

#define COMMAND_REASON_MAX 1024
/* An arena for one judgement. */
#define COMMAND_ARENA_MAX (64 * 1024 * 1024)

struct command_facts {
	const struct policy *policy;
	struct bytes home;	/* inside; absolute, empty: not known */
	struct bytes workspace; /* inside; absolute */
	struct bytes cwd;	/* inside; absolute; empty: the workspace */
	path_real_fn *real;	/* follows links; NULL: names alone count */
};

/* What is to run (untrusted): a line for a shell, or words that are
 * executed as they are. */
struct command_line {
	struct bytes line;	  /* when words is NULL */
	const char *const *words; /* count of them */
	size_t count;
};

struct command_verdict {
	enum verdict_kind kind; /* ALLOW, DENY or ASK */
	/* command_not_allowed, command_risk, command_ambiguous, filesystem,
	 * limit_actions; approval_pending when a person is to be asked. */
	enum constraint constraint;
	enum command_risk risk; /* the highest of the line */
	/* The part that decided, in the line (of words: in them, joined by
	 * blanks). */
	size_t at, len;
	struct bytes command; /* its text */
	struct bytes rule;    /* "commands.deny: sudo" */
	struct bytes reason;
	uint64_t retry_ms; /* limit_actions: until there is room */
};

/* Judge a line; the verdict lives as long as arena (COMMAND_ARENA_MAX, empty)
 * and *what. trace may be NULL: one row for each command that was found. Out of
 * memory is a denial. */
void command_judge(const struct command_facts *facts,
		   const struct command_line *what, struct arena *arena,
		   struct buf *trace, struct command_verdict *verdict);

/* The same with the session's limit of actions. */
struct command_gate {
	struct action_window window;
};
int command_gate_open(struct command_gate *gate, const struct policy *policy);
void command_gate_close(struct command_gate *gate);
/* Judge a line and count it when it may run. */
void command_admit(struct command_gate *gate, const struct command_facts *facts,
		   const struct command_line *what, uint64_t now_ms,
		   struct arena *arena, struct command_verdict *verdict);

/* Append a refusal in one sentence: "`rm -rf x`: a person must allow this
 * first: rm -r removes a whole tree (commands.autonomy: supervised)". 0, or -1:
 * out has no room (COMMAND_REASON_MAX is enough). */
int command_verdict_words(const struct command_verdict *verdict,
			  struct buf *out);

/* "low". */
const char *command_risk_name(enum command_risk risk);

#endif
