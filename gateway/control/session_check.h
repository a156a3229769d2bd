/*
 * Is there such a session, and is it of whoever asks?
 */
#ifndef GATEWAY_CONTROL_SESSION_CHECK_H
#define GATEWAY_CONTROL_SESSION_CHECK_H

#include "gateway/control/conn.h"

/* Which session a request of ROUTE_OWNER is about; empty: none is named. */
struct bytes session_named(const struct conn *conn);

/* A session of the path must exist for everybody; one of a parameter may
 * have ended when an administrator asks for its past. */
bool session_must_be_checked(const struct conn *conn);

/* Ask the warden, then call the route's handler with conn->session, or
 * refuse with 403 or 404. */
void session_check(struct conn *conn);

/* The question; message stays the caller's until it is asked. */
struct question session_question(const struct msg_session_query *message);

#endif
