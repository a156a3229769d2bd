/*
 * Content-Encoding (RFC 9110 8.4) undone: gzip, x-gzip, deflate (RFC 1950),
 * br, zstd, identity. Each coding is exactly one complete stream with
 * nothing after it. Everything else is an error; the bytes are untrusted.
 */
#ifndef POLICIES_INSPECT_DECODE_H
#define POLICIES_INSPECT_DECODE_H

#include <stdint.h>

#include "common/buf.h"
#include "common/bytes.h"
#include "common/err.h"

/* What is always allowed, whatever its ratio. */
#define DECODE_SMALL_MAX (64 * 1024)
/* RFC 9659: a window of at most 8 MiB. */
#define DECODE_ZSTD_WINDOW_BITS 23

struct decoded {
	struct bytes content; /* borrows from held, or from what was sent */
	struct buf held;
};

/* Undo the codings of that field value (at most INSPECT_CODINGS_MAX, the
 * last one first); at most max bytes come out of each. 0; or -1: unknown
 * coding, damaged or unfinished stream, trailing bytes, too much output
 * (ERR_TOO_LARGE). Release *out in both cases. */
int decode_content(struct bytes encoding, struct bytes body, uint64_t max,
		   struct decoded *out, struct err *err);
void decoded_release(struct decoded *decoded);

#endif
