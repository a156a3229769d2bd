/*
 * Where a connection wants to go. The first thing a stage learns.
 */
#ifndef GATEWAY_FLOW_TARGET_H
#define GATEWAY_FLOW_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "policies/host.h"

enum target_scheme { SCHEME_HTTP, SCHEME_HTTPS, SCHEME_TCP };

struct target {
	char host[HOST_NAME_MAX_LEN + 1]; /* canonical, terminated */
	enum host_kind kind;
	uint16_t port;
	enum target_scheme scheme;
};

#endif
