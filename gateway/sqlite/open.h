/*
 * How the ledger and the vault open their SQLite files: made with the right
 * owner first, hardened against what a file could hold, and with everything
 * open that SQLite would open later, when the process is confined.
 */
#ifndef GATEWAY_SQLITE_OPEN_H
#define GATEWAY_SQLITE_OPEN_H

#include <sqlite3.h>
#include <sys/types.h>

#include "common/err.h"

/* The processes of a gateway that was killed end a moment after it; until then
 * they hold their files. */
#define SQLITE_OPEN_WAIT_MS 2000

/* Open name in directory, made when it is missing (mode 0600, of uid unless
 * that is -1), for this process alone. 0; -1 with *db NULL or for
 * sqlite3_errmsg() and sqlite3_close(); *err is set when *db is NULL. */
int sqlite_open(int directory, const char *name, uid_t uid, sqlite3 **db,
		struct err *err);
/* No triggers, views or attached files, no schema that is believed; its log
 * stays. 0, or -1: sqlite3_errmsg(). */
int sqlite_harden(sqlite3 *db);
/* Open what SQLite would open later: the directory of its log, which the
 * first write syncs, and the source of its random numbers, which a restart
 * of the log needs. version: of the schema, which it has. 0, or -1. */
int sqlite_open_all_now(sqlite3 *db, int version);

#endif
