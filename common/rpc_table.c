#include "common/rpc_table.h"

#include <assert.h>
#include <stdlib.h>

#define SIZE_MIN 16

void rpc_table_release(struct rpc_table *table)
{
	free(table->slots);
	*table = (struct rpc_table){0};
}

/* Where the search for id starts. Ids of our own are a sequence, ids of a
 * peer are its choice: mix them. */
static size_t home_of(const struct rpc_table *table, uint32_t id)
{
	uint32_t mixed = id * 0x9e3779b1u;

	return (mixed ^ mixed >> 16) & (table->size - 1);
}

static struct rpc_entry *slot_of(const struct rpc_table *table, uint32_t id)
{
	size_t at = home_of(table, id);

	while (table->slots[at].id != 0 && table->slots[at].id != id)
		at = (at + 1) & (table->size - 1);
	return &table->slots[at];
}

int rpc_table_reserve(struct rpc_table *table)
{
	struct rpc_table grown = {.count = table->count};

	if (table->count >= RPC_PENDING_MAX)
		return -1;
	if ((table->count + 1) * 2 <= table->size)
		return 0;
	grown.size = table->size ? table->size * 2 : SIZE_MIN;
	grown.slots = calloc(grown.size, sizeof(*grown.slots));
	if (!grown.slots)
		return -1;
	for (size_t i = 0; i < table->size; i++)
		if (table->slots[i].id != 0)
			*slot_of(&grown, table->slots[i].id) = table->slots[i];
	free(table->slots);
	*table = grown;
	return 0;
}

void rpc_table_add(struct rpc_table *table, const struct rpc_entry *entry)
{
	struct rpc_entry *slot = slot_of(table, entry->id);

	assert(entry->id != 0 && slot->id == 0);
	assert((table->count + 1) * 2 <= table->size);
	*slot = *entry;
	table->count++;
}

struct rpc_entry *rpc_table_find(const struct rpc_table *table, uint32_t id)
{
	struct rpc_entry *slot;

	if (table->count == 0 || id == 0)
		return NULL;
	slot = slot_of(table, id);
	return slot->id == id ? slot : NULL;
}

/* Close the gap at hole, so that every search still ends where it must. */
static void close_gap(struct rpc_table *table, size_t hole)
{
	size_t mask = table->size - 1;

	for (size_t at = (hole + 1) & mask; table->slots[at].id != 0;
	     at = (at + 1) & mask) {
		size_t home = home_of(table, table->slots[at].id);

		/* It may move when its home is not past the hole. */
		if (((at - home) & mask) < ((at - hole) & mask))
			continue;
		table->slots[hole] = table->slots[at];
		hole = at;
	}
	table->slots[hole] = (struct rpc_entry){0};
}

bool rpc_table_remove(struct rpc_table *table, uint32_t id,
		      struct rpc_entry *out)
{
	struct rpc_entry *slot = rpc_table_find(table, id);

	if (!slot)
		return false;
	if (out)
		*out = *slot;
	close_gap(table, (size_t)(slot - table->slots));
	table->count--;
	return true;
}

size_t rpc_table_due(const struct rpc_table *table, uint64_t now_ms,
		     uint32_t *ids, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < table->size && count < max; i++)
		if (table->slots[i].id != 0 &&
		    table->slots[i].expires_ms <= now_ms)
			ids[count++] = table->slots[i].id;
	return count;
}

uint64_t rpc_table_next_expiry(const struct rpc_table *table)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < table->size; i++)
		if (table->slots[i].id != 0 &&
		    table->slots[i].expires_ms < next)
			next = table->slots[i].expires_ms;
	return next;
}
