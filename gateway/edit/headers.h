/*
 * What the gateway changes in an allowed request and in its response. In
 * place; fields are removed, none is renamed. The credential itself is
 * added by the courier, never here.
 */
#ifndef GATEWAY_EDIT_HEADERS_H
#define GATEWAY_EDIT_HEADERS_H

#include "gateway/flow/message.h"

/* Before a request leaves: remove every Proxy-* field and those that ask a
 * server to take another method, host or path than those decided on
 * (X-HTTP-Method-Override, X-Original-URL, Forwarded, ...). With a credential
 * bound to the request (has_credential), also every credential that the sandbox
 * sent (Authorization, Cookie, ...; security D4). True when one was removed. */
bool edit_request(struct request *request, bool has_credential);

/* Remove every field of that name, also as CGI spells it ('_' for '-'). */
void edit_drop(struct request *request, struct bytes name);

/* The fields that count as a sandbox's own credential. */
bool edit_is_credential(struct bytes name);

/* Before a response goes to the sandbox: remove Alt-Svc (it leads around
 * the gateway) and key pins, and, when the request carried a credential of
 * ours, Set-Cookie (security D3). Strict-Transport-Security stays. */
void edit_response(struct response *response, bool had_credential);

#endif
