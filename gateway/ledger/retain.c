#include "gateway/ledger/retain.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/cleanup.h"

static const char table[] = "CREATE TABLE IF NOT EXISTS anchor ("
			    " id INTEGER PRIMARY KEY CHECK (id = 1),"
			    " sequence INTEGER NOT NULL,"
			    " hash BLOB NOT NULL,"
			    " told INTEGER NOT NULL) STRICT;";

void retain_words(const struct chain *anchor, char out[RETAIN_DETAIL_MAX])
{
	char hex[2 * DIGEST_LEN + 1];

	bytes_to_hex(bytes_from(anchor->hash, DIGEST_LEN), hex);
	(void)snprintf(out, RETAIN_DETAIL_MAX,
		       "rows to %" PRIu64 " were kept for their time and "
		       "removed, the last with hash %s",
		       anchor->sequence, hex);
}

/* ---- the anchor ---- */

static int read_anchor(struct store *store, sqlite3_stmt *statement,
		       struct err *err)
{
	int step = sqlite3_step(statement);

	chain_start(&store->anchor);
	store->anchor_told = 0;
	if (step == SQLITE_DONE)
		return 0;
	if (step != SQLITE_ROW)
		return store_fail(store, err, "read the anchor");
	store->anchor.sequence = (uint64_t)sqlite3_column_int64(statement, 0);
	if (sqlite3_column_bytes(statement, 1) == DIGEST_LEN)
		memcpy(store->anchor.hash, sqlite3_column_blob(statement, 1),
		       DIGEST_LEN);
	store->anchor_told = (uint64_t)sqlite3_column_int64(statement, 2);
	return 0;
}

int retain_open(struct store *store, struct err *err)
{
	sqlite3_stmt *statement = NULL;
	int result;

	if (sqlite3_exec(store->db, table, NULL, NULL, NULL) ||
	    sqlite3_prepare_v2(store->db,
			       "SELECT sequence, hash, told FROM anchor", -1,
			       &statement, NULL))
		return store_fail(store, err, "make the anchor");
	result = read_anchor(store, statement, err);
	(void)sqlite3_finalize(statement);
	return result;
}

static int set_anchor(struct store *store, const struct chain *last,
		      struct err *err)
{
	static const char sql[] =
		"INSERT OR REPLACE INTO anchor VALUES (1, ?1, ?2, ?3)";
	sqlite3_stmt *statement = NULL;
	int step = SQLITE_ERROR;

	if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) ==
		    SQLITE_OK &&
	    sqlite3_bind_int64(statement, 1, (int64_t)last->sequence) ==
		    SQLITE_OK &&
	    sqlite3_bind_blob(statement, 2, last->hash, DIGEST_LEN,
			      SQLITE_STATIC) == SQLITE_OK &&
	    sqlite3_bind_int64(statement, 3,
			       (int64_t)store->pending.sequence) == SQLITE_OK)
		step = sqlite3_step(statement);
	(void)sqlite3_finalize(statement);
	return step == SQLITE_DONE ? 0
				   : store_fail(store, err, "set the anchor");
}

/* ---- a cut ---- */

/* The last of the first rows that are all older; how many they are, or -1.
 * None goes that verification would not pass: it would be hidden, and an
 * altered time would let it go before its own. */
static int find_last(struct store *store, uint64_t before_ms,
		     struct chain *last, struct err *err)
{
	auto_type(buf_release) struct buf text;
	sqlite3_stmt *rows = NULL;
	int step = SQLITE_ERROR, count = 0;
	bool is_sound = true;

	*last = store->anchor;
	buf_init(&text, ROW_HEAD_MAX);
	if (sqlite3_prepare_v2(store->db, store_select_rows, -1, &rows, NULL) ==
		    SQLITE_OK &&
	    sqlite3_bind_int64(rows, 1, 0) == SQLITE_OK)
		while (is_sound && count < RETAIN_ROWS_MAX &&
		       (step = sqlite3_step(rows)) == SQLITE_ROW &&
		       (uint64_t)sqlite3_column_int64(rows, 1) < before_ms) {
			is_sound = (uint64_t)sqlite3_column_int64(rows, 0) ==
					   last->sequence + 1 &&
				   !store_check_row(last, rows, &text);
			count++;
		}
	(void)sqlite3_finalize(rows);
	if (step != SQLITE_ROW && step != SQLITE_DONE)
		return store_fail(store, err, "look for old rows");
	return is_sound ? count
			: err_set(err, ERR_INVALID,
				  "remove rows: the record is broken after row "
				  "%" PRIu64,
				  last->sequence);
}

static int tell(struct store *store, const struct chain *last, uint64_t now_ms,
		struct err *err)
{
	char words[RETAIN_DETAIL_MAX];
	struct record record = {
		.time_ms = now_ms,
		.kind = RECORD_PROCESS,
		.allowed = true,
		.host = bytes_str("ledger"),
	};

	retain_words(last, words);
	record.detail = bytes_str(words);
	return store_add(store, &record, 0, err);
}

static int remove_to(struct store *store, uint64_t sequence, struct err *err)
{
	sqlite3_stmt *statement = NULL;
	int step = SQLITE_ERROR;

	if (sqlite3_prepare_v2(store->db,
			       "DELETE FROM row WHERE sequence <= ?1", -1,
			       &statement, NULL) == SQLITE_OK &&
	    sqlite3_bind_int64(statement, 1, (int64_t)sequence) == SQLITE_OK)
		step = sqlite3_step(statement);
	(void)sqlite3_finalize(statement);
	return step == SQLITE_DONE ? 0 : store_fail(store, err, "remove rows");
}

static int cut(struct store *store, const struct chain *last, uint64_t now_ms,
	       struct err *err)
{
	uint64_t told;

	if (store_begin(store, err) < 0)
		return -1;
	told = store->pending.sequence + 1;
	if (tell(store, last, now_ms, err) < 0 ||
	    remove_to(store, last->sequence, err) < 0 ||
	    set_anchor(store, last, err) < 0 || store_commit(store, err) < 0) {
		store_rollback(store);
		return -1;
	}
	store->anchor = *last;
	store->anchor_told = told;
	return 0;
}

int retain_cut(struct store *store, uint64_t before_ms, uint64_t now_ms,
	       struct err *err)
{
	struct chain last;
	int count = find_last(store, before_ms, &last, err);

	if (count > 0 && cut(store, &last, now_ms, err) < 0)
		return -1;
	return count;
}
