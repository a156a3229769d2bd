#include "gateway/ledger/store.h"

#include <stdio.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "gateway/ledger/retain.h"
#include "gateway/sqlite/open.h"

#define STORE_FILE     "ledger.db"
#define APPLICATION_ID 0x5350414c /* "SPAL" */
#define SCHEMA_VERSION 2

static const char settings[] = "PRAGMA locking_mode = EXCLUSIVE;"
			       "PRAGMA page_size = 4096;"
			       "PRAGMA journal_mode = WAL;"
			       "PRAGMA synchronous = FULL;"
			       "PRAGMA wal_autocheckpoint = 4000;"
			       "PRAGMA journal_size_limit = 16777216;"
			       "PRAGMA temp_store = MEMORY;"
			       "PRAGMA cache_size = -512;"
			       "PRAGMA cell_size_check = ON;";

/* Version 1 had no rows with their outcome; those it has stay as they are. */
#define FIRST_VERSION 1
static const char from_first[] = "PRAGMA user_version = 2;";

static const char schema[] =
	"BEGIN IMMEDIATE;"
	"CREATE TABLE row ("
	" sequence INTEGER PRIMARY KEY,"
	" time INTEGER NOT NULL,"
	" kind INTEGER NOT NULL,"
	" allowed INTEGER NOT NULL,"
	" session TEXT NOT NULL,"
	" json TEXT NOT NULL,"
	" prev BLOB NOT NULL,"
	" hash BLOB NOT NULL) STRICT;"
	"CREATE INDEX row_session ON row (session) WHERE session <> '';"
	"CREATE INDEX row_kind ON row (kind);"
	"CREATE INDEX row_denied ON row (allowed) WHERE allowed = 0;"
	"CREATE INDEX row_kind_denied ON row (kind) WHERE allowed = 0;"
	"CREATE TABLE head ("
	" id INTEGER PRIMARY KEY CHECK (id = 1),"
	" sequence INTEGER NOT NULL,"
	" hash BLOB NOT NULL) STRICT;"
	"PRAGMA application_id = 1397768524;" /* APPLICATION_ID */
	"PRAGMA user_version = 2;"	      /* SCHEMA_VERSION */
	"COMMIT;";

int store_fail(const struct store *store, struct err *err, const char *verb)
{
	return err_set(err, ERR_LIBRARY, "%s: %s", verb,
		       store->db ? sqlite3_errmsg(store->db) : "no memory");
}

/* ---- opening ---- */

/* The integer that a PRAGMA or SELECT gives; -1 when it gives none. */
static int64_t get_number(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement = NULL;
	int64_t number = -1;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW)
		number = sqlite3_column_int64(statement, 0);
	(void)sqlite3_finalize(statement);
	return number;
}

static int check_mode(struct store *store, struct err *err)
{
	sqlite3_stmt *statement = NULL;
	bool is_wal = false;

	if (sqlite3_prepare_v2(store->db, "PRAGMA journal_mode", -1, &statement,
			       NULL) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW)
		is_wal = bytes_is(bytes_str((const char *)sqlite3_column_text(
					  statement, 0)),
				  "wal");
	(void)sqlite3_finalize(statement);
	if (!is_wal)
		return err_set(err, ERR_LIBRARY,
			       "open " STORE_FILE ": it cannot keep a log");
	return 0;
}

static int check_schema(struct store *store, struct err *err)
{
	int64_t id = get_number(store->db, "PRAGMA application_id");
	int64_t version = get_number(store->db, "PRAGMA user_version");

	if (id == 0 && version == 0) {
		if (sqlite3_exec(store->db, schema, NULL, NULL, NULL))
			return store_fail(store, err, "make " STORE_FILE);
		return 0;
	}
	if (id != APPLICATION_ID)
		return err_set(err, ERR_INVALID,
			       "open " STORE_FILE ": it is not a ledger");
	if (version == FIRST_VERSION) {
		if (sqlite3_exec(store->db, from_first, NULL, NULL, NULL))
			return store_fail(store, err, "renew " STORE_FILE);
		return 0;
	}
	if (version != SCHEMA_VERSION)
		return err_set(err, ERR_UNSUPPORTED,
			       "open " STORE_FILE ": version %lld is not ours",
			       (long long)version);
	return 0;
}

static int prepare(struct store *store, const char *sql,
		   sqlite3_stmt **statement)
{
	return sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT,
				  statement, NULL) == SQLITE_OK
		       ? 0
		       : -1;
}

static int prepare_all(struct store *store, struct err *err)
{
	if (prepare(store, "BEGIN IMMEDIATE", &store->begin) < 0 ||
	    prepare(store, "COMMIT", &store->commit) < 0 ||
	    prepare(store, "ROLLBACK", &store->rollback) < 0 ||
	    group_open(&store->group, store->db) < 0 ||
	    prepare(store, "INSERT OR REPLACE INTO head VALUES (1,?,?)",
		    &store->set_head) < 0)
		return store_fail(store, err, "open " STORE_FILE);
	return 0;
}

/* Sequence and hash of the first row of a SELECT; the start of the chain
 * when it gives none. */
static int read_chain(struct store *store, const char *sql, struct chain *chain,
		      struct err *err)
{
	sqlite3_stmt *statement = NULL;
	const void *hash;
	int step;

	chain_start(chain);
	if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL))
		return store_fail(store, err, "read " STORE_FILE);
	step = sqlite3_step(statement);
	if (step == SQLITE_ROW) {
		hash = sqlite3_column_blob(statement, 1);
		chain->sequence = (uint64_t)sqlite3_column_int64(statement, 0);
		if (sqlite3_column_bytes(statement, 1) == DIGEST_LEN)
			memcpy(chain->hash, hash, DIGEST_LEN);
	}
	(void)sqlite3_finalize(statement);
	if (step != SQLITE_ROW && step != SQLITE_DONE)
		return store_fail(store, err, "read " STORE_FILE);
	return 0;
}

static int find_head(struct store *store, struct err *err)
{
	struct chain last;

	if (read_chain(store,
		       "SELECT sequence, hash FROM row"
		       " ORDER BY sequence DESC LIMIT 1",
		       &last, err) < 0 ||
	    read_chain(store, "SELECT sequence, hash FROM head", &store->head,
		       err) < 0)
		return -1;
	store->has_gap = last.sequence != store->head.sequence ||
			 memcmp(last.hash, store->head.hash, DIGEST_LEN) != 0;
	store->gap = last;
	/* Rows beyond the head are no reason to use their numbers again. */
	if (last.sequence > store->head.sequence)
		store->head = last;
	store->pending = store->head;
	return 0;
}

static int on_progress(void *owner)
{
	const struct store *store = owner;

	return store->query_deadline_ms != 0 &&
	       clock_monotonic_ms() > store->query_deadline_ms;
}

static int set_up(struct store *store, struct err *err)
{
	if (sqlite3_exec(store->db, settings, NULL, NULL, NULL) ||
	    sqlite_harden(store->db) < 0)
		return store_fail(store, err, "open " STORE_FILE);
	if (check_mode(store, err) < 0 || check_schema(store, err) < 0 ||
	    prepare_all(store, err) < 0)
		return -1;
	if (sqlite_open_all_now(store->db, SCHEMA_VERSION) < 0)
		return store_fail(store, err, "write " STORE_FILE);
	sqlite3_progress_handler(store->db, 1000, on_progress, store);
	if (retain_open(store, err) < 0)
		return -1;
	return find_head(store, err);
}

int store_open(struct store *store, int directory, uid_t uid, struct err *err)
{
	int result;

	*store = (struct store){0};
	result = sqlite_open(directory, STORE_FILE, uid, &store->db, err);
	if (result < 0 && store->db)
		(void)store_fail(store, err, "open " STORE_FILE);
	if (result == 0)
		result = set_up(store, err);
	if (result < 0)
		store_close(store);
	return result;
}

void store_close(struct store *store)
{
	(void)sqlite3_finalize(store->begin);
	(void)sqlite3_finalize(store->commit);
	(void)sqlite3_finalize(store->rollback);
	group_close(&store->group);
	(void)sqlite3_finalize(store->set_head);
	(void)sqlite3_close(store->db);
	*store = (struct store){0};
}

void store_rest(struct store *store)
{
	(void)sqlite3_db_release_memory(store->db);
}

/* ---- adding ---- */

/* Run a statement that gives no row. */
static int run(struct store *store, sqlite3_stmt *statement, const char *verb,
	       struct err *err)
{
	int step = sqlite3_step(statement);

	(void)sqlite3_reset(statement);
	if (step == SQLITE_DONE)
		return 0;
	return store_fail(store, err, verb);
}

int store_begin(struct store *store, struct err *err)
{
	store->pending = store->head;
	group_clear(&store->group);
	return run(store, store->begin, "begin", err);
}

static int bind_hash(sqlite3_stmt *statement, int at, const uint8_t *hash)
{
	return sqlite3_bind_blob(statement, at, hash, DIGEST_LEN,
				 SQLITE_STATIC);
}

static int insert(struct store *store, struct err *err)
{
	if (group_insert(&store->group) == 0)
		return 0;
	return store_fail(store, err, "write a row");
}

int store_add(struct store *store, const struct record *record,
	      uint64_t ended_ms, struct err *err)
{
	if (group_add(&store->group, record, ended_ms, &store->pending) < 0)
		return err_set(err, ERR_SYSTEM, "write a row: no memory");
	return group_is_full(&store->group) ? insert(store, err) : 0;
}

int store_commit(struct store *store, struct err *err)
{
	sqlite3_stmt *set_head = store->set_head;
	int64_t sequence = (int64_t)store->pending.sequence;

	if (insert(store, err) < 0)
		return -1;
	if (sqlite3_bind_int64(set_head, 1, sequence) ||
	    bind_hash(set_head, 2, store->pending.hash))
		return store_fail(store, err, "write the head");
	if (run(store, set_head, "write the head", err) < 0 ||
	    run(store, store->commit, "commit", err) < 0)
		return -1;
	store->head = store->pending;
	return 0;
}

void store_rollback(struct store *store)
{
	store->pending = store->head;
	group_clear(&store->group);
	/* Some failures have rolled back already. */
	if (!sqlite3_get_autocommit(store->db))
		(void)run(store, store->rollback, "roll back", NULL);
}
