/*
 * One question to DNS, through c-ares: the addresses of a name in one family.
 *
 * Only what was asked for counts: records of the name itself, or of one that
 * its CNAMEs lead to (RFC 1034 section 3.6.2, security C7). c-ares looked
 * after that until 1.22; since then it passes on whatever an answer holds.
 */
#ifndef GATEWAY_DIALER_LOOKUP_H
#define GATEWAY_DIALER_LOOKUP_H

#include <ares.h>

#include "gateway/dialer/resolved.h"

#define LOOKUP_ALIASES_MAX 16 /* CNAMEs one after the other */

struct lookup_answer {
	int status; /* ARES_SUCCESS, or why there is none */
	struct resolved resolved;
	int ttl_s; /* the least of the addresses'; INT_MAX without any */
};

typedef void lookup_fn(void *owner, const struct lookup_answer *answer);

/* Ask for the addresses of name (with a dot at its end) in family, AF_INET or
 * AF_INET6. fn is called once: later, or before this returns, or with
 * ARES_EDESTRUCTION by ares_destroy(). */
void lookup_ask(ares_channel channel, const char *name, int family,
		lookup_fn *fn, void *owner);

#endif
