/*
 * One coding each, shared by decode*.c alone: all of in is one stream, whose
 * content is appended to out. 0; or -1: what it is not, or out is full.
 */
#ifndef POLICIES_INSPECT_DECODE_PARTS_H
#define POLICIES_INSPECT_DECODE_PARTS_H

#include "common/buf.h"
#include "common/err.h"

#define DECODE_STEP_MAX (64 * 1024) /* bytes made at once */

/* Room for at most DECODE_STEP_MAX bytes at *to, at least one; 0 when out
 * is full, *err set. */
size_t decode_room(struct buf *out, uint8_t **to, struct err *err);

int decode_gzip(struct bytes in, struct buf *out, struct err *err);
int decode_deflate(struct bytes in, struct buf *out, struct err *err);
int decode_brotli(struct bytes in, struct buf *out, struct err *err);
int decode_zstd(struct bytes in, struct buf *out, struct err *err);

#endif
