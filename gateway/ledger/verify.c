#include "common/cleanup.h"
#include "common/clock.h"
#include "gateway/ledger/retain.h"

/* How often the clock is asked. */
#define CLOCK_EVERY_ROWS 64

const char store_select_rows[] =
	"SELECT sequence, time, kind, allowed, session, json, prev, hash"
	" FROM row WHERE sequence > ?1 ORDER BY sequence";

static struct bytes column(sqlite3_stmt *statement, int at)
{
	const void *data = sqlite3_column_blob(statement, at);

	return bytes_from(data, (size_t)sqlite3_column_bytes(statement, at));
}

/* What follows the head that the columns give: the end, or a member that is
 * not of the head, so that none was left out. Of `ended` the column of the
 * kind says whether it is there. */
static bool goes_on_well(struct bytes rest, bool is_ended)
{
	if (rest.len == 0)
		return false;
	if (bytes_starts_with(rest, bytes_str(",\"ended\":")))
		return is_ended;
	return !is_ended &&
	       (rest.data[0] == '}' ||
		(rest.data[0] == ',' &&
		 !bytes_starts_with(rest, bytes_str(",\"session\":"))));
}

/* Do the columns say what the JSON says? */
static bool head_agrees(sqlite3_stmt *row, struct bytes json, struct buf *text)
{
	int64_t number = sqlite3_column_int64(row, 2);
	int64_t allowed = sqlite3_column_int64(row, 3);
	bool is_ended = number >= ROW_ENDED;
	int64_t kind = is_ended ? number - ROW_ENDED : number;
	const struct row_head head = {
		.sequence = (uint64_t)sqlite3_column_int64(row, 0),
		.time_ms = (uint64_t)sqlite3_column_int64(row, 1),
		.kind = (enum record_kind)kind,
		.allowed = allowed == 1,
		.session = column(row, 4),
	};

	if (kind < 0 || kind >= RECORD_KIND_MAX || allowed < 0 || allowed > 1)
		return false;
	buf_clear(text);
	return row_add_head(text, &head) == 0 &&
	       bytes_starts_with(json, buf_view(text)) &&
	       goes_on_well(bytes_slice(json, buf_len(text), json.len),
			    is_ended);
}

/* What is wrong with the row after *at; NULL, and *at moved on to it, when
 * nothing is. */
const char *store_check_row(struct chain *at, sqlite3_stmt *row,
			    struct buf *text)
{
	struct bytes json = column(row, 5), hash = column(row, 7);
	uint8_t wanted[DIGEST_LEN];

	if (!bytes_equal(column(row, 6), bytes_from(at->hash, DIGEST_LEN)))
		return "it does not follow from the row before it";
	chain_hash(at->hash, json, wanted);
	if (!bytes_equal(hash, bytes_from(wanted, DIGEST_LEN)))
		return "its text or its hash was altered";
	if (!head_agrees(row, json, text))
		return "its columns were altered";
	at->sequence++;
	memcpy(at->hash, wanted, DIGEST_LEN);
	return NULL;
}

static void say(struct msg_ledger_verified *verified, struct arena *arena,
		uint64_t broken_at, const char *why)
{
	verified->is_intact = false;
	verified->is_done = true;
	verified->broken_at = broken_at;
	verified->detail = bytes_str(arena_format(
		arena, "row %llu: %s", (unsigned long long)broken_at, why));
}

/* Does it tell of the rows that were removed? */
static bool tells_of_anchor(const struct store *store, struct bytes json)
{
	char words[RETAIN_DETAIL_MAX];

	retain_words(&store->anchor, words);
	return bytes_find_bytes(json, bytes_str(words), 0) >= 0;
}

/* A row that was removed must be told of by one that follows. */
static bool anchor_is_told(const struct store *store)
{
	return store->anchor.sequence == 0 ||
	       (store->anchor_told > store->anchor.sequence &&
		store->anchor_told <= store->head.sequence);
}

/* The rows ended: where they must? */
static void check_end(const struct store *store, const struct chain *at,
		      struct arena *arena, struct msg_ledger_verified *verified)
{
	char hex[2 * DIGEST_LEN + 1];

	if (at->sequence < store->head.sequence) {
		say(verified, arena, at->sequence + 1,
		    "it is missing, and all rows after it");
		return;
	}
	if (at->sequence > store->head.sequence ||
	    memcmp(at->hash, store->head.hash, DIGEST_LEN) != 0) {
		say(verified, arena, at->sequence,
		    "it is not the row that was written last");
		return;
	}
	bytes_to_hex(bytes_from(at->hash, DIGEST_LEN), hex);
	verified->is_done = true;
	verified->detail =
		bytes_str(arena_format(arena, "%llu rows, head %s",
				       (unsigned long long)at->sequence, hex));
}

/* Step through the rows after *at. Returns SQLite's last word. */
static int check_rows(const struct store *store, sqlite3_stmt *rows,
		      struct chain *at, struct arena *arena,
		      struct msg_ledger_verified *verified)
{
	uint64_t end_ms = clock_monotonic_ms() + STORE_VERIFY_MS;
	auto_type(buf_release) struct buf text;
	int step, seen = 0;

	buf_init(&text, ROW_HEAD_MAX);
	while ((step = sqlite3_step(rows)) == SQLITE_ROW) {
		const char *why = NULL;

		if ((uint64_t)sqlite3_column_int64(rows, 0) != at->sequence + 1)
			why = "it is missing";
		else
			why = store_check_row(at, rows, &text);
		if (!why && at->sequence == store->anchor_told &&
		    !tells_of_anchor(store, column(rows, 5))) {
			at->sequence--;
			why = "it does not tell of the rows before the first";
		}
		if (why) {
			say(verified, arena, at->sequence + 1, why);
			return step;
		}
		seen++;
		if (seen == STORE_VERIFY_ROWS_MAX ||
		    (seen % CLOCK_EVERY_ROWS == 0 &&
		     clock_monotonic_ms() > end_ms))
			return step;
	}
	return step;
}

/* The chain as of row `after`. Where that row is missing, the row after it
 * is taken at its word: its own hash still covers what it says of it. */
static int find_start(struct store *store, uint64_t after, struct chain *at,
		      struct err *err)
{
	sqlite3_stmt *statement = NULL;
	struct bytes hash;
	int step;

	*at = store->anchor;
	if (after <= store->anchor.sequence)
		return 0;
	at->sequence = after;
	if (sqlite3_prepare_v2(store->db,
			       "SELECT CASE sequence WHEN ?1 THEN hash ELSE"
			       " prev END FROM row WHERE sequence >= ?1"
			       " ORDER BY sequence LIMIT 1",
			       -1, &statement, NULL) ||
	    sqlite3_bind_int64(statement, 1, (int64_t)after))
		return store_fail(store, err, "verify");
	step = sqlite3_step(statement);
	hash = step == SQLITE_ROW ? column(statement, 0) : bytes_from(NULL, 0);
	if (hash.len == DIGEST_LEN)
		memcpy(at->hash, hash.data, DIGEST_LEN);
	(void)sqlite3_finalize(statement);
	if (step != SQLITE_ROW && step != SQLITE_DONE)
		return store_fail(store, err, "verify");
	return 0;
}

int store_verify(struct store *store, uint64_t after, struct arena *arena,
		 struct msg_ledger_verified *verified, struct err *err)
{
	sqlite3_stmt *rows = NULL;
	struct chain at;
	int step;

	*verified = (struct msg_ledger_verified){
		.is_intact = true,
		.first = store->anchor.sequence + 1,
	};
	if (after > INT64_MAX)
		return err_set(err, ERR_INVALID, "verify: no such row");
	if (find_start(store, after, &at, err) < 0)
		return -1;
	if (!anchor_is_told(store)) {
		say(verified, arena, store->anchor.sequence,
		    "it was removed, and no row tells of that");
		return 0;
	}
	if (sqlite3_prepare_v2(store->db, store_select_rows, -1, &rows, NULL) ||
	    sqlite3_bind_int64(rows, 1, (int64_t)after)) {
		(void)sqlite3_finalize(rows);
		return store_fail(store, err, "verify");
	}
	step = check_rows(store, rows, &at, arena, verified);
	(void)sqlite3_finalize(rows);
	if (step == SQLITE_CORRUPT)
		say(verified, arena, at.sequence + 1,
		    "the database is damaged");
	else if (step != SQLITE_ROW && step != SQLITE_DONE)
		return store_fail(store, err, "verify");
	verified->checked_to = at.sequence;
	if (step == SQLITE_DONE && !verified->is_done)
		check_end(store, &at, arena, verified);
	return 0;
}
