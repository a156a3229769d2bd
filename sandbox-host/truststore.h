/*
 * What a sandbox trusts, as Java reads it: a PKCS#12 file (RFC 7292) of
 * certificate bags, in the clear and without a seal, as all of it is public.
 * Each bag has a name of its own and Oracle's trustedKeyUsage, without which
 * Java takes a certificate for a mere link of some chain.
 */
#ifndef SANDBOX_HOST_TRUSTSTORE_H
#define SANDBOX_HOST_TRUSTSTORE_H

#include "common/arena.h"
#include "common/bytes.h"

/* The certificates that stand in so many texts (PEM), as bytes in arena; what
 * is none is left out. Empty when arena has no room: some twice the texts'
 * length is enough. */
struct bytes truststore_from_pem(struct arena *arena, const struct bytes *texts,
				 size_t count);

#endif
