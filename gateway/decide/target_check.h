/*
 * Decide on a connection: flow type to facts to verdict. Pure.
 */
#ifndef GATEWAY_DECIDE_TARGET_CHECK_H
#define GATEWAY_DECIDE_TARGET_CHECK_H

#include "gateway/flow/target.h"
#include "policies/decide.h"

/* May a connection to target be opened? See decide_target(). */
struct verdict target_check(const struct policy *policy,
			    const struct target *target);

/* The facts of a target; they borrow from it. */
struct target_facts target_facts_of(const struct target *target);

/* 80, 443, or 0 for SCHEME_TCP. */
uint16_t target_default_port(enum target_scheme scheme);

/* Fill target from an untrusted host (any spelling), port (0: the scheme's
 * own) and scheme. 0, or -1 when the host is no name and no address, or no
 * port is known. */
int target_named(struct bytes host, uint16_t port, enum target_scheme scheme,
		 struct target *target);

#endif
