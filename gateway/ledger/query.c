#include "gateway/ledger/store.h"

#include "common/cleanup.h"
#include "common/clock.h"

#define SQL_MAX	 1024
#define LINE_MAX (ROW_JSON_MAX + 192)

/* What the column of the kind holds of the rows that are meant. An outcome
 * stands in a row of its own or in its decision's, which is then meant by
 * either kind. */
#define NUMBERS_MAX 3
struct numbers {
	int of[NUMBERS_MAX];
	size_t count; /* 0: any */
};

static struct numbers numbers_of(const struct msg_ledger_query *query)
{
	static const int request = RECORD_REQUEST + ROW_ENDED;
	static const int connection = RECORD_CONNECTION + ROW_ENDED;
	int kind = (int)record_kind_from_name(query->kind);

	if (query->kind.len == 0)
		return (struct numbers){.count = 0};
	/* What was refused is never in one row with its outcome. */
	if (query->denied_only)
		return (struct numbers){{kind}, 1};
	if (kind == RECORD_RESPONSE)
		return (struct numbers){{kind, request, connection}, 3};
	if (kind == RECORD_REQUEST)
		return (struct numbers){{kind, request}, 2};
	if (kind == RECORD_CONNECTION)
		return (struct numbers){{kind, connection}, 2};
	return (struct numbers){{kind}, 1};
}

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

/* The rows whose kind's number is one of count. */
static int write_select(const struct msg_ledger_query *query,
			const int *numbers, size_t count, struct buf *sql)
{
	if (buf_add_format(sql,
			   "SELECT sequence, json, prev, hash FROM row%s"
			   " WHERE sequence > ?1%s%s%s",
			   index_of(query),
			   query->session.len
				   ? " AND session = ?2 AND session <> ''"
				   : "",
			   query->denied_only ? " AND allowed = 0" : "",
			   query->newest && query->before ? " AND sequence < ?3"
							  : "") < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (buf_add_format(sql, "%s%d", i == 0 ? " AND kind IN (" : ",",
				   numbers[i]) < 0)
			return -1;
	return count > 0 ? buf_add_byte(sql, ')') : 0;
}

/* Nothing untrusted gets into the text of the statement. The index of kinds
 * has each of them in the order of rows: they are merged. */
static int write_sql(const struct msg_ledger_query *query, struct buf *sql)
{
	struct numbers numbers = numbers_of(query);
	size_t each = query->session.len ? numbers.count : 1, at = 0;

	do {
		if ((at > 0 && buf_add_str(sql, " UNION ALL ") < 0) ||
		    write_select(query, numbers.of + at,
				 numbers.count ? each : 0, sql) < 0)
			return -1;
		at += each;
	} while (at < numbers.count);
	return buf_add_str(sql, query->newest
					? " ORDER BY sequence DESC LIMIT ?4"
					: " ORDER BY sequence LIMIT ?4");
}

static int bind_query(sqlite3_stmt *statement,
		      const struct msg_ledger_query *query)
{
	/* One more than wanted tells whether there are more. */
	if (sqlite3_bind_int64(statement, 4, (int64_t)query->limit + 1))
		return -1;
	if (sqlite3_bind_int64(statement, 1,
			       query->newest ? 0 : (int64_t)query->after))
		return -1;
	if (query->newest && query->before &&
	    sqlite3_bind_int64(statement, 3, (int64_t)query->before))
		return -1;
	if (query->session.len &&
	    sqlite3_bind_text(statement, 2, (const char *)query->session.data,
			      (int)query->session.len, SQLITE_STATIC))
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
	auto_type(buf_release) struct buf sql;
	sqlite3_stmt *statement = NULL;
	int got = -1;

	buf_init(&sql, SQL_MAX);
	if (write_sql(query, &sql) < 0)
		return err_set(err, ERR_SYSTEM, "read rows: no memory");
	if (sqlite3_prepare_v2(store->db, (const char *)buf_view(&sql).data,
			       (int)buf_len(&sql), &statement, NULL) ||
	    bind_query(statement, query) < 0) {
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
