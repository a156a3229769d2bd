/*
 * The DNS servers of the configuration, as c-ares wants them.
 */
#ifndef GATEWAY_DIALER_SERVERS_H
#define GATEWAY_DIALER_SERVERS_H

#include "common/buf.h"
#include "gateway/flow/config.h"

#define SERVERS_TEXT_MAX 2048

/* Write config->dns_servers ("10.0.0.53", "10.0.0.53:5353", "fd00::53",
 * "[fd00::53]:5353") to out: "10.0.0.53:53,[fd00::53]:5353". Whatever is not
 * an address with an optional port is an error: c-ares would skip it
 * silently. 0, or -1. */
int servers_write(const struct gateway_config *config, struct buf *out,
		  struct err *err);

#endif
