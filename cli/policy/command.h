/*
 * sallyport policy test --command LINE: what `sandbox exec` would say to it.
 */
#ifndef CLI_POLICY_COMMAND_H
#define CLI_POLICY_COMMAND_H

#include "cli/cli.h"
#include "policies/policy.h"

/* Judge the line as one for a shell in the policy's workspace, below the
 * current directory; print verdict and trace. An exit code: EXIT_WOULD_DENY
 * also when a person would be asked. */
int policy_test_command(struct cli *cli, const struct policy *policy,
			const char *line);

#endif
