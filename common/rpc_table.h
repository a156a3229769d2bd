/*
 * The calls of one channel that wait for their reply, by id; also the
 * requests that wait for our answer. An open-addressed table: no allocation
 * a call. Internal to rpc.c.
 */
#ifndef COMMON_RPC_TABLE_H
#define COMMON_RPC_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/rpc.h"

struct rpc_entry {
	uint32_t id; /* 0: the slot is free */
	uint16_t type;
	const struct wire_schema *reply_schema;
	rpc_outcome_fn *on_outcome;
	void *owner;
	uint64_t expires_ms; /* on the loop's clock */
};

/* All zero is an empty table. */
struct rpc_table {
	struct rpc_entry *slots;
	size_t size; /* a power of two, at least twice count */
	size_t count;
};

void rpc_table_release(struct rpc_table *table);
/* Make sure that one more fits. 0; -1 when RPC_PENDING_MAX or memory
 * forbids. */
int rpc_table_reserve(struct rpc_table *table);
/* Add after rpc_table_reserve(); the id is not 0 and not there yet. */
void rpc_table_add(struct rpc_table *table, const struct rpc_entry *entry);
/* Valid until the table changes; NULL when the id is not there. */
struct rpc_entry *rpc_table_find(const struct rpc_table *table, uint32_t id);
/* Remove the entry into *out (may be NULL). False when it is not there. */
bool rpc_table_remove(struct rpc_table *table, uint32_t id,
		      struct rpc_entry *out);
/* Ids of at most max entries that expire at now_ms or before. */
size_t rpc_table_due(const struct rpc_table *table, uint64_t now_ms,
		     uint32_t *ids, size_t max);
/* The earliest expires_ms; UINT64_MAX when the table is empty. */
uint64_t rpc_table_next_expiry(const struct rpc_table *table);

#endif
