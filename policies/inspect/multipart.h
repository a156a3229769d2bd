/*
 * multipart/form-data (RFC 7578, RFC 2046 5.1) from untrusted bytes, as
 * strict as two readers can agree on: no preamble, no epilogue, no padding
 * of boundaries, CRLF alone, the boundary nowhere else, of part headers only
 * Content-Disposition, Content-Type and a true Content-Length, no nested
 * multipart, no filename*, no '\' and no encoded word in names.
 */
#ifndef POLICIES_INSPECT_MULTIPART_H
#define POLICIES_INSPECT_MULTIPART_H

#include "common/arena.h"
#include "common/fields.h"
#include "policies/inspect/media.h"

#define MULTIPART_BOUNDARY_MAX 70   /* RFC 2046 5.1.1 */
#define MULTIPART_HEAD_MAX     4096 /* bytes of one part's headers */

/* Is it multipart/form-data? */
bool multipart_is(const struct media *media);

/* Names and contents of the parts, in their order, and in files those of them
 * that servers take for a file; views borrow from body, the arrays stand in
 * arena (at most INSPECT_FIELDS_MAX fields each). NULL when read; else why
 * not (static). */
const char *multipart_read(const struct media *media, struct bytes body,
			   struct arena *arena, struct fields *fields,
			   struct fields *files);

#endif
