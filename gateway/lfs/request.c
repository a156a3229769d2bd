#include "gateway/lfs/request.h"

#include "common/cleanup.h"
#include "gateway/lfs/json.h"
#include "policies/ref.h"

static int fail(struct lfs_fault *fault, enum constraint constraint,
		const char *why)
{
	fault->constraint = constraint;
	return err_set(&fault->err, ERR_INVALID, "%s", why);
}

static int malformed(struct lfs_fault *fault, const char *why)
{
	return fail(fault, CONSTRAINT_lfs_malformed, why);
}

/* An object of these keys alone (NULL ends them). NULL: *fault says why. */
static json_t *parse(struct bytes body, const char *const *keys,
		     struct lfs_fault *fault)
{
	json_t *root = lfs_json_parse(body, &fault->err);
	const char *key;
	json_t *value;

	fault->constraint = CONSTRAINT_lfs_malformed;
	if (!root)
		return NULL;
	json_object_foreach(root, key, value)
	{
		size_t i = 0;

		while (keys[i] && strcmp(keys[i], key) != 0)
			i++;
		if (keys[i])
			continue;
		json_decref(root);
		(void)malformed(fault, "the body has a key that is not served");
		return NULL;
	}
	return root;
}

/* A string where there is one: copied. 0/-1. */
static int take_text(const json_t *root, const char *key, size_t max,
		     struct arena *arena, struct bytes *out)
{
	const json_t *value = json_object_get(root, key);
	struct bytes text = lfs_json_text(root, key);

	*out = bytes_from(NULL, 0);
	if (!value || json_is_null(value))
		return 0;
	if (!json_is_string(value) || text.len > max)
		return -1;
	*out = arena_copy(arena, text);
	return out->len == text.len ? 0 : -1;
}

/* {"name": "refs/heads/..."}, or nothing. Where no branch is checked out
 * git-lfs names a commit, or sends {}. */
static int take_ref(const json_t *root, struct arena *arena, struct bytes *ref,
		    struct lfs_fault *fault)
{
	const json_t *value = json_object_get(root, "ref");

	*ref = bytes_from(NULL, 0);
	if (!value || json_is_null(value))
		return 0;
	if (!json_is_object(value) ||
	    json_object_size(value) > !!json_object_get(value, "name") ||
	    take_text(value, "name", REF_NAME_MAX, arena, ref) < 0)
		return malformed(fault,
				 "\"ref\" is {\"name\": \"refs/heads/...\"}: "
				 "the full name of a ref");
	return 0;
}

/* ---- the batch ---- */

static int take_operation(const json_t *root, struct lfs_batch *batch,
			  struct lfs_fault *fault)
{
	struct bytes operation = lfs_json_text(root, "operation");

	batch->operation =
		bytes_is(operation, "upload") ? LFS_UPLOAD : LFS_DOWNLOAD;
	if (batch->operation == LFS_UPLOAD || bytes_is(operation, "download"))
		return 0;
	return malformed(fault, "\"operation\" is neither upload nor download");
}

/* The client names what it can; one of them must be "basic". */
static int check_transfers(const json_t *root, struct lfs_fault *fault)
{
	const json_t *list = json_object_get(root, "transfers");
	bool has_basic = !list;
	const json_t *item;
	size_t i;

	if (list && !json_is_array(list))
		return malformed(fault, "\"transfers\" is no list");
	json_array_foreach(list, i, item)
	{
		if (!json_is_string(item))
			return malformed(fault, "a transfer has no name");
		has_basic |= !strcmp(json_string_value(item), "basic");
	}
	return has_basic ? 0
			 : malformed(fault,
				     "only the transfer \"basic\" is served");
}

static int check_hash(const json_t *root, struct lfs_fault *fault)
{
	const json_t *hash = json_object_get(root, "hash_algo");

	if (!hash || (json_is_string(hash) &&
		      !strcmp(json_string_value(hash), "sha256")))
		return 0;
	return malformed(fault, "only \"hash_algo\": \"sha256\" is served");
}

static int take_object(const json_t *item, struct lfs_batch *batch,
		       struct lfs_object *objects, struct lfs_fault *fault)
{
	struct lfs_object *object = &objects[batch->count];

	fault->constraint = CONSTRAINT_lfs_malformed;
	if (!json_is_object(item) || json_object_size(item) != 2)
		return malformed(fault, "an object is {\"oid\", \"size\"}");
	if (lfs_json_object(item, object, &fault->err) < 0)
		return -1;
	for (size_t i = 0; i < batch->count; i++)
		if (!strcmp(objects[i].oid, object->oid))
			return malformed(fault, "an object stands there twice");
	if (object->size > LFS_SIZE_MAX ||
	    object->size > LFS_TOTAL_MAX - batch->total)
		return fail(fault, CONSTRAINT_lfs_too_large,
			    "the objects are larger than 1 TiB each, or 4 TiB "
			    "together");
	batch->total += object->size;
	batch->count++;
	return 0;
}

static int take_objects(const json_t *root, struct arena *arena,
			struct lfs_batch *batch, struct lfs_fault *fault)
{
	const json_t *list = json_object_get(root, "objects");
	struct lfs_object *objects;
	const json_t *item;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) == 0)
		return malformed(fault, "\"objects\" is a list of objects");
	if (json_array_size(list) > LFS_OBJECTS_MAX)
		return fail(fault, CONSTRAINT_lfs_too_large,
			    "a batch has at most 256 objects: set "
			    "lfs.transfer.batchSize");
	objects = arena_array(arena, json_array_size(list), sizeof(*objects));
	if (!objects)
		return fail(fault, CONSTRAINT_internal, "memory is out");
	batch->objects = objects;
	json_array_foreach(list, i, item)
	{
		if (take_object(item, batch, objects, fault) < 0)
			return -1;
	}
	return 0;
}

int lfs_batch_parse(struct bytes body, struct arena *arena,
		    struct lfs_batch *batch, struct lfs_fault *fault)
{
	static const char *const keys[] = {"operation", "transfers", "ref",
					   "objects",	"hash_algo", NULL};
	auto_type(lfs_json_drop) json_t *root = parse(body, keys, fault);

	*batch = (struct lfs_batch){.objects = NULL};
	if (!root || take_operation(root, batch, fault) < 0 ||
	    check_transfers(root, fault) < 0 || check_hash(root, fault) < 0 ||
	    take_ref(root, arena, &batch->ref, fault) < 0)
		return -1;
	return take_objects(root, arena, batch, fault);
}

static json_t *object_json(const struct lfs_object *object)
{
	return json_pack("{s:s, s:I}", "oid", object->oid, "size",
			 (json_int_t)object->size);
}

static int set_ref(json_t *root, struct bytes ref)
{
	if (!ref_is_valid(ref))
		return 0;
	return json_object_set_new(
		root, "ref",
		json_pack("{s:s%}", "name", (const char *)ref.data, ref.len));
}

int lfs_batch_write(const struct lfs_batch *batch, struct buf *out)
{
	bool is_upload = batch->operation == LFS_UPLOAD;
	json_t *list = json_array();
	json_t *root =
		json_pack("{s:s, s:[s], s:s, s:o}", "operation",
			  is_upload ? "upload" : "download", "transfers",
			  "basic", "hash_algo", "sha256", "objects", list);

	if (!root || set_ref(root, batch->ref) < 0) {
		json_decref(root);
		return -1;
	}
	for (size_t i = 0; i < batch->count; i++)
		if (json_array_append_new(
			    list, object_json(&batch->objects[i])) < 0) {
			json_decref(root);
			return -1;
		}
	return lfs_json_write(root, out);
}

/* ---- locks ---- */

static int take_limit(const json_t *root, struct lfs_lock *lock,
		      struct lfs_fault *fault)
{
	const json_t *limit = json_object_get(root, "limit");

	if (!limit || json_is_null(limit))
		return 0;
	if (!json_is_integer(limit) || json_integer_value(limit) < 0 ||
	    json_integer_value(limit) > LFS_LIMIT_MAX)
		return malformed(fault, "\"limit\" is 0 to 1000");
	lock->limit = (uint64_t)json_integer_value(limit);
	return 0;
}

static const char *const *lock_keys(enum lfs_endpoint endpoint)
{
	static const char *const lock[] = {"path", "ref", NULL};
	static const char *const verify[] = {"ref", "cursor", "limit", NULL};
	static const char *const unlock[] = {"force", "ref", NULL};

	return endpoint == LFS_LOCK	? lock
	       : endpoint == LFS_UNLOCK ? unlock
					: verify;
}

int lfs_lock_parse(enum lfs_endpoint endpoint, struct bytes body,
		   struct arena *arena, struct lfs_lock *lock,
		   struct lfs_fault *fault)
{
	auto_type(lfs_json_drop) json_t *root =
		parse(body, lock_keys(endpoint), fault);
	const json_t *force;

	*lock = (struct lfs_lock){.limit = 0};
	if (!root || take_ref(root, arena, &lock->ref, fault) < 0 ||
	    take_limit(root, lock, fault) < 0)
		return -1;
	force = json_object_get(root, "force");
	if (force && !json_is_boolean(force))
		return malformed(fault, "\"force\" is true or false");
	lock->force = json_is_true(force);
	if (take_text(root, "path", LFS_LOCK_PATH_MAX, arena, &lock->path) <
		    0 ||
	    take_text(root, "cursor", LFS_CURSOR_MAX, arena, &lock->cursor) < 0)
		return malformed(fault, "\"path\" and \"cursor\" are texts of "
					"4096 and 512 bytes at most");
	if (endpoint == LFS_LOCK && lock->path.len == 0)
		return malformed(fault, "a lock has a \"path\"");
	return 0;
}

int lfs_lock_write(enum lfs_endpoint endpoint, const struct lfs_lock *lock,
		   struct buf *out)
{
	json_t *root = json_object();
	int failed = root ? set_ref(root, lock->ref) : -1;

	if (endpoint == LFS_LOCK)
		failed |= json_object_set_new(root, "path",
					      lfs_json_string(lock->path));
	if (endpoint == LFS_UNLOCK)
		failed |= json_object_set_new(root, "force",
					      json_boolean(lock->force));
	if (lock->cursor.len)
		failed |= json_object_set_new(root, "cursor",
					      lfs_json_string(lock->cursor));
	if (lock->limit)
		failed |= json_object_set_new(
			root, "limit", json_integer((json_int_t)lock->limit));
	if (failed) {
		json_decref(root);
		return -1;
	}
	return lfs_json_write(root, out);
}

bool lfs_locks_query_is_sound(struct bytes query)
{
	static const char *const names[] = {"path", "id", "cursor", "limit",
					    "refspec"};
	unsigned seen = 0;

	while (query.len > 0) {
		struct bytes value, name;
		size_t i = 0;

		(void)bytes_split(&query, '&', &value);
		(void)bytes_split(&value, '=', &name);
		while (i < ARRAY_SIZE(names) && !bytes_is(name, names[i]))
			i++;
		if (i == ARRAY_SIZE(names) || (seen & (1u << i)))
			return false;
		seen |= 1u << i;
	}
	return true;
}

/* ---- verify ---- */

int lfs_verify_parse(struct bytes body, struct lfs_object *object,
		     struct lfs_fault *fault)
{
	static const char *const keys[] = {"oid", "size", NULL};
	auto_type(lfs_json_drop) json_t *root = parse(body, keys, fault);

	return root ? lfs_json_object(root, object, &fault->err) : -1;
}

int lfs_verify_write(const struct lfs_object *object, struct buf *out)
{
	return lfs_json_write(object_json(object), out);
}
