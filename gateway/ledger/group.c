#include "gateway/ledger/group.h"

#include <assert.h>

#include "common/cleanup.h"

#define COLUMNS 8
#define SQL_MAX 1024
/* The last row may be too long at first, see row_add_tail(). */
#define TEXT_MAX ((GROUP_ROWS + 2) * (size_t)ROW_JSON_MAX)
/* A failure rolls the transaction back: what a statement did need not be
 * undone alone, and is not copied for that. */
#define INSERT "INSERT OR FAIL INTO row VALUES"
#define VALUES "(?,?,?,?,?,?,?,?)"

static int prepare(sqlite3 *db, size_t rows, sqlite3_stmt **statement)
{
	auto_type(buf_release) struct buf sql;

	buf_init(&sql, SQL_MAX);
	if (buf_add_str(&sql, INSERT VALUES) < 0)
		return -1;
	for (size_t i = 1; i < rows; i++)
		if (buf_add_str(&sql, "," VALUES) < 0)
			return -1;
	return sqlite3_prepare_v3(db, (const char *)buf_view(&sql).data,
				  (int)buf_len(&sql), SQLITE_PREPARE_PERSISTENT,
				  statement, NULL) == SQLITE_OK
		       ? 0
		       : -1;
}

int group_open(struct group *group, sqlite3 *db)
{
	buf_init(&group->text, TEXT_MAX);
	if (prepare(db, 1, &group->one) < 0)
		return -1;
	return prepare(db, GROUP_ROWS, &group->many);
}

void group_close(struct group *group)
{
	(void)sqlite3_finalize(group->one);
	(void)sqlite3_finalize(group->many);
	buf_release(&group->text);
}

void group_clear(struct group *group)
{
	group->count = 0;
	buf_clear(&group->text);
}

bool group_is_full(const struct group *group)
{
	return group->count == GROUP_ROWS;
}

int group_add(struct group *group, const struct record *record,
	      uint64_t ended_ms, struct chain *at)
{
	const struct row_head head = {
		.sequence = at->sequence + 1,
		.time_ms = record->time_ms,
		.kind = (enum record_kind)record->kind,
		.allowed = record->allowed,
		.session = record->session,
		.ended_ms = ended_ms,
	};
	struct group_row *row = &group->rows[group->count];
	size_t from = buf_len(&group->text);
	struct bytes json;

	assert(group->count < GROUP_ROWS);
	assert(head.session.len <= sizeof(row->session));
	if (row_add_head(&group->text, &head) < 0 ||
	    row_add_tail(&group->text, record) < 0)
		return -1;
	row->sequence = head.sequence;
	row->time_ms = head.time_ms;
	row->kind = row_kind_number(&head);
	row->allowed = head.allowed;
	row->session_len = head.session.len;
	if (head.session.len)
		memcpy(row->session, head.session.data, head.session.len);
	row->json = from;
	row->json_len = buf_len(&group->text) - from;
	json = bytes_slice(buf_view(&group->text), from, SIZE_MAX);
	memcpy(row->prev, at->hash, DIGEST_LEN);
	chain_hash(row->prev, json, row->hash);
	memcpy(at->hash, row->hash, DIGEST_LEN);
	at->sequence = row->sequence;
	group->count++;
	return 0;
}

static int bind_text(sqlite3_stmt *statement, int at, const char *text,
		     size_t len)
{
	return sqlite3_bind_text(statement, at, text, (int)len, SQLITE_STATIC);
}

static int bind_hash(sqlite3_stmt *statement, int at, const uint8_t *hash)
{
	return sqlite3_bind_blob(statement, at, hash, DIGEST_LEN,
				 SQLITE_STATIC);
}

/* The row's columns become the parameters after at. */
static int bind_row(sqlite3_stmt *statement, int at, const struct group *group,
		    const struct group_row *row)
{
	const char *json =
		(const char *)buf_view(&group->text).data + row->json;

	if (sqlite3_bind_int64(statement, at + 1, (int64_t)row->sequence) ||
	    sqlite3_bind_int64(statement, at + 2, (int64_t)row->time_ms) ||
	    sqlite3_bind_int(statement, at + 3, row->kind) ||
	    sqlite3_bind_int(statement, at + 4, row->allowed) ||
	    bind_text(statement, at + 5, row->session, row->session_len) ||
	    bind_text(statement, at + 6, json, row->json_len) ||
	    bind_hash(statement, at + 7, row->prev) ||
	    bind_hash(statement, at + 8, row->hash))
		return -1;
	return 0;
}

static int run(sqlite3_stmt *statement)
{
	int step = sqlite3_step(statement);

	(void)sqlite3_reset(statement);
	return step == SQLITE_DONE ? 0 : -1;
}

static int insert_many(struct group *group)
{
	for (size_t i = 0; i < GROUP_ROWS; i++)
		if (bind_row(group->many, (int)i * COLUMNS, group,
			     &group->rows[i]) < 0)
			return -1;
	return run(group->many);
}

static int insert_each(struct group *group)
{
	for (size_t i = 0; i < group->count; i++)
		if (bind_row(group->one, 0, group, &group->rows[i]) < 0 ||
		    run(group->one) < 0)
			return -1;
	return 0;
}

int group_insert(struct group *group)
{
	int result =
		group_is_full(group) ? insert_many(group) : insert_each(group);

	group_clear(group);
	return result;
}
