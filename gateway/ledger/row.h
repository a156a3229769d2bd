/*
 * A record as the ledger writes it: one JSON object, its members in this
 * order, those that are empty or zero left out:
 *
 *	sequence, time (RFC 3339, UTC), class_uid (OCSF), activity (the name
 *	of its kind), allowed, session, ended,      <- the head
 *	constraint (a name), request_id, rule, host, port, method, path,
 *	status, bytes_up, bytes_down, credential, detail, old_oid, new_oid,
 *	approval, count, first
 *
 * A row with `ended` is two records in one (join.h): what was decided, at
 * `time`, and how it ended, at `ended`, with status and bytes.
 *
 * The head says again what stands in the columns of the store, so that a
 * column that was altered alone is found: verification writes the head from
 * the columns and compares. Of `ended` the column of the kind says that it is
 * there (row_kind_number()).
 */
#ifndef GATEWAY_LEDGER_ROW_H
#define GATEWAY_LEDGER_ROW_H

#include "common/buf.h"
#include "gateway/flow/record.h"

/* Of a row without prev and hash: fits struct ledger_row with them. */
#define ROW_JSON_MAX 8000
/* Of what row_add_head() writes. */
#define ROW_HEAD_MAX 256

struct row_head {
	uint64_t sequence;
	uint64_t time_ms;
	enum record_kind kind;
	bool allowed;
	struct bytes session; /* <= SESSION_ID_MAX */
	uint64_t ended_ms;    /* 0: its outcome, if any, is another row */
};

/* What stands in the column of the kind: a row that holds its outcome has a
 * number of its own, so that it is found among outcomes as well. */
#define ROW_ENDED 64

/* Append the head: "{" and its members. 0, or -1 when out has no room. */
int row_add_head(struct buf *out, const struct row_head *head);

/* Append the rest: each member with a comma before it, and "}". Texts are valid
 * UTF-8 (the wire saw to it). When head and rest would pass ROW_JSON_MAX the
 * detail is cut. 0, or -1 when out has no room; what was appended is then of
 * no use. */
int row_add_tail(struct buf *out, const struct record *record);

static inline int row_kind_number(const struct row_head *head)
{
	return (int)head->kind + (head->ended_ms ? ROW_ENDED : 0);
}

/* The OCSF class of a kind of record: 4001 network, 4002 HTTP, 4003 DNS,
 * 1007 process, 2004 finding, 3003 session, 6003 API. */
unsigned row_class(enum record_kind kind, bool allowed);

#endif
