/*
 * Objects that a proof lacks, fetched by the edge for packcheck with the
 * session's own read right: one protocol v2 `fetch` (gitprotocol-v2(5)).
 * POST git-upload-pack with "Git-Protocol: version=2".
 *
 * Packcheck names what it lacks (msg_pack_verdict.wants) until it can say
 * yes or no; the edge stops after ANCESTRY_ROUNDS_MAX.
 */
#ifndef GATEWAY_GIT_ANCESTRY_H
#define GATEWAY_GIT_ANCESTRY_H

#include "common/buf.h"
#include "common/err.h"
#include "gateway/flow/messages.h"

#define ANCESTRY_ROUNDS_MAX 24
#define ANCESTRY_WANTS_MAX  256
/* GIT_REFS_MAX tips fit, of 64 digits. */
#define ANCESTRY_REQUEST_MAX	(2 * 1024 * 1024)
#define ANCESTRY_PACK_BYTES_MAX (256 * 1024 * 1024)

struct ancestry_ask {
	const struct msg_pack_oid *wants; /* hex */
	size_t wants_count;
	struct bytes have; /* old tip of the update: its ancestors are not
			      sent. Empty when the wants are not commits
			      (WANTS_BASES) */
	const struct bytes *tips; /* with WANTS_KNOWN, in its place: hex */
	size_t tips_count;
	size_t oid_hex_len;
	enum pack_wants kind;
	bool has_filter; /* upstream offers it (fetch_advertise) */
};

/* Append the request body. 0, or -1 when out is full or a want is no oid. */
int ancestry_write(const struct ancestry_ask *ask, struct buf *out);

enum ancestry_state {
	ANCESTRY_SECTIONS, /* lines before "packfile" */
	ANCESTRY_SHALLOW,  /* "shallow-info", to its delimiter */
	ANCESTRY_PACK,	   /* side-bands */
	ANCESTRY_DONE,
	ANCESTRY_BROKEN
};

/* Reads the answer (untrusted). */
struct ancestry_reader {
	enum ancestry_state state;
	struct buf line;
	uint64_t pack_bytes;
	/* "shallow-info" may come, once: set after init for WANTS_STATES. */
	bool may_be_shallow;
	bool is_denied; /* upstream refused, in its words */
	unsigned shallow_lines;
};

void ancestry_reader_init(struct ancestry_reader *reader);
void ancestry_reader_release(struct ancestry_reader *reader);
/* Append the pack's bytes to pack (never more than the input's). 0, or -1:
 * upstream refused (ERR_DENIED, with its words), broke the protocol, or sent
 * more than ANCESTRY_PACK_BYTES_MAX. */
int ancestry_reader_feed(struct ancestry_reader *reader, struct bytes input,
			 struct buf *pack, struct err *err);
/* The body ended. 0, or -1 when it was not whole. */
int ancestry_reader_end(const struct ancestry_reader *reader, struct err *err);

#endif
