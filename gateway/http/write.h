/*
 * Our own serialisation of heads: the only bytes that ever go on, never the
 * ones that came. Every part is checked again as it is written; a CR, LF,
 * NUL or other control byte in it is a bug of ours (assert). Who writes
 * what another process sent checks it first with http_is_token(),
 * http_is_value() and http_is_target() (guard.h).
 *
 * All functions append to out and return 0, or -1 when out has no room; out
 * may then hold a part of the head.
 */
#ifndef GATEWAY_HTTP_WRITE_H
#define GATEWAY_HTTP_WRITE_H

#include "common/buf.h"
#include "gateway/flow/message.h"
#include "gateway/flow/target.h"

/* "POST /path?query HTTP/1.1\r\nHost: h\r\n": target's host, its port when
 * it is not the scheme's own; IPv6 in brackets. path holds the query. */
int write_request_line(struct buf *out, struct bytes method, struct bytes path,
		       const struct target *target);
/* Is it of the host, the body's framing, the connection or a proxy? Such
 * fields are written by whoever writes a head, and never copied. */
bool write_is_own(struct bytes name);
/* "Name: value\r\n" */
int write_field(struct buf *out, struct bytes name, struct bytes value);
/* The field that delimits the body, if there is one. */
int write_framing(struct buf *out, enum framing framing, uint64_t body_len);
/* The empty line. */
int write_end(struct buf *out);

/* RFC 9110 10.1.1: go on with the body. */
#define WRITE_CONTINUE "HTTP/1.1 100 Continue\r\n\r\n"

/* RFC 9110 15's words for a status that we send; "Status" for another. */
struct bytes write_reason(unsigned status);

/* A whole request head in origin-form for an upstream: normalised path,
 * Host from target, request->fields, framing ("Content-Length: 0" for a
 * POST, PUT or PATCH without body). Never a CONNECT. */
int write_request(struct buf *out, const struct request *request,
		  const struct target *target);

/* A whole response head for a client: status line, fields, framing (as
 * response->framing says: see framing_for_client()), and
 * "Connection: close" unless keep_alive. */
int write_response(struct buf *out, const struct response *response,
		   bool keep_alive);

#endif
