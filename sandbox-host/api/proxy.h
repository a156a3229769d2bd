/*
 * A request passed on to a port inside a sandbox, and its answer back: bodies
 * both ways as they come, with back-pressure, and WebSockets. Both sides'
 * heads are parsed strictly and written again. What proved who asks is not
 * passed on (auth.h).
 */
#ifndef SANDBOX_HOST_API_PROXY_H
#define SANDBOX_HOST_API_PROXY_H

#include "sandbox-host/api/exchange.h"

#define PROXY_HEAD_MS 300000 /* until its answer begins */

/* Of a ROUTE_STREAM route with body_max 0: pass the request to the port that
 * pieces[0] names in exchange->sandbox, with exchange->rest as its path. */
void proxy_pass(struct exchange *exchange);

#endif
