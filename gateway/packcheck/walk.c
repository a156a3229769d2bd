#include "gateway/packcheck/walk.h"

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

struct seen {
	git_oid oid;
	struct seen *next; /* in the queue */
	UT_hash_handle hh;
};

struct queue {
	struct seen *all; /* hash, and order of insertion */
	struct seen *first, *last;
	size_t count;
};

/* 0, also when it was seen before; -1 when there are too many. */
static int push(struct queue *queue, const git_oid *oid)
{
	struct seen *seen = NULL;

	HASH_FIND(hh, queue->all, oid, sizeof(*oid), seen);
	if (seen)
		return 0;
	if (queue->count >= WALK_COMMITS_MAX)
		return -1;
	seen = calloc(1, sizeof(*seen));
	if (!seen)
		return -1;
	seen->oid = *oid;
	HASH_ADD(hh, queue->all, oid, sizeof(seen->oid), seen);
	if (queue->last)
		queue->last->next = seen;
	else
		queue->first = seen;
	queue->last = seen;
	queue->count++;
	return 0;
}

static const git_oid *pop(struct queue *queue)
{
	struct seen *seen = queue->first;

	if (!seen)
		return NULL;
	queue->first = seen->next;
	if (!queue->first)
		queue->last = NULL;
	return &seen->oid;
}

static void queue_release(struct queue *queue)
{
	struct seen *seen = queue->all;

	HASH_CLEAR(hh, queue->all);
	while (seen) {
		struct seen *next = seen->hh.next;

		free(seen);
		seen = next;
	}
}

static enum walk_result add_parents(struct queue *queue, git_commit *commit,
				    const git_oid *ancestor)
{
	unsigned count = git_commit_parentcount(commit);

	for (unsigned i = 0; i < count; i++) {
		const git_oid *parent = git_commit_parent_id(commit, i);

		if (git_oid_equal(parent, ancestor))
			return WALK_REACHED;
		if (push(queue, parent) < 0)
			return WALK_TOO_LONG;
	}
	return WALK_EXHAUSTED;
}

/* Look at one commit. EXHAUSTED: go on with the next. */
static enum walk_result step(struct walk *walk, struct queue *queue,
			     struct pack_store *store, const git_oid *oid,
			     const git_oid *ancestor)
{
	enum walk_result result;
	git_commit *commit;

	switch (pack_store_commit(store, oid, &commit)) {
	case PACK_COMMIT:
		break;
	case PACK_NO_COMMIT:
		return WALK_NO_COMMIT;
	case PACK_ABSENT:
		if (walk->frontier_count < WALK_FRONTIER_MAX)
			walk->frontier[walk->frontier_count++] = *oid;
		return WALK_EXHAUSTED;
	}
	result = add_parents(queue, commit, ancestor);
	git_commit_free(commit);
	return result;
}

enum walk_result walk_to(struct walk *walk, struct pack_store *store,
			 const git_oid *from, const git_oid *ancestor)
{
	enum walk_result result = WALK_EXHAUSTED;
	struct queue queue = {0};
	const git_oid *oid;

	if (hash_key == 0) {
		random_bytes(&hash_key, sizeof(hash_key));
		hash_key |= 1;
	}
	walk->frontier_count = 0;
	if (git_oid_equal(from, ancestor))
		return WALK_REACHED;
	if (push(&queue, from) < 0)
		result = WALK_TOO_LONG;
	while (result == WALK_EXHAUSTED && (oid = pop(&queue)) != NULL)
		result = step(walk, &queue, store, oid, ancestor);
	queue_release(&queue);
	if (result == WALK_EXHAUSTED && walk->frontier_count > 0)
		return WALK_FRONTIER;
	return result;
}
