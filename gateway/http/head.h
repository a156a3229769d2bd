/*
 * From the bytes of a head that the guard found complete to a struct
 * request or struct response: llhttp (strict) parses start line and fields,
 * and must agree with the guard about how the body is delimited. Nothing
 * here waits or reads; no byte of the input is kept, all views point into
 * the arena (at most HEAD_BYTES_MAX + PATH_MAX_LEN + the fields; give it
 * HEAD_ARENA_BYTES). With ordinary heads everything fits the arena's first
 * block.
 */
#ifndef GATEWAY_HTTP_HEAD_H
#define GATEWAY_HTTP_HEAD_H

#include "common/arena.h"
#include "common/buf.h"
#include "gateway/http/guard.h"

/* What one head takes of an arena at most. */
#define HEAD_ARENA_BYTES (96 * 1024)
/* Fields that a stage of ours may add to a parsed head. */
#define HEAD_FIELDS_SPARE 8

/* Is it one of GET HEAD POST PUT PATCH DELETE OPTIONS CONNECT? */
bool head_method_is_known(struct bytes method);

/*
 * Parse a request. guard said GUARD_COMPLETE with head.len. 0, or -1 with
 * *fault:
 * - method: GET HEAD POST PUT PATCH DELETE OPTIONS CONNECT, else
 *   method_unknown;
 * - target: /path?query, http://host[:port]/path?query, or host:port for
 *   CONNECT; no userinfo, fragment, backslash, 8-bit byte; the path as
 *   path_normalise() leaves it, else path_ambiguous;
 * - Host: host[:port] and nothing else, and the same as the target's when
 *   that names one. HTTP/1.0 may go without when the target names the host
 *   (Python 3.11's CONNECT does);
 * - an Upgrade is upgrade_not_supported, unless it asks for exactly
 *   "websocket": request->is_websocket (gateway/websocket/handshake.h);
 * - request->fields lacks Host, Content-Length, Transfer-Encoding,
 *   Connection, Keep-Alive, Proxy-Connection, TE, Trailer, Upgrade,
 *   HTTP2-Settings, Expect and every Proxy-*; *proxy_authorization is the
 *   value of Proxy-Authorization (twice: refused), empty when there is none.
 * keep_alive is false for HTTP/1.0. A CONNECT has no body: with one it is
 * refused.
 */
int head_request(struct arena *arena, const struct guard *guard,
		 struct bytes head, struct request *request,
		 struct bytes *proxy_authorization, struct http_fault *fault);

/*
 * guard_scan() and head_request() of the request that stands first in `in`,
 * which is taken off it. GUARD_MORE: it is not whole yet, come again when
 * bytes were added; GUARD_INVALID: *fault says why.
 */
enum guard_result head_take_request(struct arena *arena, struct guard *guard,
				    struct buf *in, struct request *request,
				    struct bytes *proxy_authorization,
				    struct http_fault *fault);

/*
 * Parse a response to a request with that method. 0, or -1 with *fault
 * (response_malformed). Framing by RFC 9112 6.3:
 * - 1xx: FRAMING_NONE; the caller skips it (at most HEAD_INTERIM_MAX) and
 *   reads the next head with a fresh guard. 101 is refused unless it was
 *   asked for (guard->may_switch) and switches to "websocket";
 * - to HEAD, and 304: FRAMING_NONE; body_len is what Content-Length said (0
 *   when nothing), for write_response();
 * - 204, and 2xx to CONNECT: FRAMING_NONE;
 * - else chunked, length, or to-close.
 * keep_alive is false for HTTP/1.0, Connection: close, to-close, and a 204
 * that announces a body. A caller that finds bytes after the body closes
 * too (A39).
 */
int head_response(struct arena *arena, const struct guard *guard,
		  struct bytes head, struct bytes request_method,
		  struct response *response, struct http_fault *fault);

#endif
