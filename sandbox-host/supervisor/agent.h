/*
 * What serves a channel of kind HOST_CHANNEL_AGENT, inside the sandbox.
 */
#ifndef SANDBOX_HOST_SUPERVISOR_AGENT_H
#define SANDBOX_HOST_SUPERVISOR_AGENT_H

/* NULL: there is none in this build, and such a channel is refused. */
#define agent_run NULL

#endif
