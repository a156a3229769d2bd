/*
 * What to do about a refusal, in one sentence for whoever reads events: the
 * refusals that a program gets from the gateway say it themselves, with this
 * request's hosts and paths (gateway/decide/advice.h).
 */
#ifndef POLICIES_REMEDY_H
#define POLICIES_REMEDY_H

#include "policies/constraint.h"

/* The rules that denials in a sandbox are told by. */
#define RULE_WRITE    "filesystem.write"
#define RULE_PROTECT  "filesystem.protect"
#define RULE_HIDE     "filesystem.hide"
#define RULE_SOCKETS  "built-in/sockets"
#define RULE_SYSCALLS "built-in/syscalls"
#define RULE_SET_ID   "built-in/set-id"
#define RULE_SECRETS  "built-in/secrets"
#define RULE_MEMORY   "limits.memory"
#define RULE_COUNT    "limits.processes"
#define RULE_TIME     "limits.time"
#define RULE_DISK     "limits.disk"

/* A sentence; "" where there is nothing to be done. rule may be empty. */
const char *remedy_of(enum constraint constraint, struct bytes rule);

#endif
