/*
 * Git's pkt-line (gitprotocol-common(5)): four lower-case hex digits of
 * length, themselves included, then the payload. 0000 is a flush, 0001 a
 * delimiter, 0002 the end of a response. Stricter than git: upper-case
 * digits and 0003 are refused (security E5).
 */
#ifndef COMMON_PKTLINE_H
#define COMMON_PKTLINE_H

#include "common/buf.h"
#include "common/bytes.h"

#define PKTLINE_MAX	    65520 /* LARGE_PACKET_MAX, header included */
#define PKTLINE_PAYLOAD_MAX (PKTLINE_MAX - 4)

enum pktline_kind {
	PKTLINE_MORE,	 /* not whole yet: read on */
	PKTLINE_DATA,	 /* payload (may be empty: "0004") */
	PKTLINE_FLUSH,	 /* 0000 */
	PKTLINE_DELIM,	 /* 0001 */
	PKTLINE_END,	 /* 0002 */
	PKTLINE_INVALID, /* not a pkt-line */
	PKTLINE_KIND_MAX
};

/* Look at the front of input (untrusted). On DATA, *payload borrows from
 * input. *used is how many bytes the packet takes (0 for MORE, INVALID). */
enum pktline_kind pktline_next(struct bytes input, struct bytes *payload,
			       size_t *used);

/* Append. 0, or -1 when the payload is too long or out is full. */
int pktline_add(struct buf *out, struct bytes payload);
int pktline_add_format(struct buf *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
int pktline_add_flush(struct buf *out);
int pktline_add_delim(struct buf *out);
/* Payload of any length on side-band (1..3), split at 65,515 bytes; all of
 * it or nothing. An empty payload adds nothing. */
int pktline_add_band(struct buf *out, unsigned band, struct bytes payload);

#endif
