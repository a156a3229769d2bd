#include "gateway/vault/rotate.h"

#include "common/cleanup.h"
#include "common/log.h"
#include "gateway/vault/database.h"

/* ---- sealing everything anew ---- */

struct row {
	char name[SECRET_NAME_MAX + 1];
	size_t len;
	struct seal_place place; /* its name is the one above */
};

/* The row after that name, opened. 1; 0: there is none; -1. */
static int next_row(struct vault_store *store, struct row *row,
		    struct secret *value, struct err *err)
{
	auto_type(database_done) struct statement select = {0};
	struct bytes name;
	int step;

	if (database_prepare(store->db,
			     "SELECT name, version, sealed FROM secret"
			     " WHERE name > ?1 ORDER BY name LIMIT 1",
			     &select, err) < 0)
		return -1;
	database_bind_text(&select, 1, bytes_from(row->name, row->len));
	step = database_step(&select, err);
	if (step <= 0)
		return step;
	name = database_blob(&select, 0);
	if (name.len == 0 || name.len > SECRET_NAME_MAX)
		return err_set(err, ERR_INVALID, "a secret's name is none");
	memcpy(row->name, name.data, name.len);
	row->len = name.len;
	row->place = (struct seal_place){
		.name = bytes_from(row->name, row->len),
		.version = (uint64_t)database_number(&select, 1),
	};
	if (seal_open(&store->key, &row->place, database_blob(&select, 2),
		      value, err) < 0)
		return err_prefix(err, "%.*s", BYTES_ARGS(row->place.name));
	return 1;
}

static int write_row(struct vault_store *store, const struct row *row,
		     const struct secret *key, const struct secret *value,
		     struct err *err)
{
	auto_type(database_done) struct statement update = {0};
	auto_type(buf_release) struct buf sealed;

	buf_init(&sealed, SECRET_VALUE_MAX + SEAL_OVERHEAD);
	if (seal_close(key, &row->place, secret_view(value), &sealed, err) <
		    0 ||
	    database_prepare(store->db,
			     "UPDATE secret SET sealed = ?2 WHERE name = ?1",
			     &update, err) < 0)
		return -1;
	database_bind_text(&update, 1, row->place.name);
	database_bind_blob(&update, 2, buf_view(&sealed));
	return database_run(&update, err);
}

static int write_rows(struct vault_store *store, const struct secret *key,
		      struct err *err)
{
	struct row row = {.len = 0};
	struct secret value;
	int step;

	secret_init(&value);
	while ((step = next_row(store, &row, &value, err)) > 0)
		if (write_row(store, &row, key, &value, err) < 0) {
			step = -1;
			break;
		}
	secret_release(&value);
	return step;
}

static int write_check(struct vault_store *store, const struct secret *key,
		       struct err *err)
{
	auto_type(database_done) struct statement update = {0};
	auto_type(buf_release) struct buf sealed;

	buf_init(&sealed, 128);
	if (vault_key_mark(key, &sealed, err) < 0 ||
	    database_prepare(store->db, "UPDATE vault SET key_check = ?1",
			     &update, err) < 0)
		return -1;
	database_bind_blob(&update, 1, buf_view(&sealed));
	return database_run(&update, err);
}

int vault_reseal(struct vault_store *store, struct secret *key, struct err *err)
{
	struct secret old = store->key;

	if (database_exec(store->db, "BEGIN IMMEDIATE", err) < 0)
		return -1;
	if (write_rows(store, key, err) < 0 ||
	    write_check(store, key, err) < 0 ||
	    database_exec(store->db, "COMMIT", err) < 0) {
		database_roll_back(store->db);
		return -1;
	}
	store->key = *key;
	secret_init(key);
	secret_release(&old);
	return 0;
}

/* ---- the key's files ---- */

/* The key that holds now is in vault.key.next: let it be in vault.key. What
 * fails here the next start mends. */
static int settle(struct vault_store *store, struct err *err)
{
	if (key_file_write(store->files.key, &store->key, err) < 0)
		return -1;
	return key_file_clear(store->files.next, err);
}

/* What was sealed with the old key goes from the log as well. */
static void empty_log(struct vault_store *store)
{
	(void)database_exec(store->db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL);
}

int vault_key_rotate(struct vault_store *store, struct err *err)
{
	struct secret key;
	int result;

	if (store->files.key < 0)
		return err_set(
			err, ERR_UNSUPPORTED,
			"the vault's key is the operator's own (a systemd "
			"credential, or a file that may not be written): give "
			"the new one as sallyport-vault-key and the old one as "
			"sallyport-vault-key.previous, and start again");
	/* vault.key.next may be all that has the key which holds now. */
	if (key_file_write(store->files.key, &store->key, err) < 0)
		return -1;
	secret_init(&key);
	result = secret_random(&key, SEAL_KEY_LEN, err);
	if (result == 0)
		result = key_file_write(store->files.next, &key, err);
	/* When a commit fails nobody knows whether it is on disk: both keys
	 * stay. */
	if (result == 0)
		result = vault_reseal(store, &key, err);
	secret_release(&key);
	if (result < 0)
		return -1;
	empty_log(store);
	if (settle(store, err) < 0)
		log_error("the new key stands in vault.key.next alone: %s",
			  err->text);
	return 0;
}

int vault_key_resume(struct vault_store *store, struct bytes key_check,
		     struct err *err)
{
	struct secret key;

	if (store->files.next < 0)
		return 0;
	secret_init(&key);
	if (key_file_read(store->files.next, &key, err) < 0 ||
	    vault_key_is(&key, key_check, err) < 0) {
		secret_release(&key);
		return 0;
	}
	secret_release(&store->key);
	store->key = key;
	return settle(store, err) < 0 ? -1 : 1;
}
