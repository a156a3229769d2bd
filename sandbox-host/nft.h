/*
 * One batch of nf_tables messages (linux/netfilter/nf_tables.h), written as
 * they go to the kernel: either all of it holds or nothing. By hand, since
 * libnftables' parser and cache took a quarter of a sandbox's start.
 *
 *	nft_begin(&batch, "sallyport");
 *	nft_add_chain(&batch, &chain);
 *	nft_rule_begin(&batch, "out");
 *	nft_match_meta(&batch, NFT_META_L4PROTO, tcp);
 *	nft_do_redirect(&batch, 3128);
 *	nft_rule_end(&batch);
 *	nft_commit(&batch, &err);
 *
 * A rule's matches come first, in order, then what it does. The table is of
 * the inet family. What is written is ours, never input: too much of it is
 * a bug.
 */
#ifndef SANDBOX_HOST_NFT_H
#define SANDBOX_HOST_NFT_H

#include <stdalign.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/err.h"

#define NFT_BATCH_BYTES	  (16 * 1024)
#define NFT_MESSAGE_BYTES 1024 /* no message is larger */

struct nlmsghdr;
struct nlattr;

struct nft_batch {
	const char *table;
	struct nlmsghdr *message;
	struct nlattr *expressions; /* of the rule that is being written */
	size_t len;
	uint32_t sequence;
	alignas(8) char bytes[NFT_BATCH_BYTES];
};

struct nft_chain {
	const char *name, *type; /* "nat", "filter" */
	uint32_t hook;		 /* enum nf_inet_hooks */
	int32_t priority;
	uint32_t policy; /* NF_ACCEPT, NF_DROP */
};

void nft_begin(struct nft_batch *batch, const char *table);
void nft_add_chain(struct nft_batch *batch, const struct nft_chain *chain);

void nft_rule_begin(struct nft_batch *batch, const char *chain);
void nft_rule_end(struct nft_batch *batch);

/* The packet's enum nft_meta_keys is value, as it stands in a register. */
void nft_match_meta(struct nft_batch *batch, uint32_t key, struct bytes value);
/* Its bytes at offset of an enum nft_payload_bases are value. */
void nft_match_payload(struct nft_batch *batch, uint32_t base, uint32_t offset,
		       struct bytes value);
/* Its connection is in one of these states (bits of NFT_CT_STATE). */
void nft_match_state(struct nft_batch *batch, uint32_t states);

/* NF_ACCEPT or NF_DROP. */
void nft_do_verdict(struct nft_batch *batch, uint32_t verdict);
void nft_do_redirect(struct nft_batch *batch, uint16_t port);
/* Another IPv4 destination (4 bytes), the same port. */
void nft_do_dnat4(struct nft_batch *batch, struct bytes address);
/* An enum nft_reject_types, and an enum nft_reject_inet_code. */
void nft_do_reject(struct nft_batch *batch, uint32_t type, uint8_t code);

/* Send it to this network namespace's kernel and wait for the answer. 0, or
 * -1: nothing of it holds. */
int nft_commit(struct nft_batch *batch, struct err *err);

#endif
