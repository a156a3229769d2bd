/*
 * Whole pkt-lines out of chunks that split them anywhere. Used by every
 * parser of this folder; `held` keeps the packet that is not whole yet.
 */
#ifndef GATEWAY_GIT_PACKETS_H
#define GATEWAY_GIT_PACKETS_H

#include "common/buf.h"
#include "common/pktline.h"

/* A bound for `held` (buf_init). */
#define PACKETS_HELD_MAX PKTLINE_MAX

/* Take the next packet from the front of *input (untrusted) into *payload,
 * which is valid until the next call and while the input is. MORE: all of
 * the input was taken, the packet is not whole. INVALID: not a pkt-line, or
 * memory is out. */
enum pktline_kind packets_take(struct buf *held, struct bytes *input,
			       struct bytes *payload);
/* Is there half a packet? */
bool packets_is_split(const struct buf *held);

/* The payload without its last LF, if it has one. */
struct bytes packets_line(struct bytes payload);
/* Does line start with "<word> "? Then *rest is what follows. */
bool packets_word(struct bytes line, const char *word, struct bytes *rest);
/* Bytes 0x21..0x7e only, 1..max of them. */
bool packets_is_token(struct bytes text, size_t max);
/* No control byte and no DEL, 1..max bytes. */
bool packets_is_text(struct bytes text, size_t max);

#endif
