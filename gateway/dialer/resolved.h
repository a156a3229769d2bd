/*
 * The addresses of a name.
 */
#ifndef GATEWAY_DIALER_RESOLVED_H
#define GATEWAY_DIALER_RESOLVED_H

#include "gateway/dialer/address.h"

#define RESOLVE_ADDRESSES_MAX 16 /* of one name; more are left out */

struct resolved {
	union address addresses[RESOLVE_ADDRESSES_MAX];
	size_t count;
};

/* Add one that is not there yet, if there is room. */
void resolved_add(struct resolved *resolved, const union address *address);
/* Is it localhost, or a name below it (RFC 6761)? */
bool resolved_is_localhost(struct bytes name);
/* The loopback addresses. */
void resolved_localhost(struct resolved *resolved);

#endif
