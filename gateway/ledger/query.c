#include "gateway/ledger/store.h"

#include "common/cleanup.h"
#include "common/clock.h"

#define SQL_MAX	 512
#define LINE_MAX (ROW_JSON_MAX + 192)

/* The index whose order is the rows' own, so that a query costs what it
 * gives, however many rows there are. */
static const char *index_of(const struct msg_ledger_query *query)
{
	if (query->session.len)
		return " INDEXED BY row_session";
	if (query->kind.len)
		return query->denied_only ? " INDEXED BY row_kind_denied"
					  : " INDEXED BY row_kind";
	return query->denied_only ? " INDEXED BY row_denied" : "";
}

/* Nothing untrusted gets into the text of the statement. */
static int write_sql(const struct msg_ledger_query *query, struct buf *sql)
{
	if (buf_add_str(sql, "SELECT sequence, json, prev, hash FROM row") <
		    0 ||
	    buf_add_str(sql, index_of(query)) < 0 ||
	    buf_add_str(sql, " WHERE sequence > ?1") < 0)
		return -1;
	if (query->session.len &&
	    buf_add_str(sql, " AND session = ?2 AND session <> ''") < 0)
		return -1;
	if (query->kind.len && buf_add_str(sql, " AND kind = ?3") < 0)
		return -1;
	if (query->denied_only && buf_add_str(sql, " AND allowed = 0") < 0)
		return -1;
	if (query->newest && query->before &&
	    buf_add_str(sql, " AND sequence < ?5") < 0)
		return -1;
	return buf_add_str(sql, query->newest
					? " ORDER BY sequence DESC LIMIT ?4"
					: " ORDER BY sequence LIMIT ?4");
}

static int bind_query(sqlite3_stmt *statement,
		      const struct msg_ledger_query *query,
		      enum record_kind kind)
{
	/* One more than wanted tells whether there are more. */
	if (sqlite3_bind_int64(statement, 4, (int64_t)query->limit + 1))
		return -1;
	if (sqlite3_bind_int64(statement, 1,
			       query->newest ? 0 : (int64_t)query->after))
		return -1;
	if (query->newest && query->before &&
	    sqlite3_bind_int64(statement, 5, (int64_t)query->before))
		return -1;
	if (query->session.len &&
	    sqlite3_bind_text(statement, 2, (const char *)query->session.data,
			      (int)query->session.len, SQLITE_STATIC))
		return -1;
	if (query->kind.len && sqlite3_bind_int(statement, 3, (int)kind))
		return -1;
	return 0;
}

static struct bytes column(sqlite3_stmt *statement, int at)
{
	const void *data = sqlite3_column_blob(statement, at);

	return bytes_from(data, (size_t)sqlite3_column_bytes(statement, at));
}

/* The line of the row that the statement stands on. 0, or -1. */
static int read_row(sqlite3_stmt *statement, struct arena *arena,
		    struct ledger_row *row, struct err *err)
{
	auto_type(buf_release) struct buf line;

	buf_init(&line, LINE_MAX);
	row->sequence = (uint64_t)sqlite3_column_int64(statement, 0);
	if (chain_add_line(&line, column(statement, 1), column(statement, 2),
			   column(statement, 3)) < 0)
		return err_set(err, ERR_INVALID, "read row %llu: damaged",
			       (unsigned long long)row->sequence);
	row->json = arena_copy(arena, buf_view(&line));
	if (!row->json.data)
		return err_set(err, ERR_SYSTEM, "read rows: no memory");
	return 0;
}

static void reverse(struct ledger_row *rows, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		struct ledger_row row = rows[i];

		rows[i] = rows[count - 1 - i];
		rows[count - 1 - i] = row;
	}
}

struct found {
	struct ledger_row rows[STORE_ROWS_MAX];
	size_t count;
	bool more;
};

/* Step through the statement. 0, or -1. */
static int collect(struct store *store, sqlite3_stmt *statement, size_t limit,
		   struct arena *arena, struct found *out, struct err *err)
{
	size_t bytes = 0;
	int step;

	while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
		struct ledger_row row;

		if (out->count == limit) {
			out->more = true;
			return 0;
		}
		if (read_row(statement, arena, &row, err) < 0)
			return -1;
		bytes += row.json.len;
		if (bytes > STORE_ROWS_BYTES_MAX) {
			out->more = true;
			return 0;
		}
		out->rows[out->count++] = row;
	}
	if (step == SQLITE_INTERRUPT)
		return err_set(err, ERR_TIMEOUT,
			       "read rows: too many to look at, ask for less");
	if (step != SQLITE_DONE)
		return store_fail(store, err, "read rows");
	return 0;
}

static int run_query(struct store *store, const struct msg_ledger_query *query,
		     struct arena *arena, struct found *found, struct err *err)
{
	enum record_kind kind = record_kind_from_name(query->kind);
	auto_type(buf_release) struct buf sql;
	sqlite3_stmt *statement = NULL;
	int got = -1;

	buf_init(&sql, SQL_MAX);
	if (write_sql(query, &sql) < 0)
		return err_set(err, ERR_SYSTEM, "read rows: no memory");
	if (sqlite3_prepare_v2(store->db, (const char *)buf_view(&sql).data,
			       (int)buf_len(&sql), &statement, NULL) ||
	    bind_query(statement, query, kind) < 0) {
		(void)store_fail(store, err, "read rows");
	} else {
		store->query_deadline_ms =
			clock_monotonic_ms() + STORE_QUERY_MS;
		got = collect(store, statement, query->limit, arena, found,
			      err);
		store->query_deadline_ms = 0;
	}
	(void)sqlite3_finalize(statement);
	return got;
}

int store_query(struct store *store, const struct msg_ledger_query *query,
		struct arena *arena, struct msg_ledger_rows *rows,
		struct err *err)
{
	struct found *found;

	*rows = (struct msg_ledger_rows){0};
	if (query->limit == 0 || query->limit > STORE_ROWS_MAX)
		return err_set(err, ERR_INVALID, "read rows: 1 to %d at once",
			       STORE_ROWS_MAX);
	if (query->kind.len &&
	    record_kind_from_name(query->kind) == RECORD_KIND_MAX)
		return err_set(err, ERR_INVALID, "read rows: no such kind");
	if (query->after > INT64_MAX || query->before > INT64_MAX)
		return 0;
	found = arena_alloc(arena, sizeof(*found));
	if (!found)
		return err_set(err, ERR_SYSTEM, "read rows: no memory");
	if (run_query(store, query, arena, found, err) < 0)
		return -1;
	if (query->newest)
		reverse(found->rows, found->count);
	rows->rows = found->rows;
	rows->rows_count = found->count;
	rows->more = found->more;
	return 0;
}
