/*
 * A configuration as text again, for people: what holds, and behind each
 * value where it comes from. It is a host.yaml itself, but for the hashes of
 * API keys: who has one could try keys on it.
 */
#ifndef SANDBOX_HOST_DAEMON_CONFIG_DUMP_H
#define SANDBOX_HOST_DAEMON_CONFIG_DUMP_H

#include "sandbox-host/daemon/config.h"
#include "sandbox-host/flow/messages_host.h"

#define CONFIG_DUMP_MAX HOST_DUMP_MAX

/* Append the text. 0, or -1: out is full. */
int config_dump(const struct host_config *config, struct buf *out);

#endif
