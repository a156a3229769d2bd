/*
 * The certificates minted so far, by canonical name: a bounded cache of the
 * edge. Its session is the only one that it ever serves (security B14, B15).
 */
#ifndef GATEWAY_TLS_LEAVES_H
#define GATEWAY_TLS_LEAVES_H

#include <openssl/x509.h>
#include <stdbool.h>

#include "common/bytes.h"
#include "common/err.h"
#include "policies/host.h"

#define TLS_LEAVES_MAX 256 /* about 1 KiB each; the least used goes first */
/* So many are held as OpenSSL's objects, too, which take 7 KiB each. */
#define TLS_LEAVES_OPEN_MAX 16
/* A leaf is not used any more when less than this is left of it. */
#define TLS_LEAF_REST_MS (60ull * 1000)

struct tls_leaf {
	char name[HOST_NAME_MAX_LEN + 1];
	bool is_refusal;	 /* minted with MINT_REFUSE */
	X509 *chain[2];		 /* leaf, CA unless it is a root: to be sent */
	size_t count;		 /* of chain; 0: it is not open */
	uint8_t *der;		 /* the leaf's, the CA's behind it */
	size_t leaf_len, ca_len; /* ca_len 0: it is a root */
	uint64_t expires_ms;	 /* wall clock */
	uint64_t used;		 /* turn of the cache's counter */
};

struct tls_leaves {
	struct tls_leaf *items;
	size_t count;
	size_t open_count;
	uint64_t turn;
};

void tls_leaves_init(struct tls_leaves *leaves);
void tls_leaves_release(struct tls_leaves *leaves);
/* The leaf of that name that is good for a while, open, or NULL. A refusal's
 * leaf serves only refusals; a serving one serves both. Valid until the next
 * call for the cache. */
const struct tls_leaf *tls_leaves_find(struct tls_leaves *leaves,
				       struct bytes name, bool is_refusal,
				       uint64_t wall_ms);
/* Keep what the minter sent (DER, copied). The kept leaf, open, as above, or
 * NULL with *err. */
struct tls_leaf_der {
	struct bytes leaf, ca;
	uint64_t expires_ms;
};
const struct tls_leaf *tls_leaves_add(struct tls_leaves *leaves,
				      struct bytes name, bool is_refusal,
				      const struct tls_leaf_der *der,
				      struct err *err);

#endif
