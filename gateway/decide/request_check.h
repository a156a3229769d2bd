/*
 * Decide on a request that arrived on a decided connection. Pure.
 */
#ifndef GATEWAY_DECIDE_REQUEST_CHECK_H
#define GATEWAY_DECIDE_REQUEST_CHECK_H

#include "gateway/flow/message.h"
#include "gateway/flow/target.h"
#include "policies/decide.h"

/* May request pass on the connection to target? Its host and port must be
 * the target's (else host_mismatch, security B2), then decide_request().
 * Requests for git endpoints are the git lane's: see request_facts_of() and
 * git_endpoint_of(). CONNECT is refused (A27). */
struct verdict request_check(const struct policy *policy,
			     const struct target *target,
			     const struct request *request);

/* Does the request's host, in canonical form, with its port (or the
 * scheme's own), equal the target's? */
bool request_is_for(const struct request *request, const struct target *target);

/* The facts of a request; they borrow from both. */
struct request_facts request_facts_of(const struct target *target,
				      const struct request *request);

#endif
