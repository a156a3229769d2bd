/*
 * Secrets in a stream of untrusted bytes: tokens of known kinds (secret_kinds)
 * and the session's own secrets (prints), across the borders of chunks.
 *
 *	struct secret_scan *scan = secret_scan_open(&look, &err);
 *	found = secret_scan_feed(scan, chunk);	... for each chunk
 *	found = secret_scan_end(scan);		at the end of the text
 *	secret_scan_close(scan);
 *
 * The database (some 400 KiB) is read when the first scan opens, and kept.
 */
#ifndef POLICIES_INSPECT_SECRETS_H
#define POLICIES_INSPECT_SECRETS_H

#include "common/bytes.h"
#include "common/err.h"

#define SECRET_TEXT_MAX	  2048 /* of a token, as far as it is looked at */
#define SECRET_EXEMPT_MAX 64

struct secret_prints;

/* What to look for beside the known kinds. All borrow, for the scan's life. */
struct secret_look {
	const struct secret_prints *prints; /* may be NULL */
	/* Worthless look-alikes: a token that stands whole in one of these is
	 * none. */
	const struct bytes *exempt;
	size_t exempt_count; /* at most SECRET_EXEMPT_MAX */
	/* SHA-256 of one more (DIGEST_LEN bytes), such as the session's
	 * lease, of whom not even the edge knows more; may be NULL. */
	const uint8_t *exempt_digest;
};

struct secret_scan;

/* NULL: this processor or memory forbids; what is not scanned must not
 * pass. */
struct secret_scan *secret_scan_open(const struct secret_look *look,
				     struct err *err);
/* Look at the next bytes. What the text holds so far: the kind of token
 * (static), or the name of the session's secret (as long as the prints
 * live); NULL: nothing yet. Found once, it stays. A failure of the scanner
 * counts as a find. */
const char *secret_scan_feed(struct secret_scan *scan, struct bytes bytes);
/* The text is over: the same answer for all of it. The scan is then as it
 * was opened. */
const char *secret_scan_end(struct secret_scan *scan);
void secret_scan_close(struct secret_scan *scan);

#endif
