/*
 * Is an address one of this host's own, whatever its range (security D6)?
 * What listens there, a control port or the gateway's door, serves
 * the host and not its sandboxes.
 */
#ifndef GATEWAY_DIALER_OWN_H
#define GATEWAY_DIALER_OWN_H

#include "gateway/dialer/address.h"
#include "policies/scope.h"

/* Nothing is sent. True as well when no socket is to be had: it may be. */
bool address_is_own(const union address *address);
/* May a session of this scope have it dialled: does the scope allow it, and,
 * where it is the host's own, as such (scope_allows_own_address())? */
bool address_may_be_dialled(const struct scope *scope,
			    const union address *address);

#endif
