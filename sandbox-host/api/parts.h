/*
 * What the files that write answers share. Private to reply.c and stream.c.
 */
#ifndef SANDBOX_HOST_API_PARTS_H
#define SANDBOX_HOST_API_PARTS_H

#include "sandbox-host/api/conn.h"

struct reply_head {
	unsigned status;
	const char *content_type; /* NULL: none */
	enum framing framing;
	uint64_t len;
	bool keep_alive;
};
/* Append the head with the fields that were added. 0, or -1. */
int reply_head(struct buf *out, const struct exchange *exchange,
	       const struct reply_head *head);

#endif
