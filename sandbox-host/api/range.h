/*
 * The Range field of a download (RFC 9110 14.2), untrusted.
 */
#ifndef SANDBOX_HOST_API_RANGE_H
#define SANDBOX_HOST_API_RANGE_H

#include "common/bytes.h"

struct range {
	uint64_t from, len;
};

enum range_kind {
	RANGE_ALL,  /* there is none, or one that need not be followed: of
		       another unit, or several */
	RANGE_PART, /* *range */
	RANGE_NONE  /* nothing of it is there: 416 */
};

/* What of size bytes does field (empty: there is none) ask for? */
enum range_kind range_parse(struct bytes field, uint64_t size,
			    struct range *range);

#endif
