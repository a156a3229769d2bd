#include "gateway/packcheck/walk.h"

#include "gateway/packcheck/oid_queue.h"

static enum walk_result add_parents(struct oid_queue *queue, git_commit *commit,
				    const git_oid *ancestor)
{
	unsigned count = git_commit_parentcount(commit);

	for (unsigned i = 0; i < count; i++) {
		const git_oid *parent = git_commit_parent_id(commit, i);

		if (git_oid_equal(parent, ancestor))
			return WALK_REACHED;
		if (oid_queue_push(queue, parent, WALK_COMMITS_MAX) < 0)
			return WALK_TOO_LONG;
	}
	return WALK_EXHAUSTED;
}

/* Look at one commit. EXHAUSTED: go on with the next. */
static enum walk_result step(struct walk *walk, struct oid_queue *queue,
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
	struct oid_queue queue = {0};
	const git_oid *oid;

	walk->frontier_count = 0;
	if (git_oid_equal(from, ancestor))
		return WALK_REACHED;
	if (oid_queue_push(&queue, from, WALK_COMMITS_MAX) < 0)
		result = WALK_TOO_LONG;
	while (result == WALK_EXHAUSTED &&
	       (oid = oid_queue_pop(&queue)) != NULL)
		result = step(walk, &queue, store, oid, ancestor);
	oid_queue_release(&queue);
	if (result == WALK_EXHAUSTED && walk->frontier_count > 0)
		return WALK_FRONTIER;
	return result;
}
