/*
 * Does a target go by the operator's upstream proxy, or past it?
 */
#ifndef GATEWAY_DIALER_PROXY_H
#define GATEWAY_DIALER_PROXY_H

#include "gateway/flow/config.h"
#include "policies/host.h"

/* host is canonical, kind what it is. False when there is no proxy, for
 * localhost, and for what no_proxy names: a host or any below it, or an
 * address in a range. */
bool proxy_serves(const struct config_proxy *proxy, struct bytes host,
		  enum host_kind kind);

#endif
