#include "gateway/ledger/chain.h"

#define GENESIS "sallyport ledger 1"

void chain_start(struct chain *chain)
{
	chain->sequence = 0;
	digest_sha256(bytes_str(GENESIS), bytes_from(NULL, 0), chain->hash);
}

void chain_hash(const uint8_t prev[DIGEST_LEN], struct bytes json,
		uint8_t hash[DIGEST_LEN])
{
	digest_sha256(bytes_from(prev, DIGEST_LEN), json, hash);
}

static int add_member(struct buf *out, const char *name, struct bytes digest)
{
	char hex[2 * DIGEST_LEN + 1];

	if (digest.len != DIGEST_LEN)
		return -1;
	bytes_to_hex(digest, hex);
	return buf_add_format(out, ",\"%s\":\"%s\"", name, hex);
}

int chain_add_line(struct buf *out, struct bytes json, struct bytes prev,
		   struct bytes hash)
{
	if (json.len == 0 || buf_add(out, bytes_slice(json, 0, json.len - 1)) ||
	    add_member(out, "prev", prev) < 0 ||
	    add_member(out, "hash", hash) < 0)
		return -1;
	return buf_add_byte(out, '}');
}
