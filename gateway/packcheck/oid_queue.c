/* What found no room has no hh.tbl then. */
#define HASH_NONFATAL_OOM 1

#include "gateway/packcheck/oid_queue.h"

#include <stdlib.h>

#include "common/digest.h"

/* Object ids are picked by whoever makes the commits: multiply-shift with a
 * key of this process keeps them from all landing in one bucket. */
static uint64_t hash_key;

static unsigned hash_oid(const void *oid)
{
	uint64_t head;

	memcpy(&head, oid, sizeof(head));
	return (unsigned)(head * hash_key >> 32);
}

#define HASH_FUNCTION(key, len, value) ((value) = hash_oid(key))
#include <uthash.h>

struct oid_seen {
	git_oid oid;
	struct oid_seen *next; /* in the queue */
	UT_hash_handle hh;
};

bool oid_queue_has(const struct oid_queue *queue, const git_oid *oid)
{
	struct oid_seen *seen = NULL;

	HASH_FIND(hh, queue->all, oid, sizeof(*oid), seen);
	return seen != NULL;
}

int oid_queue_push(struct oid_queue *queue, const git_oid *oid, size_t max)
{
	struct oid_seen *seen = NULL;

	if (hash_key == 0) {
		random_bytes(&hash_key, sizeof(hash_key));
		hash_key |= 1;
	}
	HASH_FIND(hh, queue->all, oid, sizeof(*oid), seen);
	if (seen)
		return 0;
	if (queue->count >= max)
		return -1;
	seen = calloc(1, sizeof(*seen));
	if (!seen)
		return -1;
	seen->oid = *oid;
	HASH_ADD(hh, queue->all, oid, sizeof(seen->oid), seen);
	if (!seen->hh.tbl) {
		free(seen);
		return -1;
	}
	if (queue->last)
		queue->last->next = seen;
	else
		queue->first = seen;
	queue->last = seen;
	queue->count++;
	return 0;
}

const git_oid *oid_queue_pop(struct oid_queue *queue)
{
	struct oid_seen *seen = queue->first;

	if (!seen)
		return NULL;
	queue->first = seen->next;
	if (!queue->first)
		queue->last = NULL;
	return &seen->oid;
}

void oid_queue_release(struct oid_queue *queue)
{
	struct oid_seen *seen = queue->all;

	HASH_CLEAR(hh, queue->all);
	while (seen) {
		struct oid_seen *next = seen->hh.next;

		free(seen);
		seen = next;
	}
	*queue = (struct oid_queue){0};
}
