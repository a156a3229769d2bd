/*
 * Fingerprints of a session's own secrets: who holds them can find the
 * secrets in a stream, and cannot tell what they are. The vault makes them,
 * an edge holds them.
 *
 * Each secret (its middle, when it is long) is looked for as it is, in
 * base64 (at the three places where it can start, both alphabets, less what
 * its neighbours change), in hex (both cases) and URL-escaped (RFC 3986,
 * both cases of the digits). A form is known by 16 bits of the Rabin-Karp
 * hash (modulo 2^61 - 1, to a random base) of its last bytes, so that few
 * windows are candidates, and by a keyed SHA-256 of all of it. Not more of
 * the hash: it is linear, and would help to guess. Secrets shorter than
 * PRINTS_SECRET_MIN could be guessed all the same, and are left out.
 */
#ifndef POLICIES_INSPECT_PRINTS_H
#define POLICIES_INSPECT_PRINTS_H

#include <stdint.h>

#include "common/buf.h"
#include "common/bytes.h"
#include "common/err.h"

#define PRINTS_SECRET_MIN  16
#define PRINTS_SECRETS_MAX 32
#define PRINTS_NAME_MAX	   64
#define PRINTS_BYTES_MAX   (16 * 1024)

struct secret_prints;

/* Fresh keys, no secret. NULL: memory is out. */
struct secret_prints *prints_new(void);
/* Once for whoever made them, and for each who keeps them (NULL: nothing). */
void prints_free(struct secret_prints *prints);
/* The same, for as long as who asks needs them, whoever else lets go. */
struct secret_prints *prints_keep(struct secret_prints *prints);

/* Add a secret under its name (1 to PRINTS_NAME_MAX bytes, no NUL). 0, also
 * when it is too short to be looked for; -1: too many, or a name that is
 * none. */
int prints_add(struct secret_prints *prints, struct bytes name,
	       struct bytes secret, struct err *err);

/* As bytes, at most PRINTS_BYTES_MAX; the keys are in them. 0, or -1. */
int prints_write(const struct secret_prints *prints, struct buf *out);
/* From bytes of a keeper; NULL when they are none. */
struct secret_prints *prints_read(struct bytes bytes, struct err *err);

struct prints_scan;

/* NULL: memory is out. prints outlive the scan. */
struct prints_scan *prints_scan_open(const struct secret_prints *prints);
/* The name of a secret that the bytes fed so far hold, or NULL. */
const char *prints_scan_feed(struct prints_scan *scan, struct bytes bytes);
/* Forget the bytes. */
void prints_scan_reset(struct prints_scan *scan);
void prints_scan_close(struct prints_scan *scan);

#endif
