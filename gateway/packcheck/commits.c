#include "gateway/packcheck/commits.h"

#include <stdlib.h>

#include "common/cleanup.h"

#define ROOM_FIRST 64

void commits_release(struct commits *commits)
{
	free(commits->oids);
	*commits = (struct commits){0};
}

enum pack_lookup commits_peel(struct pack_store *store, const git_oid *oid,
			      git_commit **commit, git_oid *at)
{
	*at = *oid;
	for (int i = 0; i < COMMITS_TAGS_MAX; i++) {
		enum pack_lookup found = pack_store_commit(store, at, commit);
		git_tag *tag;

		if (found != PACK_NO_COMMIT)
			return found;
		if (git_tag_lookup(&tag, store->repo, at) < 0)
			return PACK_NO_COMMIT;
		*at = *git_tag_target_id(tag);
		git_tag_free(tag);
	}
	return PACK_NO_COMMIT;
}

static int keep(struct commits *commits, const git_oid *oid)
{
	if (commits->count == commits->room) {
		size_t room = commits->room ? commits->room * 2 : ROOM_FIRST;
		git_oid *oids = realloc(commits->oids, room * sizeof(*oids));

		if (!oids)
			return -1;
		commits->oids = oids;
		commits->room = room;
	}
	commits->oids[commits->count++] = *oid;
	return 0;
}

static bool is_known(const struct commits *commits, const git_oid *oid)
{
	return commits->known && oid_queue_has(commits->known, oid);
}

static int add_parents(struct commits *commits, struct oid_queue *queue,
		       struct pack_store *store, const git_oid *oid)
{
	git_commit *commit;
	int status = 0;

	if (keep(commits, oid) < 0)
		return -1;
	/* The tip: what it leads to is upstream's as well. */
	if (is_known(commits, oid))
		return 0;
	if (pack_store_commit(store, oid, &commit) != PACK_COMMIT)
		return -1;
	for (unsigned i = 0; i < git_commit_parentcount(commit) && status == 0;
	     i++) {
		const git_oid *parent = git_commit_parent_id(commit, i);

		if (pack_store_is_pushed(store, parent) &&
		    !is_known(commits, parent))
			status = oid_queue_push(queue, parent, COMMITS_MAX);
	}
	git_commit_free(commit);
	return status;
}

/* Only these lead to no commit for certain. */
static bool is_tree_or_blob(struct pack_store *store, const git_oid *oid)
{
	git_object_t type;
	size_t len;

	return git_odb_read_header(&len, &type, store->odb, oid) == 0 &&
	       (type == GIT_OBJECT_TREE || type == GIT_OBJECT_BLOB);
}

enum commits_result commits_list(struct commits *commits,
				 struct pack_store *store, const git_oid *tip,
				 bool with_tip)
{
	auto_type(oid_queue_release) struct oid_queue queue = {0};
	const git_oid *oid;
	git_commit *commit;

	switch (commits_peel(store, tip, &commit, &commits->tip)) {
	case PACK_COMMIT:
		git_commit_free(commit);
		break;
	case PACK_ABSENT:
		return with_tip ? COMMITS_ABSENT : COMMITS_NONE;
	case PACK_NO_COMMIT:
		return is_tree_or_blob(store, &commits->tip)
			       ? COMMITS_NONE
			       : COMMITS_UNREADABLE;
	}
	if (!with_tip && (!pack_store_is_pushed(store, &commits->tip) ||
			  is_known(commits, &commits->tip)))
		return COMMITS_NONE;
	if (oid_queue_push(&queue, &commits->tip, COMMITS_MAX) < 0)
		return COMMITS_TOO_MANY;
	while ((oid = oid_queue_pop(&queue)) != NULL)
		if (add_parents(commits, &queue, store, oid) < 0)
			return COMMITS_TOO_MANY;
	return COMMITS_LISTED;
}

static int begins_of(struct pack_store *store, const git_oid *oid,
		     struct oid_queue *begins, size_t max)
{
	git_commit *commit;
	int status = 0;

	if (!pack_store_is_pushed(store, oid))
		return oid_queue_push(begins, oid, max);
	if (pack_store_commit(store, oid, &commit) != PACK_COMMIT)
		return -1;
	for (unsigned i = 0; i < git_commit_parentcount(commit) && status == 0;
	     i++) {
		const git_oid *parent = git_commit_parent_id(commit, i);

		if (!pack_store_is_pushed(store, parent))
			status = oid_queue_push(begins, parent, max);
	}
	git_commit_free(commit);
	return status;
}

int commits_begins(struct pack_store *store, const git_oid *tip,
		   const struct oid_queue *known, struct oid_queue *begins,
		   size_t max)
{
	auto_type(commits_release) struct commits commits = {.known = known};

	switch (commits_list(&commits, store, tip, true)) {
	case COMMITS_LISTED:
		break;
	case COMMITS_NONE:
		return 0;
	case COMMITS_ABSENT:
		return oid_queue_push(begins, &commits.tip, max);
	case COMMITS_UNREADABLE:
	case COMMITS_TOO_MANY:
	default:
		return -1;
	}
	for (size_t i = 0; i < commits.count; i++)
		if (!is_known(&commits, &commits.oids[i]) &&
		    begins_of(store, &commits.oids[i], begins, max) < 0)
			return -1;
	return 0;
}

struct tally {
	git_odb_backend *pushed;
	size_t commits;
};

/* Not 0 ends the count. */
static int count_commit(const git_oid *oid, void *owner)
{
	struct tally *tally = owner;
	git_object_t type;
	size_t len;

	if (tally->pushed->read_header(&len, &type, tally->pushed, oid) < 0)
		return GIT_EUSER;
	tally->commits += type == GIT_OBJECT_COMMIT;
	return 0;
}

bool commits_are_all(struct pack_store *store, const struct oid_queue *these)
{
	struct tally tally = {.pushed = store->pushed};

	return !tally.pushed ||
	       (tally.pushed->foreach(tally.pushed, count_commit, &tally) ==
			0 &&
		tally.commits == these->count);
}
