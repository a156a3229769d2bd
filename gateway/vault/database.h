/*
 * SQLite as the vault uses it: opened hardened, statements that release
 * themselves, and a schema of two tables. Only sealed values come here.
 */
#ifndef GATEWAY_VAULT_DATABASE_H
#define GATEWAY_VAULT_DATABASE_H

#include <sqlite3.h>
#include <sys/types.h>

#include "common/bytes.h"
#include "common/err.h"

/* Open or make vault.db in the directory, for owner uid ((uid_t)-1: stay).
 * Held with an exclusive lock; afterwards no other file is opened, made or
 * removed. NULL on failure. */
sqlite3 *database_open(int directory, uid_t uid, struct err *err);
void database_close(sqlite3 *db);

/* Run SQL that gives no row. 0, or -1. */
int database_exec(sqlite3 *db, const char *sql, struct err *err);
/* Undo a transaction that failed. */
void database_roll_back(sqlite3 *db);

struct statement {
	sqlite3_stmt *handle;
	int bound; /* the first failure of a bind */
};

int database_prepare(sqlite3 *db, const char *sql, struct statement *statement,
		     struct err *err);
/* What is bound is borrowed until database_done(). A failure is told by the
 * next step. */
void database_bind_text(struct statement *statement, int at, struct bytes text);
void database_bind_blob(struct statement *statement, int at, struct bytes blob);
void database_bind_number(struct statement *statement, int at, int64_t number);
/* 1: there is a row; 0: no more; -1. */
int database_step(struct statement *statement, struct err *err);
/* Step to the end. 0, or -1. */
int database_run(struct statement *statement, struct err *err);
/* Of the row; valid until the next step. */
struct bytes database_blob(const struct statement *statement, int at);
int64_t database_number(const struct statement *statement, int at);
void database_done(struct statement *statement);

#endif
