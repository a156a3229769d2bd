/*
 * Who signs for a session: asked of the vault, told with the session.
 */
#ifndef GATEWAY_CONTROL_SIGNER_H
#define GATEWAY_CONTROL_SIGNER_H

#include "gateway/control/conn.h"

/* Ask; fn gets the answer, a struct msg_signer. Without one the request is
 * refused, and a session that is_new ends again. */
void signer_ask(struct conn *conn, struct bytes session, bool is_new,
		conn_answer_fn *fn);
/* As JSON: null where nothing is signed. NULL: memory is out. */
json_t *signer_json(const struct msg_signer *signer);

#endif
