/*
 * The handlers of the route table. Each answers its request exactly once,
 * now or later (conn.h).
 */
#ifndef GATEWAY_CONTROL_HANDLERS_H
#define GATEWAY_CONTROL_HANDLERS_H

#include "gateway/control/conn.h"

/* How long a session may last, from its creation or renewal. */
#define SESSION_TTL_MAX_S (7 * 24 * 60 * 60)

/* sessions.c */
void handle_session_list(struct conn *conn);
void handle_session_show(struct conn *conn);
void handle_session_end(struct conn *conn);
/* create.c */
void handle_session_create(struct conn *conn);
/* renew.c */
void handle_session_renew(struct conn *conn);
/* policy.c */
void handle_session_policy_show(struct conn *conn);
void handle_session_policy_put(struct conn *conn);
/* lent.c */
void handle_session_secret_put(struct conn *conn);
void handle_session_secret_remove(struct conn *conn);
/* records.c */
void handle_session_record(struct conn *conn);
/* audit.c */
void handle_audit(struct conn *conn);
/* verify.c */
void handle_audit_verify(struct conn *conn);
/* events.c */
void handle_events(struct conn *conn);
/* secrets.c */
void handle_secret_list(struct conn *conn);
void handle_secret_put(struct conn *conn);
void handle_secret_rotate(struct conn *conn);
void handle_key_rotate(struct conn *conn);
void handle_secret_remove(struct conn *conn);
struct secret;
/* The body, which is then wiped where it was. A request that is answered has
 * none any more: what stands there is the next one's. 0, or -1 with *err. */
int secret_of_body(struct conn *conn, struct secret *value, struct err *err);
/* approvals.c */
void handle_session_ask(struct conn *conn);
void handle_approval_list(struct conn *conn);
void handle_approval_decide(struct conn *conn);
/* config.c */
void handle_config_show(struct conn *conn);
void handle_config_reload(struct conn *conn);
/* status.c */
void handle_status(struct conn *conn);
/* guardrail.c */
void handle_guardrail(struct conn *conn);
/* ca.c */
void handle_ca(struct conn *conn);

#endif
