/*
 * `sallyport policy learn`: from a recorded session to the narrowest rules.
 */
#ifndef CLI_POLICY_LEARN_H
#define CLI_POLICY_LEARN_H

#include "cli/cli.h"

/* An exit_code. */
int policy_learn(struct cli *cli);

#endif
