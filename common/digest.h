/*
 * SHA-256 and random bytes: leases are stored as their digest, the ledger
 * is chained with it. libcrypto stands behind it.
 */
#ifndef COMMON_DIGEST_H
#define COMMON_DIGEST_H

#include "common/bytes.h"
#include "common/err.h"

#define DIGEST_LEN	  32
#define DIGEST_SHA1_LEN	  20
#define DIGEST_SHA512_LEN 64

/* SHA-256 (FIPS 180-4) of a and then b; b may be empty. Opens no file, not
 * even at its first use. */
void digest_sha256(struct bytes a, struct bytes b, uint8_t out[DIGEST_LEN]);
/* SHA-256 of what comes in pieces. NULL: memory is out. */
struct digest_stream;
struct digest_stream *digest_open(void);
void digest_feed(struct digest_stream *stream, struct bytes bytes);
/* Free it (NULL: nothing); out may be NULL. */
void digest_close(struct digest_stream *stream, uint8_t out[DIGEST_LEN]);
/* SHA-1 (FIPS 180-4), for protocols that name it. Not where strength
 * counts. */
void digest_sha1(struct bytes bytes, uint8_t out[DIGEST_SHA1_LEN]);
/* SHA-512 (FIPS 180-4). Opens no file either. */
void digest_sha512(struct bytes bytes, uint8_t out[DIGEST_SHA512_LEN]);
/* len bytes from getrandom(2); dies (assert) if the kernel has none. */
void random_bytes(void *out, size_t len);
/* Lower-case base32 (RFC 4648 alphabet, no padding) of 128 random bits into
 * out[27], terminated: 26 characters. */
void random_id(char out[27]);

#endif
