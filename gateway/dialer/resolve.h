/*
 * Names to addresses, with c-ares on our own loop. Only canonical names that
 * a session may reach come here. Answered in this order:
 *
 *	1. the operator's own table (config.dns_hosts), without DNS
 *	2. localhost and names below it: loopback, without DNS (RFC 6761)
 *	3. the cache: what DNS said, RESOLVE_TTL_MIN_S..RESOLVE_TTL_MAX_S long
 *	4. the DNS servers: config.dns_servers, else resolv.conf's, read once
 *
 * A and AAAA are asked for at once, and one waits for the other a moment
 * only. No hosts file, no search domain, no alias file, no address sorting; one
 * question at a time for a name, however many wait for it. What comes out is
 * as untrusted as DNS is: whoever dials checks every address (security C1).
 */
#ifndef GATEWAY_DIALER_RESOLVE_H
#define GATEWAY_DIALER_RESOLVE_H

#include "common/io.h"
#include "gateway/dialer/resolved.h"
#include "gateway/flow/config.h"

#define RESOLVE_NAMES_MAX    3072 /* known or asked for: > DIALS_MAX */
#define RESOLVE_TRY_MS	     1500 /* one try; the second takes twice that */
#define RESOLVE_TRIES	     2
#define RESOLVE_TOTAL_MS     4500 /* then it failed (security C9: < 5 s) */
#define RESOLVE_WAIT_IPV6_MS 50	  /* once IPv4 is known (RFC 8305) */
#define RESOLVE_WAIT_IPV4_MS 500  /* once IPv6 is */
#define RESOLVE_TTL_MIN_S    5
#define RESOLVE_TTL_MAX_S    60

struct resolver;
struct name;

/* Somebody who waits for a name; embedded in what waits. */
struct resolve_waiter {
	/* Called once: resolved (not empty) is valid for the call; NULL:
	 * why. */
	void (*fn)(const struct resolved *resolved, const char *why,
		   void *owner);
	void *owner;
	struct name *name; /* NULL: does not wait */
	struct resolve_waiter *next, *prev;
};

/* Answer other names without DNS from now on: the configuration's. 0, or
 * -1. */
int resolver_fix(struct resolver *resolver, const struct gateway_config *config,
		 struct err *err);
/* A resolver. Before confinement: it reads resolv.conf. NULL on failure. */
struct resolver *resolver_new(struct io_loop *loop,
			      const struct gateway_config *config,
			      struct err *err);
/* Nobody may wait any more. */
void resolver_free(struct resolver *resolver);

/* Ask for a canonical name. 1: *resolved has it now; 0: waiter->fn will be
 * called, never inside this call; -1: it cannot be had. */
int resolver_ask(struct resolver *resolver, struct bytes name,
		 struct resolve_waiter *waiter, struct resolved *resolved,
		 struct err *err);
/* Wait no more: fn is not called. */
void resolver_cancel(struct resolve_waiter *waiter);

#endif
