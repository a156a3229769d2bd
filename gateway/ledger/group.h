/*
 * Rows of a transaction on their way into the table: GROUP_ROWS of them are
 * one statement, which takes two thirds of the time of so many statements.
 * What is left at the end of the transaction goes one by one. Of the store
 * alone.
 */
#ifndef GATEWAY_LEDGER_GROUP_H
#define GATEWAY_LEDGER_GROUP_H

#include <sqlite3.h>

#include "gateway/flow/package.h"
#include "gateway/ledger/chain.h"
#include "gateway/ledger/row.h"

#define GROUP_ROWS 16

struct group_row {
	uint64_t sequence, time_ms;
	int kind; /* row_kind_number() */
	bool allowed;
	char session[SESSION_ID_MAX];
	size_t session_len;
	size_t json, json_len; /* where in text */
	uint8_t prev[DIGEST_LEN];
	uint8_t hash[DIGEST_LEN];
};

struct group {
	sqlite3_stmt *one, *many;
	struct group_row rows[GROUP_ROWS];
	size_t count;
	struct buf text;
};

/* Prepare the statements. 0, or -1: the database says why. */
int group_open(struct group *group, sqlite3 *db);
void group_close(struct group *group);

/* Forget the rows that were not inserted. */
void group_clear(struct group *group);
/* Add the row (copied) of a record, and of its outcome when ended_ms is not 0,
 * that follows *at, which moves on to it. 0, or -1 when memory is out. Must
 * not be full. */
int group_add(struct group *group, const struct record *record,
	      uint64_t ended_ms, struct chain *at);
bool group_is_full(const struct group *group);
/* Insert the rows; it is empty afterwards. 0, or -1: the database says why,
 * and the transaction must be rolled back. */
int group_insert(struct group *group);

#endif
