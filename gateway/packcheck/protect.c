#include "gateway/packcheck/protect.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "gateway/packcheck/commits.h"
#include "gateway/packcheck/tree.h"
#include "policies/path.h"

/* Where two trees are compared. */
struct place {
	struct protect *protect;
	struct pack_store *store;
	char path[PATH_MAX_LEN];
	size_t len; /* of the directory, without a slash at its end */
	unsigned depth;
};

/* ---- what is not there ---- */

static enum protect_result lacks(git_oid *list, size_t *count,
				 const git_oid *oid)
{
	for (size_t i = 0; i < *count; i++)
		if (git_oid_equal(&list[i], oid))
			return PROTECT_LACKING;
	if (*count < PROTECT_LACKING_MAX)
		list[(*count)++] = *oid;
	return PROTECT_LACKING;
}

static enum protect_result lacks_tree(struct protect *protect,
				      const git_oid *oid)
{
	return lacks(protect->trees, &protect->tree_count, oid);
}

static enum protect_result failed(struct protect *protect, const char *what)
{
	(void)err_set(protect->err, ERR_INVALID, "compare the trees: %s", what);
	return PROTECT_FAILED;
}

/* ---- one entry ---- */

static bool any(const struct protect *protect,
		bool (*ask)(struct bytes, struct bytes), struct bytes path)
{
	for (size_t i = 0; i < protect->glob_count; i++)
		if (ask(protect->globs[i], path))
			return true;
	return false;
}

static enum protect_result found(struct place *place)
{
	char name[FINDING_NAME_MAX];

	finding_set(place->protect->finding, CONSTRAINT_push_path_protected,
		    "%s",
		    finding_name(bytes_from(place->path, place->len), name));
	return PROTECT_FOUND;
}

static enum protect_result compare_trees(struct place *place,
					 const git_oid *new_tree,
					 const git_oid *old_tree);

static const git_oid *tree_of(const struct tree_entry *entry)
{
	return entry && tree_entry_is_tree(entry) ? &entry->oid : NULL;
}

/* The path is entered. Either entry may be NULL; they differ. */
static enum protect_result compare_here(struct place *place,
					const struct tree_entry *new_entry,
					const struct tree_entry *old_entry)
{
	struct protect *protect = place->protect;
	struct bytes path = bytes_from(place->path, place->len);
	const git_oid *new_tree = tree_of(new_entry);
	const git_oid *old_tree = tree_of(old_entry);

	if (any(protect, protect_names, path))
		return found(place);
	if (new_entry && tree_entry_is_link(new_entry) &&
	    any(protect, protect_leads, path))
		return found(place);
	if ((!new_tree && !old_tree) || !any(protect, protect_may_hold, path))
		return PROTECT_PASSED;
	return compare_trees(place, new_tree, old_tree);
}

static enum protect_result compare_entry(struct place *place,
					 const struct tree_entry *new_entry,
					 const struct tree_entry *old_entry)
{
	struct bytes name = new_entry ? new_entry->name : old_entry->name;
	size_t len = place->len;
	enum protect_result result;

	if (new_entry && old_entry && new_entry->mode == old_entry->mode &&
	    git_oid_equal(&new_entry->oid, &old_entry->oid))
		return PROTECT_PASSED;
	if (len + name.len + 1 > sizeof(place->path) ||
	    place->depth == PROTECT_DEPTH_MAX)
		return failed(place->protect, "a path that is too long");
	if (len > 0)
		place->path[place->len++] = '/';
	memcpy(place->path + place->len, name.data, name.len);
	place->len += name.len;
	place->depth++;
	result = compare_here(place, new_entry, old_entry);
	place->depth--;
	place->len = len;
	return result;
}

/* ---- two trees ---- */

/* A tree that is being read; one that is not there is empty. */
struct side {
	git_odb_object *object;
	struct tree_reader reader;
	struct tree_entry entry;
	int status; /* of the entry: as tree_next() says */
};

static void side_release(struct side *side)
{
	git_odb_object_free(side->object);
}

static enum protect_result side_open(struct place *place, struct side *side,
				     const git_oid *oid)
{
	int status;

	if (!oid)
		return PROTECT_PASSED;
	status = git_odb_read(&side->object, place->store->odb, oid);
	if (status == GIT_ENOTFOUND)
		return lacks_tree(place->protect, oid);
	if (status < 0 || git_odb_object_type(side->object) != GIT_OBJECT_TREE)
		return failed(place->protect, "a tree cannot be read");
	tree_begin(&side->reader,
		   bytes_from(git_odb_object_data(side->object),
			      git_odb_object_size(side->object)));
	side->status = tree_next(&side->reader, &side->entry);
	return PROTECT_PASSED;
}

static enum protect_result step(struct place *place, struct side *new_side,
				struct side *old_side)
{
	int order;
	enum protect_result result;

	if (new_side->status < 0 || old_side->status < 0)
		return failed(place->protect, "a tree is not sound");
	if (++place->protect->entries > PROTECT_ENTRIES_MAX)
		return failed(place->protect, "they have too many entries");
	if (!new_side->status)
		order = 1;
	else if (!old_side->status)
		order = -1;
	else
		order = tree_entry_compare(&new_side->entry, &old_side->entry);
	result = compare_entry(place, order <= 0 ? &new_side->entry : NULL,
			       order >= 0 ? &old_side->entry : NULL);
	if (order <= 0)
		new_side->status =
			tree_next(&new_side->reader, &new_side->entry);
	if (order >= 0)
		old_side->status =
			tree_next(&old_side->reader, &old_side->entry);
	return result;
}

/* The worse of two; what is lacking is told in one go. */
static enum protect_result worse(enum protect_result a, enum protect_result b)
{
	static const unsigned char order[] = {[PROTECT_PASSED] = 0,
					      [PROTECT_LACKING] = 1,
					      [PROTECT_FOUND] = 2,
					      [PROTECT_FAILED] = 3};

	return order[a] > order[b] ? a : b;
}

static enum protect_result compare_trees(struct place *place,
					 const git_oid *new_tree,
					 const git_oid *old_tree)
{
	auto_type(side_release) struct side new_side = {0};
	auto_type(side_release) struct side old_side = {0};
	enum protect_result result;

	if (new_tree && old_tree && git_oid_equal(new_tree, old_tree))
		return PROTECT_PASSED;
	result = worse(side_open(place, &new_side, new_tree),
		       side_open(place, &old_side, old_tree));
	while ((result == PROTECT_PASSED || result == PROTECT_LACKING) &&
	       (new_side.status || old_side.status)) {
		/* A tree that is lacking is not an empty one. */
		if ((new_tree && !new_side.object) ||
		    (old_tree && !old_side.object))
			break;
		result = worse(result, step(place, &new_side, &old_side));
	}
	return result;
}

/* ---- commits ---- */

static enum protect_result compare_commits(struct protect *protect,
					   struct pack_store *store,
					   const git_oid *new_tree,
					   const git_oid *old_tree)
{
	struct place place;

	place.protect = protect;
	place.store = store;
	place.len = 0;
	place.depth = 0;
	return compare_trees(&place, new_tree, old_tree);
}

/* The tree of a commit, or of the commit that a tag is of. */
static enum protect_result tree_at(struct protect *protect,
				   struct pack_store *store, const git_oid *tip,
				   git_oid *tree)
{
	enum protect_result result = PROTECT_PASSED;
	git_commit *commit;

	switch (commits_peel(store, tip, &commit, tree)) {
	case PACK_COMMIT:
		*tree = *git_commit_tree_id(commit);
		git_commit_free(commit);
		break;
	case PACK_ABSENT:
		result = lacks(protect->commits, &protect->commit_count, tree);
		break;
	case PACK_NO_COMMIT:
		result = failed(protect, "an old tip is no commit");
		break;
	}
	return result;
}

/* Of a new branch: is it as one of its parents is? */
static enum protect_result compare_with_parents(struct protect *protect,
						struct pack_store *store,
						const git_commit *commit)
{
	unsigned count = git_commit_parentcount(commit);
	enum protect_result result = PROTECT_FOUND;
	struct finding first = {0};
	git_oid tree;

	if (count == 0)
		return compare_commits(protect, store,
				       git_commit_tree_id(commit), NULL);
	for (unsigned i = 0; i < count && result == PROTECT_FOUND; i++) {
		*protect->finding = (struct finding){0};
		result = tree_at(protect, store,
				 git_commit_parent_id(commit, i), &tree);
		if (result == PROTECT_PASSED)
			result = compare_commits(protect, store,
						 git_commit_tree_id(commit),
						 &tree);
		if (i == 0)
			first = *protect->finding;
	}
	*protect->finding =
		result == PROTECT_FOUND ? first : (struct finding){0};
	return result;
}

static void name_commit(struct finding *finding, const git_oid *oid)
{
	char id[FINDING_ID_LEN + 1];
	char path[FINDING_TEXT_MAX];

	(void)snprintf(path, sizeof(path), "%s", finding->text);
	(void)snprintf(finding->text, sizeof(finding->text),
		       "commit %s changes %.200s", finding_id(oid, id), path);
}

static enum protect_result compare_one(struct protect *protect,
				       struct pack_store *store,
				       const git_oid *oid,
				       const git_oid *old_tree)
{
	enum protect_result result;
	git_commit *commit;

	if (pack_store_commit(store, oid, &commit) != PACK_COMMIT)
		return failed(protect, "a commit cannot be read");
	result = old_tree
			 ? compare_commits(protect, store,
					   git_commit_tree_id(commit), old_tree)
			 : compare_with_parents(protect, store, commit);
	if (result == PROTECT_FOUND)
		name_commit(protect->finding, git_commit_id(commit));
	git_commit_free(commit);
	return result;
}

/* In turn, as far as the first that is against the rule: *at is which. */
static enum protect_result compare_in_turn(struct protect *protect,
					   struct pack_store *store,
					   const struct commits *commits,
					   const git_oid *old_tree,
					   bool newest_first, git_oid *at)
{
	enum protect_result result = PROTECT_PASSED;

	for (size_t i = 0; i < commits->count; i++) {
		*at = commits->oids[newest_first ? i : commits->count - 1 - i];
		result = worse(result,
			       compare_one(protect, store, at, old_tree));
		if (result == PROTECT_FOUND || result == PROTECT_FAILED)
			break;
	}
	return result;
}

static enum protect_result compare_all(struct protect *protect,
				       struct pack_store *store,
				       const struct commits *commits,
				       const git_oid *old_tree)
{
	struct finding oldest;
	enum protect_result result = compare_in_turn(
		protect, store, commits, old_tree, false, &protect->oldest);

	if (result != PROTECT_FOUND)
		return result;
	/* Where it began is what to say; where it ends is what to ask for. */
	oldest = *protect->finding;
	*protect->finding = (struct finding){0};
	result = compare_in_turn(protect, store, commits, old_tree, true,
				 &protect->newest);
	if (result != PROTECT_FOUND) {
		*protect->finding = (struct finding){0};
		return result;
	}
	protect->newest_finding = *protect->finding;
	*protect->finding = oldest;
	return result;
}

enum protect_result protect_update(struct protect *protect,
				   struct pack_store *store,
				   const git_oid *old_tip,
				   const git_oid *new_tip)
{
	auto_type(commits_release) struct commits commits = {
		.known = protect->known,
	};
	bool is_new = git_oid_is_zero(old_tip);
	enum protect_result result = PROTECT_PASSED;
	git_oid old_tree;

	protect->commit_count = protect->tree_count = 0;
	switch (commits_list(&commits, store, new_tip, !is_new)) {
	case COMMITS_LISTED:
		break;
	case COMMITS_NONE:
		return PROTECT_PASSED;
	case COMMITS_ABSENT:
		result = lacks(protect->commits, &protect->commit_count,
			       &commits.tip);
		break;
	case COMMITS_UNREADABLE:
		return failed(protect, "a commit or a tag cannot be read");
	case COMMITS_TOO_MANY:
		return failed(protect, "there are too many commits");
	}
	if (!is_new)
		result = worse(result,
			       tree_at(protect, store, old_tip, &old_tree));
	if (result != PROTECT_PASSED)
		return result;
	return compare_all(protect, store, &commits, is_new ? NULL : &old_tree);
}
