/*
 * Which policy a command is about, and what it is filled in with: the options
 * that `policy test` and `policy explain` share.
 */
#ifndef CLI_POLICY_WHICH_H
#define CLI_POLICY_WHICH_H

#include <getopt.h>
#include <stdbool.h>

#include "policies/policy.h"

/* Of a getopt_long() table, with their values. */
/* clang-format off */
#define POLICY_WHICH_OPTIONS                                                   \
	{"policy", required_argument, NULL, 'p'},                              \
	{"repo", required_argument, NULL, 'r'},                                \
	{"branch", required_argument, NULL, 'b'},                              \
	{"guardrail", required_argument, NULL, 'g'}
/* clang-format on */

struct policy_which {
	const char *policy; /* a file or preset; NULL: not given, like all */
	const char *repo;
	const char *branch;
	const char *guardrail;
};

/* Take one of these options, as getopt_long() gave it. False: it is another. */
bool policy_which_take(struct policy_which *which, int option,
		       const char *value);
/* What stands for the session's own words; borrows. */
struct policy_variables policy_which_variables(const struct policy_which *which,
					       const char *session_id);

#endif
