/*
 * Who may ask: an API key for the lifecycle of all sandboxes, a token for
 * the endpoint of one. Keys are known by their SHA-256 only; a token is the
 * HMAC-SHA-256 (RFC 2104) of its kind and its sandbox, so that none has to be
 * kept and all survive a restart.
 */
#ifndef SANDBOX_HOST_API_AUTH_H
#define SANDBOX_HOST_API_AUTH_H

#include "common/digest.h"
#include "sandbox-host/api/exchange.h"
#include "sandbox-host/api/route.h"
#include "sandbox-host/flow/api_config.h"

#define AUTH_TOKEN_SIZE (2 * DIGEST_LEN + 1)

/* The token of a sandbox for endpoints of that kind, in hex. */
void auth_token(const struct api_config *config, enum route_place place,
		struct bytes sandbox, char out[AUTH_TOKEN_SIZE]);
#define AUTH_PROOF_SIZE (AUTH_TOKEN_SIZE + 24)
/* A path is kept by proxies and pages: it ends. One that says a later end is
 * none. */
#define AUTH_PROOF_S_MAX (7 * 24 * 3600)
/* What stands in the path of a signed route to that endpoint, and to no other
 * port (0: of execd and egress), until a time: "SECONDS-HEX". */
void auth_proof(const struct api_config *config, enum route_place place,
		struct bytes sandbox, uint64_t port, uint64_t until_s,
		char out[AUTH_PROOF_SIZE]);
/* The field that a client sends it in. */
const char *auth_field(enum route_place place);
/* May who sent the request do it? Credentials are taken out of its fields:
 * none ever reaches a sandbox. Nor does a Referer with a signed route in it. */
bool auth_check(const struct api_config *config, struct exchange *exchange,
		const struct route_match *match);

#endif
