/*
 * A refusal as an HTTP response (interface.md 4): status line
 * `HTTP/1.1 403 egress denied: <constraint>`, a body of RFC 9457
 * application/problem+json: type, title, status, detail, constraint, rule,
 * session, request_id, allowed, try, proposal, message (the detail and what to
 * try, for clients that know no other member). What came from the sandbox is
 * escaped (JSON with \u for everything but printable ASCII). git shows a
 * plain text alone: lines of constraint, detail, what is allowed, what to try.
 */
#ifndef GATEWAY_HTTP_PROBLEM_H
#define GATEWAY_HTTP_PROBLEM_H

#include "common/buf.h"
#include "gateway/flow/refusal.h"

/* A reply is never larger; longer texts are cut. */
#define PROBLEM_BYTES_MAX (32 * 1024)
#define PROBLEM_TEXT_MAX  512 /* bytes shown of any one text */

struct problem {
	const struct refusal *refusal; /* constraint is not none */
	struct bytes session;
	struct bytes request_id;
	unsigned retry_after_s; /* 0: not said */
	bool is_head;		/* the request was HEAD: no body bytes */
	bool close;		/* Connection: close */
	bool is_for_git; /* text/plain, which git shows as "remote: ..." */
};

/* Append the whole response. 0, or -1 when out has no room
 * (PROBLEM_BYTES_MAX is enough). A 407 asks for Basic or
 * Bearer, a 405 has Allow. */
int problem_write(struct buf *out, const struct problem *problem);

#endif
