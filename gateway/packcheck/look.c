#include "gateway/packcheck/look.h"

#include "gateway/packcheck/fsck.h"
#include "gateway/packcheck/tree.h"

/* One turn over the pack's objects. */
struct turn {
	struct pack_store *store;
	const struct look_rules *rules;
	struct finding *finding;
	struct err *err;
	struct secret_scan *scan; /* NULL: secrets may be there */
	bool has_failed;
};

static int fail(struct turn *turn, const char *what)
{
	turn->has_failed = true;
	(void)err_set(turn->err, ERR_LIBRARY, "look at the pack: %s", what);
	return GIT_EUSER;
}

/* ---- what a blob is called ---- */

struct search {
	struct pack_store *store;
	const git_oid *blob;
	char *name;
};

/* In a tree of the pack; not 0 ends the search. */
static int search_tree(const git_oid *oid, void *owner)
{
	struct search *search = owner;
	const git_tree_entry *entry;
	git_tree *tree;

	if (git_tree_lookup(&tree, search->store->repo, oid) < 0)
		return 0;
	entry = git_tree_entry_byid(tree, search->blob);
	if (entry)
		(void)finding_name(bytes_str(git_tree_entry_name(entry)),
				   search->name);
	git_tree_free(tree);
	return entry ? GIT_EUSER : 0;
}

/* The name that a tree of the pack gives it; its id where none does. */
static const char *name_blob(struct pack_store *store, const git_oid *oid,
			     char name[FINDING_NAME_MAX])
{
	struct search search = {store, oid, name};
	char id[FINDING_ID_LEN + 1];

	(void)snprintf(name, FINDING_NAME_MAX, "blob %s", finding_id(oid, id));
	(void)store->pushed->foreach(store->pushed, search_tree, &search);
	return name;
}

/* ---- sizes ---- */

static void look_at_size(struct turn *turn, const git_oid *oid, size_t len)
{
	uint64_t max = turn->rules->file_bytes_max;
	char name[FINDING_NAME_MAX];

	if (max > 0 && len > max)
		finding_set(turn->finding, CONSTRAINT_push_too_large,
			    "%s has %zu bytes; a file may have %llu",
			    name_blob(turn->store, oid, name), len,
			    (unsigned long long)max);
}

/* ---- what it holds ---- */

static void look_for_secrets(struct turn *turn, const git_oid *oid,
			     git_object_t type, struct bytes content)
{
	char name[FINDING_NAME_MAX], id[FINDING_ID_LEN + 1];
	const char *found;

	(void)secret_scan_feed(turn->scan, content);
	found = secret_scan_end(turn->scan);
	if (!found)
		return;
	if (type == GIT_OBJECT_BLOB)
		(void)name_blob(turn->store, oid, name);
	else
		(void)snprintf(name, sizeof(name), "%s %s",
			       git_object_type2string(type),
			       finding_id(oid, id));
	finding_set(turn->finding, CONSTRAINT_push_secret, "%s holds: %s", name,
		    found);
}

/* What its files and directories are called. A name that holds a secret is
 * told to nobody. */
static void look_at_names(struct turn *turn, const git_oid *oid,
			  struct bytes tree)
{
	struct tree_reader reader;
	struct tree_entry entry;
	char id[FINDING_ID_LEN + 1];
	const char *found;

	tree_begin(&reader, tree);
	while (tree_next(&reader, &entry) > 0) {
		(void)secret_scan_feed(turn->scan, entry.name);
		(void)secret_scan_feed(turn->scan, bytes_str("\n"));
	}
	found = secret_scan_end(turn->scan);
	if (found)
		finding_set(turn->finding, CONSTRAINT_push_secret,
			    "a name in tree %s holds: %s", finding_id(oid, id),
			    found);
}

static int look_at_content(struct turn *turn, const git_oid *oid,
			   git_object_t type)
{
	git_odb_object *object;
	struct bytes content;

	if (git_odb_read(&object, turn->store->odb, oid) < 0)
		return fail(turn, "an object cannot be read");
	content = bytes_from(git_odb_object_data(object),
			     git_odb_object_size(object));
	if (type != GIT_OBJECT_BLOB)
		fsck_object(turn->store, type, oid, content, turn->finding);
	if (turn->rules->commits && type == GIT_OBJECT_COMMIT &&
	    turn->finding->constraint == CONSTRAINT_none)
		commit_rules_look(turn->rules->commits, oid, content,
				  turn->finding);
	if (turn->scan && type == GIT_OBJECT_TREE)
		look_at_names(turn, oid, content);
	else if (turn->scan)
		look_for_secrets(turn, oid, type, content);
	git_odb_object_free(object);
	return 0;
}

/* ---- all ---- */

/* Not 0 ends the turn. */
static int look_at(const git_oid *oid, void *owner)
{
	struct turn *turn = owner;
	git_odb_backend *pushed = turn->store->pushed;
	git_object_t type;
	size_t len;

	if (pushed->read_header(&len, &type, pushed, oid) < 0)
		return fail(turn, "an object cannot be read");
	if (type == GIT_OBJECT_BLOB)
		look_at_size(turn, oid, len);
	if ((type != GIT_OBJECT_BLOB || turn->scan) &&
	    turn->finding->constraint == CONSTRAINT_none &&
	    look_at_content(turn, oid, type) != 0)
		return GIT_EUSER;
	return turn->finding->constraint == CONSTRAINT_none ? 0 : GIT_EUSER;
}

int pack_look(struct pack_store *store, const struct look_rules *rules,
	      struct finding *finding, struct err *err)
{
	git_odb_backend *pushed = store->pushed;
	struct turn turn = {store, rules, finding, err, NULL, false};

	if (!pushed)
		return 0;
	if (rules->deny_secrets) {
		turn.scan = secret_scan_open(&rules->secrets, err);
		if (!turn.scan)
			return -1;
	}
	if (pushed->foreach(pushed, look_at, &turn) < 0 && !turn.has_failed &&
	    finding->constraint == CONSTRAINT_none)
		(void)fail(&turn, "its objects cannot be listed");
	secret_scan_close(turn.scan);
	return turn.has_failed ? -1 : 0;
}
