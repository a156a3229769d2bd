/*
 * The agent: serves the files of a sandbox from inside, where a command
 * would stand: its namespaces, its root, its confinement. What a command may
 * not read or write the agent can not either; there is no path that leads
 * out. One process for one channel; it ends with the channel, and what it
 * had begun to write is gone then.
 *
 * Whoever asks it is trusted, what it finds is not. Its own answers are not
 * trusted by anybody: a command of the same user can end it.
 */
#ifndef SANDBOX_HOST_AGENT_AGENT_H
#define SANDBOX_HOST_AGENT_AGENT_H

#include "sandbox-host/sandbox.h"

/* A sandbox_agent: serve channel (taken), a SOCK_SEQPACKET socket, until its
 * other end is closed. The working directory is the workspace. */
void agent_run(int channel, const struct plan *plan);

#endif
