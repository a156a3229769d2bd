/*
 * The hash chain of the ledger (security H8): the hash of a row covers its
 * own JSON and the hash of the row before it,
 *
 *	hash(n) = SHA-256(hash(n - 1) || json(n)), hash(0) = the genesis
 *
 * so that no row can be altered, removed from the middle or moved without
 * every later hash changing. json(n) is the row's line without its last two
 * members: a line as shown is json(n) with ,"prev":"..","hash":".."
 * put before its closing brace, so whoever holds an export can check it.
 *
 * The chain alone does not see that its tail was cut off. For that the store
 * keeps the head (sequence and hash of the last row) in a row of its own
 * and in memory, and the process logs it: see store.h.
 */
#ifndef GATEWAY_LEDGER_CHAIN_H
#define GATEWAY_LEDGER_CHAIN_H

#include "common/buf.h"
#include "common/digest.h"

/* Where the chain ends: the last row. */
struct chain {
	uint64_t sequence; /* 0: there is no row yet */
	uint8_t hash[DIGEST_LEN];
};

/* The empty chain: sequence 0 and the genesis hash, which is the SHA-256 of
 * the text "sallyport ledger 1". */
void chain_start(struct chain *chain);

/* The hash of a row from the hash before it and its JSON. */
void chain_hash(const uint8_t prev[DIGEST_LEN], struct bytes json,
		uint8_t hash[DIGEST_LEN]);

/* Append the line of a row (without line feed) to out: its JSON (an object)
 * and the two members that chain it. 0, or -1 when out has no room. */
int chain_add_line(struct buf *out, struct bytes json, struct bytes prev,
		   struct bytes hash);

#endif
