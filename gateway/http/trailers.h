/*
 * The few trailers that pass: gRPC's status comes behind the body of its
 * responses (grpc-status, grpc-message, grpc-status-details-bin), so fields
 * named grpc-* pass from upstream to client where both speak HTTP/2. Every
 * other trailer is dropped (security A17).
 *
 * A body_decoder with keep set (framing.h) collects the section, which its
 * guard accepted; what is untrusted about it stays so.
 */
#ifndef GATEWAY_HTTP_TRAILERS_H
#define GATEWAY_HTTP_TRAILERS_H

#include "common/arena.h"
#include "common/buf.h"
#include "gateway/flow/message.h"

#define TRAILERS_MAX 16 /* that pass; more are dropped */

/* Does a trailer of that name pass? */
bool trailer_passes(struct bytes name);
/* The fields of section ("Name: value\r\n"..., with or without the empty
 * line; untrusted) that pass, as views of it; the array is arena's. 0, or
 * -1 when memory is out. */
int trailers_read(struct arena *arena, struct bytes section,
		  struct fields *trailers);
/* Append the last chunk and those of trailers that pass. 0, or -1 when out
 * has no room. */
int trailers_write(struct buf *out, const struct fields *trailers);

/* Is it of a kind whose response ends with trailers: gRPC, or TE: trailers? */
bool request_wants_trailers(const struct request *request);

#endif
