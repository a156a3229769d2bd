#include "gateway/packcheck/fsck.h"

#include "gateway/packcheck/tree.h"

#define MODE_SYMLINK 0120000u

/* ---- trees ---- */

static const char *check_modules(struct pack_store *store,
				 const struct tree_entry *entry)
{
	const char *fault;
	git_odb_object *object;
	int status;

	if (entry->mode == MODE_SYMLINK)
		return ".gitmodules is a link";
	status = git_odb_read(&object, store->odb, &entry->oid);
	if (status == GIT_ENOTFOUND) {
		store->modules = entry->oid;
		return NULL;
	}
	if (status < 0)
		return ".gitmodules cannot be read";
	fault = fsck_modules(bytes_from(git_odb_object_data(object),
					git_odb_object_size(object)));
	git_odb_object_free(object);
	return fault;
}

static const char *check_entry(struct pack_store *store,
			       const struct tree_entry *entry)
{
	const char *fault = fsck_name(entry->name);

	if (fault)
		return fault;
	if (git_oid_is_zero(&entry->oid))
		return "an entry is nothing";
	return fsck_is_modules(entry->name) ? check_modules(store, entry)
					    : NULL;
}

static const char *check_tree(struct pack_store *store, struct bytes content,
			      struct bytes *name)
{
	const char *fault = NULL;
	struct tree_reader reader;
	struct tree_entry entry;
	int status;

	tree_begin(&reader, content);
	while ((status = tree_next(&reader, &entry)) > 0 && !fault) {
		fault = check_entry(store, &entry);
		*name = entry.name;
	}
	if (!fault)
		*name = bytes_from(NULL, 0);
	return status < 0 ? reader.fault : fault;
}

/* ---- all ---- */

void fsck_object(struct pack_store *store, git_object_t type,
		 const git_oid *oid, struct bytes content,
		 struct finding *finding)
{
	char id[FINDING_ID_LEN + 1], shown[FINDING_NAME_MAX];
	struct bytes name = {NULL, 0};
	const char *fault = NULL;

	if (type == GIT_OBJECT_TREE)
		fault = check_tree(store, content, &name);
	else if (type == GIT_OBJECT_COMMIT)
		fault = fsck_commit(content);
	else if (type == GIT_OBJECT_TAG)
		fault = fsck_tag(content);
	if (!fault)
		return;
	finding_set(finding, CONSTRAINT_push_object_unsound, "%s %s: %s%s%s",
		    git_object_type2string(type), finding_id(oid, id), fault,
		    name.len ? ": " : "", finding_name(name, shown));
}
