/*
 * A refusal on its way to whoever asked: which constraint failed, by which
 * rule, what would have been allowed and what to do instead. Made by
 * gateway/decide/advice or by hand from a struct http_fault; shown by
 * gateway/http/problem and by the git lane. Views borrow from the request's
 * arena or are literals; every one may be empty and may hold any byte: who
 * shows them escapes them.
 */
#ifndef GATEWAY_FLOW_REFUSAL_H
#define GATEWAY_FLOW_REFUSAL_H

#include <stddef.h>

#include "common/bytes.h"
#include "policies/constraint.h"

#define REFUSAL_ALLOWED_MAX 16 /* entries shown; the rest is left out */

struct refusal {
	enum constraint constraint;
	struct bytes rule;
	struct bytes detail;	     /* one sentence about this request */
	const struct bytes *allowed; /* hosts, methods or paths near it */
	size_t allowed_count;
	struct bytes try_instead; /* one sentence */
	struct bytes proposal;	  /* "p-...": a person may allow it */
};

#endif
