/*
 * The gateway's certificate: asked of the minter once, kept until another
 * minter is there.
 */
#ifndef GATEWAY_CONTROL_CA_H
#define GATEWAY_CONTROL_CA_H

#include "gateway/control/conn.h"

/* Call next once control->ca is there, or refuse the request. */
void ca_need(struct conn *conn, void (*next)(struct conn *conn));
/* Forget it: the minter is another. */
void ca_forget(struct control *control);

/* What a session's programs trust, PEM: the CA, and the operator's roots
 * when he named some, for hosts whose TLS is not terminated. NULL without
 * memory. */
json_t *ca_trusted(const struct control *control);

#endif
