/*
 * What the fields of a request say, before anything of it is believed.
 * Everything passed in is untrusted.
 */
#ifndef CLI_MCP_WEB_RULES_H
#define CLI_MCP_WEB_RULES_H

#include <stdbool.h>

#include "common/fields.h"

#define WEB_TOKEN_MIN 32
#define WEB_TOKEN_MAX 256

/* Is it a name or an address of this host's loopback? A page in a browser
 * whose name was made to lead here (DNS rebinding) says its own. */
bool web_is_local(struct bytes host);
/* No Origin, or one on this host: "http://localhost:3000". */
bool web_origin_is_local(const struct fields *fields);
/* Does Accept name that type, "text/event-stream", or a range with it? */
bool web_accepts(const struct fields *fields, const char *type);
/* Is the body JSON, as Content-Type says? */
bool web_is_json(const struct fields *fields);
/* Is Authorization, which must be there once, that bearer token (RFC 6750
 * 2.1)? */
bool web_has_token(const struct fields *fields, struct bytes token);
/* Is it fit as a token: WEB_TOKEN_MIN to WEB_TOKEN_MAX bytes of b64token? */
bool web_is_token(struct bytes token);

#endif
