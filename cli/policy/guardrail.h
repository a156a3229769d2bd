/*
 * The operator's guardrail, as far as a command knows of one: a file's, or
 * that of the gateway that runs.
 */
#ifndef CLI_POLICY_GUARDRAIL_H
#define CLI_POLICY_GUARDRAIL_H

#include "cli/cli.h"
#include "policies/policy.h"

#define GUARDRAIL_WHERE_MAX 256

struct guardrail {
	struct buf text; /* lives as long as the policy */
	/* In words: whose it is, or why there is none. */
	char where[GUARDRAIL_WHERE_MAX];
};

void guardrail_init(struct guardrail *guardrail);
void guardrail_release(struct guardrail *guardrail);

/* Bind policy to the guardrail in file; NULL: to that of the gateway that
 * runs, if one does and has one. An empty file is none. EXIT_OK, or the
 * exit_code of a failure that was told: policy must not be used then. */
int guardrail_bind(struct guardrail *guardrail, const char *file,
		   const struct policy_variables *variables,
		   struct policy *policy);

#endif
