#include "gateway/ledger/proposals.h"

#include "common/cleanup.h"

#define COLUMNS                                                                \
	"sequence, id, session, rule, method, scheme, host, port, path,"       \
	" credential, why, created, expires, state, scope, until, decided,"    \
	" decided_by"

/* In the order of COLUMNS. */
enum column {
	COLUMN_SEQUENCE,
	COLUMN_ID,
	COLUMN_SESSION,
	COLUMN_RULE,
	COLUMN_METHOD,
	COLUMN_SCHEME,
	COLUMN_HOST,
	COLUMN_PORT,
	COLUMN_PATH,
	COLUMN_CREDENTIAL,
	COLUMN_WHY,
	COLUMN_CREATED,
	COLUMN_EXPIRES,
	COLUMN_STATE,
	COLUMN_SCOPE,
	COLUMN_UNTIL,
	COLUMN_DECIDED,
	COLUMN_DECIDED_BY
};

_Static_assert(PROPOSAL_PENDING == 0 && PROPOSAL_APPROVED == 1 &&
		       PROPOSAL_DENIED == 2 && PROPOSAL_USED == 3 &&
		       PROPOSAL_EXPIRED == 4 && PROPOSAL_ENDED == 5,
	       "the statements below and the files of others say numbers");

int proposals_open(struct store *store, struct err *err)
{
	static const char sql[] = "CREATE TABLE IF NOT EXISTS proposal ("
				  " sequence INTEGER PRIMARY KEY AUTOINCREMENT,"
				  " id TEXT NOT NULL UNIQUE,"
				  " session TEXT NOT NULL,"
				  " rule TEXT NOT NULL,"
				  " method TEXT NOT NULL,"
				  " scheme INTEGER NOT NULL,"
				  " host TEXT NOT NULL,"
				  " port INTEGER NOT NULL,"
				  " path TEXT NOT NULL,"
				  " credential TEXT NOT NULL,"
				  " why TEXT NOT NULL,"
				  " created INTEGER NOT NULL,"
				  " expires INTEGER NOT NULL,"
				  " state INTEGER NOT NULL,"
				  " scope INTEGER NOT NULL,"
				  " until INTEGER NOT NULL,"
				  " decided INTEGER NOT NULL,"
				  " decided_by INTEGER NOT NULL) STRICT;"
				  "CREATE INDEX IF NOT EXISTS proposal_session"
				  " ON proposal (session, state);"
				  "CREATE INDEX IF NOT EXISTS proposal_until"
				  " ON proposal (until) WHERE state < 3;"
				  "CREATE INDEX IF NOT EXISTS proposal_expires"
				  " ON proposal (expires);";

	if (sqlite3_exec(store->db, sql, NULL, NULL, NULL))
		return store_fail(store, err, "make the proposals");
	return 0;
}

/* ---- statements: prepared, bound, stepped, dropped ---- */

static void statement_drop(sqlite3_stmt **statement)
{
	(void)sqlite3_finalize(*statement);
}

#define auto_statement __attribute__((cleanup(statement_drop))) sqlite3_stmt *

static int prepare(struct store *store, const char *sql,
		   sqlite3_stmt **statement, struct err *err)
{
	if (sqlite3_prepare_v2(store->db, sql, -1, statement, NULL))
		return store_fail(store, err, "read the proposals");
	return 0;
}

static bool bind_text(sqlite3_stmt *statement, int at, struct bytes text)
{
	const char *data = text.len ? (const char *)text.data : "";

	return sqlite3_bind_text(statement, at, data, (int)text.len,
				 SQLITE_STATIC) == SQLITE_OK;
}

static bool bind_number(sqlite3_stmt *statement, int at, uint64_t number)
{
	return number <= INT64_MAX &&
	       sqlite3_bind_int64(statement, at, (int64_t)number) == SQLITE_OK;
}

/* Run a statement that gives no row. 0, or -1. */
static int run(struct store *store, sqlite3_stmt *statement, struct err *err)
{
	if (sqlite3_step(statement) == SQLITE_DONE)
		return 0;
	return store_fail(store, err, "write the proposals");
}

/* Run a statement of one number. 0, or -1. */
static int run_at(struct store *store, const char *sql, uint64_t number,
		  struct err *err)
{
	auto_statement statement = NULL;

	if (prepare(store, sql, &statement, err) < 0)
		return -1;
	if (!bind_number(statement, 1, number))
		return store_fail(store, err, "write the proposals");
	return run(store, statement, err);
}

/* Mark what ran out, forget what is long over. */
static int settle(struct store *store, uint64_t now_ms, struct err *err)
{
	if (run_at(store,
		   "UPDATE proposal SET state = 4"
		   " WHERE state < 3 AND until <= ?1",
		   now_ms, err) < 0)
		return -1;
	return run_at(store, "DELETE FROM proposal WHERE expires <= ?1",
		      now_ms < PROPOSALS_KEPT_MS ? 0
						 : now_ms - PROPOSALS_KEPT_MS,
		      err);
}

/* ---- reading ---- */

static struct bytes text_at(sqlite3_stmt *statement, enum column at,
			    struct arena *arena)
{
	const void *data = sqlite3_column_text(statement, (int)at);

	return arena_copy(arena, bytes_from(data, (size_t)sqlite3_column_bytes(
							  statement, (int)at)));
}

static uint64_t number_at(sqlite3_stmt *statement, enum column at)
{
	return (uint64_t)sqlite3_column_int64(statement, (int)at);
}

/* The proposal that the statement stands on. */
static void read_proposal(sqlite3_stmt *row, struct arena *arena,
			  struct proposal *proposal)
{
	*proposal = (struct proposal){
		.id = text_at(row, COLUMN_ID, arena),
		.session = text_at(row, COLUMN_SESSION, arena),
		.rule = text_at(row, COLUMN_RULE, arena),
		.method = text_at(row, COLUMN_METHOD, arena),
		.scheme = (uint8_t)number_at(row, COLUMN_SCHEME),
		.host = text_at(row, COLUMN_HOST, arena),
		.port = (uint16_t)number_at(row, COLUMN_PORT),
		.path = text_at(row, COLUMN_PATH, arena),
		.credential = text_at(row, COLUMN_CREDENTIAL, arena),
		.why = text_at(row, COLUMN_WHY, arena),
		.created_ms = number_at(row, COLUMN_CREATED),
		.expires_ms = number_at(row, COLUMN_EXPIRES),
		.state = (uint8_t)number_at(row, COLUMN_STATE),
		.scope = (uint8_t)number_at(row, COLUMN_SCOPE),
		.until_ms = number_at(row, COLUMN_UNTIL),
		.decided_ms = number_at(row, COLUMN_DECIDED),
		.decided_by = (uint32_t)number_at(row, COLUMN_DECIDED_BY),
	};
}

static size_t size_of(const struct proposal *proposal)
{
	return sizeof(*proposal) + proposal->rule.len + proposal->host.len +
	       proposal->path.len + proposal->credential.len +
	       proposal->why.len;
}

/* Step to the only row. 1, 0: there is none, or -1. */
static int read_one(struct store *store, sqlite3_stmt *statement,
		    struct arena *arena, struct proposal *found,
		    struct err *err)
{
	int step = sqlite3_step(statement);

	if (step == SQLITE_DONE)
		return 0;
	if (step != SQLITE_ROW)
		return store_fail(store, err, "read the proposals");
	read_proposal(statement, arena, found);
	return 1;
}

int proposals_get(struct store *store, struct bytes id, uint64_t now_ms,
		  struct arena *arena, struct proposal *found, struct err *err)
{
	auto_statement statement = NULL;

	if (settle(store, now_ms, err) < 0 ||
	    prepare(store, "SELECT " COLUMNS " FROM proposal WHERE id = ?1",
		    &statement, err) < 0)
		return -1;
	if (!bind_text(statement, 1, id))
		return store_fail(store, err, "read the proposals");
	return read_one(store, statement, arena, found, err);
}

static int collect(struct store *store, sqlite3_stmt *statement,
		   struct arena *arena, struct proposal *rows,
		   struct msg_proposal_list *list, struct err *err)
{
	size_t bytes = 0;
	int step;

	while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
		struct proposal *row = &rows[list->proposals_count];

		list->more = list->proposals_count == PROPOSALS_LISTED_MAX;
		if (list->more)
			return 0;
		read_proposal(statement, arena, row);
		bytes += size_of(row);
		list->more = bytes > PROPOSALS_LIST_BYTES_MAX;
		if (list->more)
			return 0;
		list->last = number_at(statement, COLUMN_SEQUENCE);
		list->proposals_count++;
	}
	return step == SQLITE_DONE
		       ? 0
		       : store_fail(store, err, "read the proposals");
}

int proposals_list(struct store *store, const struct msg_proposal_query *query,
		   uint64_t now_ms, struct arena *arena,
		   struct msg_proposal_list *list, struct err *err)
{
	struct proposal *rows =
		arena_array(arena, PROPOSALS_LISTED_MAX, sizeof(*rows));
	auto_statement statement = NULL;

	*list = (struct msg_proposal_list){.proposals = rows,
					   .last = query->after};
	if (!rows)
		return err_set(err, ERR_SYSTEM, "read the proposals: memory");
	if (settle(store, now_ms, err) < 0 ||
	    prepare(store,
		    "SELECT " COLUMNS " FROM proposal WHERE sequence > ?1"
		    " AND (?2 = '' OR session = ?2)"
		    " AND (?3 = 6 OR state = ?3) ORDER BY sequence",
		    &statement, err) < 0)
		return -1;
	_Static_assert(PROPOSAL_STATE_MAX == 6, "any state, as said above");
	if (!bind_number(statement, 1, query->after) ||
	    !bind_text(statement, 2, query->session) ||
	    !bind_number(statement, 3, query->state))
		return store_fail(store, err, "read the proposals");
	return collect(store, statement, arena, rows, list, err);
}

/* ---- asking ---- */

static bool bind_question(sqlite3_stmt *statement,
			  const struct proposal *question)
{
	return bind_text(statement, 1, question->session) &&
	       bind_text(statement, 2, question->rule) &&
	       bind_text(statement, 3, question->method) &&
	       bind_number(statement, 4, question->scheme) &&
	       bind_text(statement, 5, question->host) &&
	       bind_number(statement, 6, question->port) &&
	       bind_text(statement, 7, question->path) &&
	       bind_text(statement, 8, question->credential);
}

/* The open proposal of the same question. 1, 0, or -1. */
static int find_same(struct store *store, const struct proposal *question,
		     struct arena *arena, struct proposal *found,
		     struct err *err)
{
	auto_statement statement = NULL;

	if (prepare(store,
		    "SELECT " COLUMNS " FROM proposal"
		    " WHERE session = ?1 AND state < 3 AND rule = ?2"
		    " AND method = ?3 AND scheme = ?4 AND host = ?5"
		    " AND port = ?6 AND path = ?7 AND credential = ?8"
		    " ORDER BY sequence DESC LIMIT 1",
		    &statement, err) < 0)
		return -1;
	if (!bind_question(statement, question))
		return store_fail(store, err, "read the proposals");
	return read_one(store, statement, arena, found, err);
}

/* 1: there is room for one more; 0: there is none; or -1. */
static int has_room(struct store *store, struct bytes session, struct err *err)
{
	auto_statement statement = NULL;

	if (prepare(store,
		    "SELECT count(*) FROM proposal"
		    " WHERE session = ?1 AND state = 0",
		    &statement, err) < 0)
		return -1;
	if (!bind_text(statement, 1, session) ||
	    sqlite3_step(statement) != SQLITE_ROW)
		return store_fail(store, err, "read the proposals");
	return sqlite3_column_int64(statement, 0) < PROPOSALS_PENDING_MAX;
}

static int insert(struct store *store, const struct proposal *proposal,
		  struct err *err)
{
	auto_statement statement = NULL;

	if (prepare(store,
		    "INSERT INTO proposal (session, rule, method, scheme,"
		    " host, port, path, credential, id, why, created, expires,"
		    " until, state, scope, decided, decided_by) VALUES"
		    " (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?12,0,0,0,0)",
		    &statement, err) < 0)
		return -1;
	if (!bind_question(statement, proposal) ||
	    !bind_text(statement, 9, proposal->id) ||
	    !bind_text(statement, 10, proposal->why) ||
	    !bind_number(statement, 11, proposal->created_ms) ||
	    !bind_number(statement, 12, proposal->expires_ms))
		return store_fail(store, err, "write the proposals");
	return run(store, statement, err);
}

static int add(struct store *store, const struct proposal_ask *ask,
	       struct arena *arena, struct proposal *added, struct err *err)
{
	uint64_t latest = ask->now_ms + PROPOSALS_LIFE_MAX_MS;
	char id[27];
	int room = has_room(store, ask->question->session, err);

	if (room < 0)
		return -1;
	if (room == 0)
		return err_set(err, ERR_TOO_LARGE,
			       "%d questions of this session wait already",
			       PROPOSALS_PENDING_MAX);
	random_id(id);
	*added = *ask->question;
	added->id = bytes_str(arena_format(arena, "p-%s", id));
	added->created_ms = ask->now_ms;
	if (added->expires_ms > latest)
		added->expires_ms = latest;
	added->state = PROPOSAL_PENDING;
	added->until_ms = added->expires_ms;
	added->scope = GRANT_ONCE;
	added->decided_ms = added->decided_by = 0;
	return insert(store, added, err);
}

/* Of two takers of one thing approved once, one gets it. */
static int use_up(struct store *store, struct bytes id, struct err *err)
{
	auto_statement statement = NULL;

	if (prepare(store,
		    "UPDATE proposal SET state = 3"
		    " WHERE id = ?1 AND state = 1",
		    &statement, err) < 0)
		return -1;
	if (!bind_text(statement, 1, id))
		return store_fail(store, err, "write the proposals");
	return run(store, statement, err);
}

int proposals_ask(struct store *store, const struct proposal_ask *ask,
		  struct arena *arena, struct proposal *found, bool *is_new,
		  struct err *err)
{
	int same;

	*is_new = false;
	if (settle(store, ask->now_ms, err) < 0)
		return -1;
	same = find_same(store, ask->question, arena, found, err);
	if (same < 0)
		return -1;
	if (same == 0) {
		*is_new = true;
		return add(store, ask, arena, found, err);
	}
	if (ask->take && found->state == PROPOSAL_APPROVED &&
	    found->scope == GRANT_ONCE)
		return use_up(store, found->id, err);
	return 0;
}

/* ---- deciding ---- */

int proposals_decide(struct store *store,
		     const struct msg_proposal_decide *decide, uint64_t now_ms,
		     struct err *err)
{
	bool is_timed = decide->approve && decide->scope == GRANT_UNTIL;
	auto_statement statement = NULL;

	if (settle(store, now_ms, err) < 0 ||
	    prepare(store,
		    "UPDATE proposal SET state = ?2, scope = ?3,"
		    " until = min(expires, ?4), decided = ?5, decided_by = ?6"
		    " WHERE id = ?1 AND state = 0",
		    &statement, err) < 0)
		return -1;
	if (!bind_text(statement, 1, decide->id) ||
	    !bind_number(statement, 2,
			 decide->approve ? PROPOSAL_APPROVED
					 : PROPOSAL_DENIED) ||
	    !bind_number(statement, 3,
			 decide->approve ? decide->scope : GRANT_SESSION) ||
	    !bind_number(statement, 4,
			 is_timed ? decide->until_ms : INT64_MAX) ||
	    !bind_number(statement, 5, now_ms) ||
	    !bind_number(statement, 6, decide->by))
		return store_fail(store, err, "write the proposals");
	if (run(store, statement, err) < 0)
		return -1;
	return sqlite3_changes(store->db) == 1;
}

int proposals_end_session(struct store *store, struct bytes session,
			  struct err *err)
{
	auto_statement statement = NULL;

	if (prepare(store,
		    "UPDATE proposal SET state = 5"
		    " WHERE session = ?1 AND state < 2",
		    &statement, err) < 0)
		return -1;
	if (!bind_text(statement, 1, session))
		return store_fail(store, err, "write the proposals");
	return run(store, statement, err);
}
