/*
 * Isolated sessions: each is a sandbox that works in the workspace of another
 * one. It is asked for through the API, and ends with the sandbox beside which
 * it stands.
 */
#ifndef SANDBOX_HOST_DAEMON_ISOLATE_H
#define SANDBOX_HOST_DAEMON_ISOLATE_H

#include "sandbox-host/daemon/daemon.h"

/* Begin to make one beside entry, which runs; the ticket is answered once it
 * does as well. */
void isolate_begin(struct entry *entry, const struct host_isolate *wanted,
		   struct rpc_ticket ticket);
/* Is it one that stands beside another? */
bool isolate_is(const struct entry *entry);
/* Is it one whose sandbox ends, or is over? Who waits for it is told that
 * alone: how it could not begin any more is the host's business. */
bool isolate_is_lone(const struct entry *entry);
void isolate_refuse_lone(struct rpc_ticket ticket);
/* Does a name say that it is one? Nobody else's to give. */
bool isolate_is_key(struct bytes name);
/* entry has another state: those beside it rest, go on and end with it. */
void isolate_follow(struct entry *entry);
/* entry's session has another policy: those beside it that reach anything do
 * so by the old one, and end. */
void isolate_change(struct entry *entry);
/* Those that an earlier daemon left and whose sandbox is over end. */
void isolate_adopt(struct daemon *daemon);

#endif
