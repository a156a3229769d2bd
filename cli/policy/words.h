/*
 * `sallyport policy explain`: a policy in words.
 */
#ifndef CLI_POLICY_WORDS_H
#define CLI_POLICY_WORDS_H

#include "cli/cli.h"

/* An exit_code. */
int policy_words(struct cli *cli);

#endif
