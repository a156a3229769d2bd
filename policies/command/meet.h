/*
 * Do two patterns have a name in common? One is a policy's, the other what a
 * shell's pattern could become.
 */
#ifndef POLICIES_COMMAND_MEET_H
#define POLICIES_COMMAND_MEET_H

#include <stdbool.h>

#include "common/bytes.h"

#define MEET_MAX 1024 /* bytes of each */

/* hide: an absolute path with "*" (no slash) and "**" (a component of its
 * own: none or more of them). shape: an absolute path with SHELL_STAR and
 * SHELL_ONE, which do not stand for a leading ".". Both <= MEET_MAX. */
bool patterns_meet(struct bytes hide, struct bytes shape);

#endif
