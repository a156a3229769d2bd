/*
 * Decode a body's Content-Encoding (identity or gzip, RFC 1952) as it
 * arrives, with bounds on what comes out (security E17, F9). For the git
 * lane: clients gzip command lists and fetch requests.
 */
#ifndef GATEWAY_HTTP_INFLATE_H
#define GATEWAY_HTTP_INFLATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/err.h"

/* Output may be this many times the input, once past the first
 * INFLATE_FREE_BYTES. DEFLATE's own limit is 1032. */
#define INFLATE_RATIO_MAX  200
#define INFLATE_FREE_BYTES (1024 * 1024)

struct inflater;

enum inflate_result {
	INFLATE_MORE,	/* give more input, or room */
	INFLATE_END,	/* the gzip member is complete; what is left of
			   input follows it and must be empty */
	INFLATE_INVALID /* not gzip, damaged, or past a bound: err says */
};

/* coding is the value of Content-Encoding (untrusted): empty, "identity",
 * "gzip" or "x-gzip"; else NULL with ERR_UNSUPPORTED. output_max bounds all
 * bytes that come out. Free with inflater_free(). */
struct inflater *inflater_new(struct bytes coding, uint64_t output_max,
			      struct err *err);
void inflater_free(struct inflater *inflater);

/* Take from the front of *input, which is advanced, and write at most room
 * bytes to out; *made is how many. Ready for more when *input is empty or
 * *made < room. identity is INFLATE_MORE for ever. */
enum inflate_result inflater_step(struct inflater *inflater,
				  struct bytes *input, uint8_t *out,
				  size_t room, size_t *made, struct err *err);

/* May the body end now? True for identity and after INFLATE_END. */
bool inflater_may_end(const struct inflater *inflater);

#endif
