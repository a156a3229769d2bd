/*
 * Text with what is written around its characters undone: escapes of URLs
 * (%41) and of JSON (\u0041, \n), and the zero bytes that UTF-16 and UTF-32
 * put beside them; so many times. What is no escape is as it stands. Bytes
 * in, bytes out, of any untrusted text; no allocation.
 *
 *	unwrap_begin(&unwrap, rounds);
 *	len = unwrap_some(&unwrap, &text, out, room);	... until text is empty
 *	len = unwrap_end(&unwrap, out);
 */
#ifndef POLICIES_INSPECT_UNWRAP_H
#define POLICIES_INSPECT_UNWRAP_H

#include <stdbool.h>

#include "common/bytes.h"

#define UNWRAP_ROUNDS_MAX 3
#define UNWRAP_ESCAPE_MAX 6 /* \u0041 */
/* What one byte, or the end, can set free in all rounds together. */
#define UNWRAP_OUT_MAX (UNWRAP_ROUNDS_MAX * UNWRAP_ESCAPE_MAX)

/* What may yet be an escape. */
struct unwrap_held {
	uint8_t bytes[UNWRAP_ESCAPE_MAX];
	size_t len;
};

struct unwrap {
	struct unwrap_held rounds[UNWRAP_ROUNDS_MAX];
	size_t count;
	bool may_go_on; /* another round may undo more */
};

/* Does a text have anything that could be undone? */
bool unwrap_is_wrapped(struct bytes text);
/* rounds is 1 to UNWRAP_ROUNDS_MAX: how often it is undone. */
void unwrap_begin(struct unwrap *unwrap, size_t rounds);
/* Take bytes off the front of text, and write what they mean to out, which
 * has room for that many (at least UNWRAP_OUT_MAX); how many were written. */
size_t unwrap_some(struct unwrap *unwrap, struct bytes *text, uint8_t *out,
		   size_t room);
/* The text is over: what was held, at most UNWRAP_OUT_MAX bytes. */
size_t unwrap_end(struct unwrap *unwrap, uint8_t *out);

#endif
