/*
 * `sallyport policy test`: what would be decided about a request or a push.
 */
#ifndef CLI_POLICY_TEST_H
#define CLI_POLICY_TEST_H

#include "cli/cli.h"

/* An exit_code. */
int policy_test(struct cli *cli);

#endif
