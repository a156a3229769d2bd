/*
 * The query of a request target: known names, each once, values made of
 * letters, digits, '.', '_', '-' (nothing we ask for needs an escape).
 */
#ifndef GATEWAY_CONTROL_PARAMS_H
#define GATEWAY_CONTROL_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/err.h"

enum param { /* bits */
	     PARAM_AFTER = 1,
	     PARAM_LIMIT = 2,
	     PARAM_SESSION = 4,
	     PARAM_KIND = 8,
	     PARAM_DENIED = 16,
	     PARAM_NEWEST = 32,
	     PARAM_REASON = 64,
	     PARAM_STATE = 128,
	     PARAM_BEFORE = 256,
	     PARAM_NAME = 512
};

struct params {
	unsigned given; /* bits of enum param */
	uint64_t after, before;
	uint64_t limit; /* > 0 when given */
	struct bytes session, kind, reason, state, name;
	bool denied, newest;
};

/* Read query (untrusted, without '?'), of which only `allowed` may be
 * there. Views borrow from query. 0, or -1 with a sentence in *err. */
int params_read(struct bytes query, unsigned allowed, struct params *params,
		struct err *err);

#endif
