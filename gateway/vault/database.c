#include "gateway/vault/database.h"

#include <stdio.h>

#include "common/cleanup.h"
#include "gateway/sqlite/open.h"

#define VAULT_FILE     "vault.db"
#define APPLICATION_ID 0x53505654 /* "SPVT" */
#define SCHEMA_VERSION 1

static const char settings[] = "PRAGMA locking_mode = EXCLUSIVE;"
			       "PRAGMA journal_mode = WAL;"
			       "PRAGMA synchronous = FULL;"
			       "PRAGMA secure_delete = ON;"
			       "PRAGMA wal_autocheckpoint = 100;"
			       "PRAGMA journal_size_limit = 0;"
			       "PRAGMA temp_store = MEMORY;"
			       "PRAGMA cache_size = -512;"
			       "PRAGMA cell_size_check = ON;";

static const char schema[] =
	"BEGIN IMMEDIATE;"
	"CREATE TABLE secret ("
	" name TEXT PRIMARY KEY,"
	" version INTEGER NOT NULL,"
	" created INTEGER NOT NULL,"
	" changed INTEGER NOT NULL,"
	" used INTEGER NOT NULL,"
	" sealed BLOB NOT NULL) STRICT, WITHOUT ROWID;"
	"CREATE TABLE vault ("
	" id INTEGER PRIMARY KEY CHECK (id = 1),"
	" next_version INTEGER NOT NULL,"
	" key_check BLOB NOT NULL) STRICT;"
	"PRAGMA application_id = 1397773908;" /* APPLICATION_ID */
	"PRAGMA user_version = 1;"	      /* SCHEMA_VERSION */
	"COMMIT;";

static int fail(sqlite3 *db, struct err *err, const char *verb)
{
	return err_set(err, ERR_LIBRARY, "%s the vault: %s", verb,
		       db ? sqlite3_errmsg(db) : "no memory");
}

/* ---- opening ---- */

/* The value that a PRAGMA gives: a number, or is it this word? */
static int64_t pragma(sqlite3 *db, const char *sql, const char *word)
{
	auto_type(database_done) struct statement statement = {0};

	if (database_prepare(db, sql, &statement, NULL) < 0 ||
	    database_step(&statement, NULL) <= 0)
		return -1;
	if (word)
		return bytes_is(database_blob(&statement, 0), word);
	return database_number(&statement, 0);
}

static int check_schema(sqlite3 *db, struct err *err)
{
	int64_t id = pragma(db, "PRAGMA application_id", NULL);
	int64_t version = pragma(db, "PRAGMA user_version", NULL);

	if (pragma(db, "PRAGMA journal_mode", "wal") != 1)
		return err_set(err, ERR_LIBRARY,
			       "open the vault: it cannot keep a log");
	if (id == 0 && version == 0)
		return database_exec(db, schema, err);
	if (id != APPLICATION_ID)
		return err_set(err, ERR_INVALID,
			       "open the vault: %s is not one", VAULT_FILE);
	if (version != SCHEMA_VERSION)
		return err_set(err, ERR_UNSUPPORTED,
			       "open the vault: version %lld is not ours",
			       (long long)version);
	return 0;
}

static int set_up(sqlite3 *db, struct err *err)
{
	if (database_exec(db, settings, err) < 0)
		return -1;
	if (sqlite_harden(db) < 0)
		return fail(db, err, "harden");
	if (check_schema(db, err) < 0)
		return -1;
	return sqlite_open_all_now(db, SCHEMA_VERSION) < 0
		       ? fail(db, err, "write")
		       : 0;
}

sqlite3 *database_open(int directory, uid_t uid, struct err *err)
{
	sqlite3 *db;
	int result = sqlite_open(directory, VAULT_FILE, uid, &db, err);

	if (result < 0 && db)
		(void)fail(db, err, "open");
	if (result == 0)
		result = set_up(db, err);
	if (result == 0)
		return db;
	database_close(db);
	return NULL;
}

void database_close(sqlite3 *db)
{
	(void)sqlite3_close(db);
}

/* ---- statements ---- */

int database_exec(sqlite3 *db, const char *sql, struct err *err)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	return fail(db, err, "write");
}

void database_roll_back(sqlite3 *db)
{
	/* Some failures have rolled back already. */
	if (!sqlite3_get_autocommit(db))
		(void)database_exec(db, "ROLLBACK", NULL);
}

int database_prepare(sqlite3 *db, const char *sql, struct statement *statement,
		     struct err *err)
{
	statement->bound = SQLITE_OK;
	if (sqlite3_prepare_v2(db, sql, -1, &statement->handle, NULL) ==
	    SQLITE_OK)
		return 0;
	return fail(db, err, "read");
}

static void note_bound(struct statement *statement, int result)
{
	if (statement->bound == SQLITE_OK)
		statement->bound = result;
}

void database_bind_text(struct statement *statement, int at, struct bytes text)
{
	const char *data = text.len ? (const char *)text.data : "";

	note_bound(statement, sqlite3_bind_text(statement->handle, at, data,
						(int)text.len, SQLITE_STATIC));
}

void database_bind_blob(struct statement *statement, int at, struct bytes blob)
{
	note_bound(statement,
		   sqlite3_bind_blob(statement->handle, at, blob.data,
				     (int)blob.len, SQLITE_STATIC));
}

void database_bind_number(struct statement *statement, int at, int64_t number)
{
	note_bound(statement,
		   sqlite3_bind_int64(statement->handle, at, number));
}

int database_step(struct statement *statement, struct err *err)
{
	sqlite3 *db = sqlite3_db_handle(statement->handle);
	int step = statement->bound;

	if (step == SQLITE_OK)
		step = sqlite3_step(statement->handle);
	if (step == SQLITE_ROW)
		return 1;
	if (step == SQLITE_DONE)
		return 0;
	return fail(db, err, "use");
}

int database_run(struct statement *statement, struct err *err)
{
	int step;

	do
		step = database_step(statement, err);
	while (step > 0);
	return step;
}

struct bytes database_blob(const struct statement *statement, int at)
{
	const void *data = sqlite3_column_blob(statement->handle, at);

	return bytes_from(data,
			  (size_t)sqlite3_column_bytes(statement->handle, at));
}

int64_t database_number(const struct statement *statement, int at)
{
	return sqlite3_column_int64(statement->handle, at);
}

void database_done(struct statement *statement)
{
	(void)sqlite3_finalize(statement->handle);
	statement->handle = NULL;
}
