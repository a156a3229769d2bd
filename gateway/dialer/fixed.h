/*
 * The names whose addresses the operator has set (dns.hosts): answered
 * without DNS. Small, since there may be thousands.
 */
#ifndef GATEWAY_DIALER_FIXED_H
#define GATEWAY_DIALER_FIXED_H

#include "common/bytes.h"
#include "common/err.h"
#include "gateway/dialer/resolved.h"
#include "gateway/flow/config.h"

/* By name; those of one name as the operator wrote them. */
struct fixed_names {
	struct config_dns_host *hosts;
	size_t count;
};

/* Read config's names; the texts stay config's. 0, or -1 (a name or address is
 * none, or memory is out) with nothing in names. */
int fixed_read(struct fixed_names *names, const struct gateway_config *config,
	       struct err *err);
/* The addresses of text, in the order they were set. False: it is none of
 * these names. */
bool fixed_find(const struct fixed_names *names, struct bytes text,
		struct resolved *resolved);
void fixed_release(struct fixed_names *names);

#endif
