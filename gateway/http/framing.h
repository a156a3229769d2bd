/*
 * Where a body ends, and its payload without the framing. The decoder turns
 * untrusted bytes into spans of payload that borrow from the input; llhttp
 * (strict) reads chunk sizes and line ends, after the guard's rules: 1..16
 * hex digits and no prefix, an extension of at most 256 bytes (dropped),
 * CRLF exactly, a trailer section that the guard accepts (dropped, unless
 * somebody keeps it).
 *
 *	while (input.len) {
 *		result = body_decode(&decoder, &input, &payload);
 *		... use payload (may be empty) ...
 *		if (result != BODY_MORE)
 *			break;
 *	}
 *
 * The other way: chunk_header() and the two literals. No allocation.
 */
#ifndef GATEWAY_HTTP_FRAMING_H
#define GATEWAY_HTTP_FRAMING_H

#include <llhttp.h>

#include "common/buf.h"
#include "gateway/http/guard.h"

#define CHUNK_DIGITS_MAX 16

enum body_result { BODY_MORE, BODY_END, BODY_INVALID };

struct body_decoder {
	enum framing framing;
	uint64_t left;	     /* of the length, or of this chunk's data */
	uint64_t total;	     /* payload bytes so far */
	const char *reason;  /* of BODY_INVALID: a literal */
	unsigned state;	     /* framing.c */
	unsigned line_bytes; /* of the chunk line or its extension */
	llhttp_t parser;     /* chunked only */
	struct guard trailer;
	/* Where the lines of a trailer section go, once initialised; NULL:
	 * they are dropped. Holds GUARD_TRAILER_MAX. For trailers.h. */
	struct buf *keep;
};

/* A decoder for a body that starts at the next byte. */
void body_decoder_init(struct body_decoder *decoder, enum framing framing,
		       uint64_t body_len);

/* Take bytes from the front of *input (untrusted), which is advanced past
 * them, up to and with one span of payload. *payload may be empty; it
 * borrows from input. BODY_MORE with *input empty: feed more later.
 * BODY_END: the body is complete and *input is what follows it (at once for
 * FRAMING_NONE and length 0, also with empty input). BODY_INVALID:
 * decoder->reason; close. FRAMING_TO_CLOSE never ends here. */
enum body_result body_decode(struct body_decoder *decoder, struct bytes *input,
			     struct bytes *payload);

/* May the peer's end of stream come now? True for FRAMING_TO_CLOSE and
 * after BODY_END; false: the body was cut short. */
bool body_decoder_may_end(const struct body_decoder *decoder);

/* How a response goes to the client: chunked when its end was chunked or to
 * close, but HTTP/1.0 knows only to-close. */
enum framing framing_for_client(const struct response *response,
				const struct request *request);

#define CHUNK_HEADER_MAX 18 /* 16 digits, CR, LF */
#define CHUNK_TAIL	 "\r\n"
#define CHUNK_LAST	 "0\r\n\r\n"

/* Write the line before a chunk of len (> 0) bytes into out, which is not
 * terminated; its length. CHUNK_TAIL follows the data, CHUNK_LAST the last
 * chunk. */
size_t chunk_header(uint64_t len, char out[CHUNK_HEADER_MAX]);

/* Append payload as framing wants it: as it is, or as one chunk (nothing
 * for an empty payload). 0, or -1 when out has no room. */
int body_encode(struct buf *out, enum framing framing, struct bytes payload);
/* Append what ends the body: CHUNK_LAST, or nothing. 0/-1. */
int body_encode_end(struct buf *out, enum framing framing);

#endif
