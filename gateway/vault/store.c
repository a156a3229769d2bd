/* What found no room has no hh.tbl then. */
#define HASH_NONFATAL_OOM 1

#include "gateway/vault/store.h"

#include <stdlib.h>
#include <uthash.h>

#include "common/cleanup.h"
#include "gateway/vault/database.h"
#include "gateway/vault/rotate.h"

/* The cases of uthash's function fall through on purpose. */
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"

struct vault_use {
	char name[SECRET_NAME_MAX + 1];
	uint64_t at_ms;
	UT_hash_handle hh;
};

/* What the key is known by: sealed under a name that no secret has. */
#define KEY_CHECK_TEXT "sallyport vault 1"
static const struct seal_place key_check_place = {
	.name = BYTES_LITERAL("/key"),
	.version = 1,
};

bool vault_name_is_valid(struct bytes name)
{
	if (name.len == 0 || name.len > SECRET_NAME_MAX)
		return false;
	for (size_t i = 0; i < name.len; i++) {
		uint8_t c = name.data[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
		    !(c >= '0' && c <= '9') && c != '.' && c != '_' && c != '-')
			return false;
	}
	return true;
}

/* ---- opening ---- */

int vault_key_mark(const struct secret *key, struct buf *sealed,
		   struct err *err)
{
	return seal_close(key, &key_check_place, bytes_str(KEY_CHECK_TEXT),
			  sealed, err);
}

int vault_key_is(const struct secret *key, struct bytes sealed, struct err *err)
{
	struct secret plain;
	int opened;

	secret_init(&plain);
	opened = seal_open(key, &key_check_place, sealed, &plain, err);
	secret_release(&plain);
	if (opened < 0)
		return err_set(err, ERR_INVALID,
			       "open the vault: the key is not this vault's");
	return 0;
}

/* The first key of a new store: remember what it is known by. */
static int adopt_key(struct vault_store *store, struct err *err)
{
	auto_type(buf_release) struct buf sealed;
	auto_type(database_done) struct statement insert = {0};

	buf_init(&sealed, 128);
	if (vault_key_mark(&store->key, &sealed, err) < 0)
		return -1;
	if (database_prepare(store->db, "INSERT INTO vault VALUES (1, 1, ?1)",
			     &insert, err) < 0)
		return -1;
	database_bind_blob(&insert, 1, buf_view(&sealed));
	return database_run(&insert, err);
}

/* The operator has given another key, and the one before: 0, or -1. */
static int change_credential(struct vault_store *store,
			     const struct seal_source *source,
			     struct bytes key_check, struct err *err)
{
	struct secret wanted = store->key;
	struct err why;
	int result = -1;

	secret_init(&store->key);
	if (seal_key_previous(source, &store->key, &why) > 0 &&
	    vault_key_is(&store->key, key_check, &why) == 0)
		result = vault_reseal(store, &wanted, err);
	secret_release(&wanted);
	return result;
}

/* Not the key that was loaded: one that is just being changed? *err says
 * already that it is wrong. */
static int find_key(struct vault_store *store, const struct seal_source *source,
		    struct bytes key_check, struct err *err)
{
	struct err why;
	int resumed = vault_key_resume(store, key_check, &why);

	if (resumed < 0)
		return err_set(err, ERR_SYSTEM, "%s", why.text);
	return resumed > 0 ? 0
			   : change_credential(store, source, key_check, err);
}

static int use_key(struct vault_store *store, const struct seal_source *source,
		   struct bytes key_check, struct err *err)
{
	if (vault_key_is(&store->key, key_check, err) < 0)
		return find_key(store, source, key_check, err);
	/* A change that was begun and did not come to hold. */
	return store->files.next < 0 ? 0
				     : key_file_clear(store->files.next, err);
}

/* What the store's key is known by. 1; 0: it has none yet; -1. */
static int read_key_check(struct vault_store *store, struct buf *key_check,
			  struct err *err)
{
	auto_type(database_done) struct statement select = {0};
	int step;

	if (database_prepare(store->db, "SELECT key_check FROM vault", &select,
			     err) < 0)
		return -1;
	step = database_step(&select, err);
	if (step > 0 && buf_add(key_check, database_blob(&select, 0)) < 0)
		return err_set(err, ERR_INVALID,
			       "open the vault: its key's "
			       "mark is too long");
	return step;
}

static int load_key(struct vault_store *store, const struct seal_source *source,
		    struct err *err)
{
	auto_type(buf_release) struct buf key_check;
	struct seal_source where = *source;
	int step;

	buf_init(&key_check, 256);
	step = read_key_check(store, &key_check, err);
	if (step < 0)
		return -1;
	where.may_make = step == 0;
	if (seal_key_load(&where, &store->key, err) < 0 ||
	    key_files_open(&store->files, source, err) < 0)
		return -1;
	if (step > 0)
		return use_key(store, source, buf_view(&key_check), err);
	return adopt_key(store, err);
}

int vault_store_open(struct vault_store *store,
		     const struct seal_source *source, struct err *err)
{
	*store = (struct vault_store){.files = {-1, -1}};
	secret_init(&store->key);
	store->db = database_open(source->directory, source->uid, err);
	if (!store->db)
		return -1;
	if (load_key(store, source, err) < 0) {
		vault_store_close(store);
		return -1;
	}
	return 0;
}

static void forget_uses(struct vault_store *store)
{
	struct vault_use *use, *next;

	HASH_ITER (hh, store->uses, use, next) {
		HASH_DEL(store->uses, use);
		free(use);
	}
}

void vault_store_close(struct vault_store *store)
{
	if (store->db)
		(void)vault_store_sync(store, NULL);
	forget_uses(store);
	database_close(store->db);
	secret_release(&store->key);
	key_files_close(&store->files);
	*store = (struct vault_store){.files = {-1, -1}};
}

/* ---- secrets ---- */

static int64_t count_others(struct vault_store *store, struct bytes name)
{
	auto_type(database_done) struct statement select = {0};

	if (database_prepare(store->db,
			     "SELECT count(*) FROM secret WHERE name <> ?1"
			     " AND instr(name, '/') = 0",
			     &select, NULL) < 0)
		return -1;
	database_bind_text(&select, 1, name);
	return database_step(&select, NULL) > 0 ? database_number(&select, 0)
						: -1;
}

/* A version that was never used: so an old sealed value can never be taken
 * for a new one, also when the name was removed in between. */
static int take_version(struct vault_store *store, uint64_t *version,
			struct err *err)
{
	auto_type(database_done) struct statement update = {0};

	if (database_prepare(store->db,
			     "UPDATE vault SET next_version = next_version + 1"
			     " RETURNING next_version",
			     &update, err) < 0 ||
	    database_step(&update, err) < 0)
		return -1;
	*version = (uint64_t)database_number(&update, 0);
	return 0;
}

static int put_sealed(struct vault_store *store, const struct seal_place *place,
		      struct bytes sealed, uint64_t now_ms, struct err *err)
{
	auto_type(database_done) struct statement upsert = {0};

	if (database_prepare(store->db,
			     "INSERT INTO secret VALUES (?1, ?2, ?3, ?3, 0, ?4)"
			     " ON CONFLICT (name) DO UPDATE SET version = ?2,"
			     " changed = ?3, sealed = ?4",
			     &upsert, err) < 0)
		return -1;
	database_bind_text(&upsert, 1, place->name);
	database_bind_number(&upsert, 2, (int64_t)place->version);
	database_bind_number(&upsert, 3, (int64_t)now_ms);
	database_bind_blob(&upsert, 4, sealed);
	return database_run(&upsert, err);
}

static int put(struct vault_store *store, struct bytes name, struct bytes value,
	       uint64_t now_ms, struct err *err)
{
	struct seal_place place = {.name = name};
	auto_type(buf_release) struct buf sealed;

	buf_init(&sealed, SECRET_VALUE_MAX + SEAL_OVERHEAD);
	if (take_version(store, &place.version, err) < 0 ||
	    seal_close(&store->key, &place, value, &sealed, err) < 0)
		return -1;
	return put_sealed(store, &place, buf_view(&sealed), now_ms, err);
}

int vault_store_put(struct vault_store *store, struct bytes name,
		    struct bytes value, uint64_t now_ms, struct err *err)
{
	int64_t others = count_others(store, name);

	if (others < 0)
		return err_set(err, ERR_LIBRARY, "count the secrets");
	if (others >= VAULT_SECRETS_MAX)
		return err_set(err, ERR_TOO_LARGE,
			       "keep a secret: there are %d already",
			       VAULT_SECRETS_MAX);
	return vault_store_write(store, name, value, now_ms, err);
}

int vault_store_write(struct vault_store *store, struct bytes name,
		      struct bytes value, uint64_t now_ms, struct err *err)
{
	if (database_exec(store->db, "BEGIN IMMEDIATE", err) < 0)
		return -1;
	if (put(store, name, value, now_ms, err) == 0 &&
	    database_exec(store->db, "COMMIT", err) == 0)
		return 0;
	database_roll_back(store->db);
	return -1;
}

bool vault_store_has(struct vault_store *store, struct bytes name)
{
	auto_type(database_done) struct statement select = {0};

	if (database_prepare(store->db, "SELECT 1 FROM secret WHERE name = ?1",
			     &select, NULL) < 0)
		return false;
	database_bind_text(&select, 1, name);
	return database_step(&select, NULL) > 0;
}

int vault_store_get(struct vault_store *store, struct bytes name,
		    struct secret *value, struct err *err)
{
	auto_type(database_done) struct statement select = {0};
	struct seal_place place = {.name = name};
	int step;

	if (database_prepare(store->db,
			     "SELECT version, sealed FROM secret"
			     " WHERE name = ?1",
			     &select, err) < 0)
		return -1;
	database_bind_text(&select, 1, name);
	step = database_step(&select, err);
	if (step < 0)
		return -1;
	if (step == 0)
		return err_set(err, ERR_MISSING, "the vault has no secret %.*s",
			       BYTES_ARGS(name));
	place.version = (uint64_t)database_number(&select, 0);
	return seal_open(&store->key, &place, database_blob(&select, 1), value,
			 err);
}

int vault_store_remove(struct vault_store *store, struct bytes name,
		       struct err *err)
{
	auto_type(database_done) struct statement delete = {0};

	if (database_prepare(store->db, "DELETE FROM secret WHERE name = ?1",
			     &delete, err) < 0)
		return -1;
	database_bind_text(&delete, 1, name);
	if (database_run(&delete, err) < 0)
		return -1;
	if (sqlite3_changes(store->db) == 0)
		return err_set(err, ERR_MISSING, "the vault has no secret %.*s",
			       BYTES_ARGS(name));
	return 0;
}

static struct vault_use *find_use(struct vault_store *store, struct bytes name)
{
	struct vault_use *use;

	HASH_FIND(hh, store->uses, name.data, name.len, use);
	return use;
}

int vault_store_list(struct vault_store *store, struct arena *arena,
		     struct msg_secret_list *list, struct err *err)
{
	auto_type(database_done) struct statement select = {0};
	struct msg_secret_entry *entries =
		arena_array(arena, VAULT_SECRETS_MAX, sizeof(*entries));
	int step;

	*list = (struct msg_secret_list){.secrets = entries};
	if (!entries)
		return err_set(err, ERR_SYSTEM, "list secrets: no memory");
	if (database_prepare(store->db,
			     "SELECT name, created, changed, used FROM secret"
			     " WHERE instr(name, '/') = 0"
			     " ORDER BY name LIMIT 300",
			     &select, err) < 0)
		return -1;
	while ((step = database_step(&select, err)) > 0) {
		struct msg_secret_entry *entry = &entries[list->secrets_count];
		const struct vault_use *use;

		entry->name = arena_copy(arena, database_blob(&select, 0));
		if (!entry->name.data)
			return err_set(err, ERR_SYSTEM,
				       "list secrets: no memory");
		entry->created_ms = (uint64_t)database_number(&select, 1);
		entry->changed_ms = (uint64_t)database_number(&select, 2);
		entry->used_ms = (uint64_t)database_number(&select, 3);
		use = find_use(store, entry->name);
		if (use)
			entry->used_ms = use->at_ms;
		list->secrets_count++;
	}
	return step;
}

/* ---- uses ---- */

void vault_store_used(struct vault_store *store, struct bytes name,
		      uint64_t now_ms)
{
	struct vault_use *use = find_use(store, name);

	if (!use && name.len <= SECRET_NAME_MAX &&
	    HASH_COUNT(store->uses) < VAULT_SECRETS_MAX) {
		use = calloc(1, sizeof(*use));
		if (!use)
			return;
		memcpy(use->name, name.data, name.len);
		HASH_ADD_KEYPTR(hh, store->uses, use->name, name.len, use);
		if (!use->hh.tbl) {
			free(use);
			return;
		}
	}
	if (use)
		use->at_ms = now_ms;
}

static int write_uses(struct vault_store *store, struct err *err)
{
	const struct vault_use *use, *next;

	HASH_ITER (hh, store->uses, use, next) {
		auto_type(database_done) struct statement update = {0};

		if (database_prepare(store->db,
				     "UPDATE secret SET used = ?2"
				     " WHERE name = ?1",
				     &update, err) < 0)
			return -1;
		database_bind_text(&update, 1, bytes_str(use->name));
		database_bind_number(&update, 2, (int64_t)use->at_ms);
		if (database_run(&update, err) < 0)
			return -1;
	}
	return 0;
}

int vault_store_sync(struct vault_store *store, struct err *err)
{
	if (!store->uses)
		return 0;
	if (database_exec(store->db, "BEGIN IMMEDIATE", err) < 0)
		return -1;
	if (write_uses(store, err) < 0 ||
	    database_exec(store->db, "COMMIT", err) < 0) {
		database_roll_back(store->db);
		return -1;
	}
	forget_uses(store);
	return 0;
}
