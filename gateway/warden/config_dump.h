/*
 * A configuration as text again, for people: what holds, and behind each
 * value where it comes from. It is a gateway.yaml itself. What could be a
 * secret is left out of it: a program's arguments, a URL's query.
 */
#ifndef GATEWAY_WARDEN_CONFIG_DUMP_H
#define GATEWAY_WARDEN_CONFIG_DUMP_H

#include "gateway/warden/config.h"

#define CONFIG_DUMP_MAX (8 * 1024 * 1024)

/* Append the text of a finished configuration. 0, or -1: out is full. */
int config_dump(const struct warden_config *config, struct buf *out);

#endif
