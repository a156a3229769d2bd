/*
 * Who may have which secrets used.
 */
#ifndef GATEWAY_CONTROL_RIGHTS_H
#define GATEWAY_CONTROL_RIGHTS_H

#include "gateway/control/conn.h"
#include "policies/policy.h"

/* May whoever asks have a session with that policy? Whose policy names a
 * secret of the vault has it sent where that policy says: those are the
 * administrators' to give. What is lent to a session is its owner's. False:
 * the request is refused (403). */
bool rights_to_secrets(struct conn *conn, const struct policy *policy);

#endif
