/*
 * The ledger's rows on disk: one SQLite database, ledger.db, in the state
 * directory that is the ledger's alone (ROLE_FD_STATE), opened through
 * /proc/self/fd before confinement and held with an exclusive lock. WAL with
 * synchronous=FULL: what store_commit() said 0 to survives the power going.
 * After store_open() no other file is opened, made or removed.
 *
 * The tail. Beside the rows stands the head: sequence and hash of the last
 * row, written in the same transaction. A store whose rows end before its
 * head was cut: store_open() says so in store.gap, the chain goes on from the
 * head, and so verification finds the missing rows for ever. Who rewrites
 * head and rows alike is found as long as the process runs (it verifies
 * against its memory), and afterwards by the heads that it logged
 * ("ledger head sequence=... hash=..."), which are somewhere else.
 */
#ifndef GATEWAY_LEDGER_STORE_H
#define GATEWAY_LEDGER_STORE_H

#include <sqlite3.h>
#include <sys/types.h>

#include "common/arena.h"
#include "gateway/flow/messages.h"
#include "gateway/flow/package.h"
#include "gateway/ledger/chain.h"
#include "gateway/ledger/group.h"
#include "gateway/ledger/row.h"

/* Of one answer (struct msg_ledger_rows). */
#define STORE_ROWS_MAX	     64
#define STORE_ROWS_BYTES_MAX (60 * 1024)
/* A query that works longer is given up. */
#define STORE_QUERY_MS 200
/* One step of verification ends at the first of these. */
#define STORE_VERIFY_ROWS_MAX 5000
#define STORE_VERIFY_MS	      25

struct store {
	sqlite3 *db;
	sqlite3_stmt *begin, *commit, *rollback, *set_head;
	struct group group;   /* rows that were added and not inserted */
	struct chain head;    /* the last row that was committed */
	struct chain pending; /* with what was added since store_begin() */
	struct chain gap;     /* where the rows ended when they ended before
				 their head; sequence 0: they did not */
	bool has_gap;
	struct chain anchor;  /* the last row that was removed, see retain.h;
				 sequence 0: none was */
	uint64_t anchor_told; /* sequence of the row that tells of it */
	uint64_t query_deadline_ms; /* of the query that runs; 0: none */
};

/* Open or make the store in the directory fd, for owner uid and gid (when
 * root; (uid_t)-1: stay). 0, or -1. */
int store_open(struct store *store, int directory, uid_t uid, struct err *err);
/* Close it. Rows that were not committed are lost. */
void store_close(struct store *store);
/* Nothing comes: give back the memory of pages that can be read again. */
void store_rest(struct store *store);

/* One transaction: begin, add..., commit. 0, or -1: then roll back, and
 * nothing of it is in the store. What is added is a record, whose session has
 * at most SESSION_ID_MAX bytes, with its outcome when ended_ms is not 0
 * (row.h). A row that was added (copied) may reach the table with one that
 * follows, or with the commit. */
int store_begin(struct store *store, struct err *err);
int store_add(struct store *store, const struct record *record,
	      uint64_t ended_ms, struct err *err);
int store_commit(struct store *store, struct err *err);
void store_rollback(struct store *store);

/* The rows that a query asks for; its texts are untrusted. Lines live in
 * arena. rows->more: more rows match. 0, or -1 (ERR_TIMEOUT: the query would
 * work too long). */
int store_query(struct store *store, const struct msg_ledger_query *query,
		struct arena *arena, struct msg_ledger_rows *rows,
		struct err *err);

/* One step of verifying the chain from after on; detail (in arena) says what
 * is wrong, or at the end how much was right. 0, or -1. */
int store_verify(struct store *store, uint64_t after, struct arena *arena,
		 struct msg_ledger_verified *verified, struct err *err);

/* Rows after ?1 with all columns, in order; and what is wrong with the one
 * after *at: NULL, and *at moved on to it, when nothing is. */
extern const char store_select_rows[];
const char *store_check_row(struct chain *at, sqlite3_stmt *row,
			    struct buf *text);

/* "verb: what SQLite says"; returns -1. */
int store_fail(const struct store *store, struct err *err, const char *verb);

#endif
