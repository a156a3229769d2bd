/*
 * The reading side. A clone or fetch cannot be limited to a branch (wants
 * are not limited to what is advertised); what is done here: only the
 * commands ls-refs and fetch, only arguments that are known, and nothing
 * that sends the client to another host (packfile-uris, bundle-uri).
 *
 * Untrusted identity bytes in (the edge inflates), our own pkt-lines out.
 */
#ifndef GATEWAY_GIT_FETCH_H
#define GATEWAY_GIT_FETCH_H

#include "common/buf.h"
#include "common/err.h"
#include "policies/verdict.h"

/* A request body, and the lines in it: 2,000,000 "have" lines and more. */
#define FETCH_REQUEST_BYTES_MAX (128 * 1024 * 1024)
/* A feed of n bytes appends at most this much to out (both readers). */
#define FETCH_OUT_MAX(n) ((n) + 72 * 1024)

/* ---- POST git-upload-pack ---- */

enum fetch_command {
	FETCH_UNKNOWN, /* nothing read yet */
	FETCH_LS_REFS, /* v2 */
	FETCH_FETCH,   /* v2 */
	FETCH_V0       /* want/have of v0 and v1 */
};

enum fetch_state {
	FETCH_START,
	FETCH_CAPABILITIES, /* v2, before the delimiter */
	FETCH_ARGUMENTS,    /* v2, after it; v0: all of it */
	FETCH_DONE	    /* v2: the flush was seen; v0: "done" */
};

struct fetch_request {
	int version; /* that the client's Git-Protocol asked for: 0, 1, 2 */
	enum fetch_command command;
	enum fetch_state state;
	struct buf line;
	uint64_t bytes;
	uint64_t wants;		/* for the record */
	struct verdict verdict; /* set when feed or end says -1 */
};

/* version as git_protocol_version() gave it, 0 without the field. */
void fetch_request_init(struct fetch_request *fetch, int version);
void fetch_request_release(struct fetch_request *fetch);
/* 0, what may pass stands in out; -1: refused (verdict: git_not_allowed or
 * request_malformed), or out is full. Nothing of a packet that is refused is
 * written. */
int fetch_request_feed(struct fetch_request *fetch, struct bytes input,
		       struct buf *out);
/* The body ended. 0/-1. */
int fetch_request_end(struct fetch_request *fetch);

/* ---- info/refs?service=git-upload-pack, upstream's answer ---- */

struct fetch_advertise {
	enum {
		FETCH_ADV_SERVICE,
		FETCH_ADV_SERVICE_FLUSH,
		FETCH_ADV_FIRST,
		FETCH_ADV_V2,
		FETCH_ADV_V0,
		FETCH_ADV_DONE,
		FETCH_ADV_BROKEN
	} state;
	struct buf line;
	size_t lines;
	size_t oid_hex_len; /* 40 or 64, when v2 or v0 said so; else 40 */
	bool has_filter;    /* v2 fetch or v0: partial clone is offered */
	bool is_v2;
	bool is_error; /* upstream sent ERR (passed on) */
};

void fetch_advertise_init(struct fetch_advertise *adv);
void fetch_advertise_release(struct fetch_advertise *adv);
/* out may be NULL: learn only. 0, or -1: upstream does not follow the
 * protocol, or out is full. */
int fetch_advertise_feed(struct fetch_advertise *adv, struct bytes input,
			 struct buf *out, struct err *err);
int fetch_advertise_end(const struct fetch_advertise *adv, struct err *err);

#endif
