/*
 * multipart/form-data (RFC 7578, RFC 2046 5.1) as it comes, from untrusted
 * bytes: an upload need never be held whole. The body starts with its
 * boundary; what is behind the last one is passed by.
 *
 *	while ((event = multipart_next(&parts, &input, &data)) !=
 *MULTIPART_MORE)
 *
 * (policies/inspect/multipart.h reads a whole body, more strictly.)
 */
#ifndef SANDBOX_HOST_API_MULTIPART_H
#define SANDBOX_HOST_API_MULTIPART_H

#include "common/bytes.h"

#define MULTIPART_HEAD_MAX 4096 /* bytes of one part's headers */
/* Bytes that may have to be offered again. */
#define MULTIPART_KEPT_MAX (MULTIPART_HEAD_MAX + 128)

enum multipart_event {
	MULTIPART_MORE,	  /* nothing else before more bytes come */
	MULTIPART_BEGIN,  /* a part; data: its name */
	MULTIPART_DATA,	  /* data: some of it, never empty */
	MULTIPART_END,	  /* of the part */
	MULTIPART_OVER,	  /* of them all; comes once */
	MULTIPART_INVALID /* reason says why */
};

struct multipart {
	/* CRLF, "--" and the boundary. */
	uint8_t delimiter[4 + 70];
	size_t delimiter_len;
	enum {
		MULTIPART_AT_FIRST,
		MULTIPART_AT_LINE, /* behind a boundary */
		MULTIPART_IN_HEAD,
		MULTIPART_IN_DATA,
		MULTIPART_AT_END
	} state;
	const char *reason; /* static */
};

/* From the Content-Type. 0, or -1 with reason. */
int multipart_open(struct multipart *parts, struct bytes content_type);
/* Take the next from input, which then holds the rest: it is to be offered
 * again, with more behind it. data borrows from input. */
enum multipart_event multipart_next(struct multipart *parts,
				    struct bytes *input, struct bytes *data);
/* May the body end here? */
bool multipart_is_over(const struct multipart *parts);

#endif
