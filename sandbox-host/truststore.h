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

/* The bags of the certificates that stand in pem, as bytes in arena; what is
 * none is left out. Their names are numbers from *number on, which is advanced:
 * no two bags of a store may have one. 0, or -1 when arena has no room: some
 * twice pem's length is enough. */
int truststore_bags(struct arena *arena, struct bytes pem, unsigned *number,
		    struct bytes *bags);
/* What a store has before its bags, which are that long together and stand in
 * it one behind the other. Empty when arena has no room. */
struct bytes truststore_head(struct arena *arena, size_t bags_len);

#endif
