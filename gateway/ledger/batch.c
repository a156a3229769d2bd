#include "gateway/ledger/batch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"

struct batch_row {
	struct batch_row *next;
	struct join_entry entry;
	bool is_awaited; /* somebody waits: dropped when it cannot be stored */
	size_t text_len;
	uint8_t text[]; /* the record's texts */
};

static void on_timer(void *owner)
{
	(void)batch_flush(owner);
}

/* Flush in ms, or sooner if that is due already; 0: not at all. */
static void set_timer(struct batch *batch, unsigned ms)
{
	if (batch->is_timed && ms)
		return;
	batch->is_timed = ms != 0;
	io_timer_set(batch->timer, ms);
}

int batch_init(struct batch *batch, struct io_loop *loop, struct store *store,
	       const struct batch_hooks *hooks, struct err *err)
{
	*batch = (struct batch){.loop = loop, .store = store, .hooks = hooks};
	batch->timer = io_timer_new(loop, on_timer, batch);
	if (!batch->timer)
		return err_set(err, ERR_SYSTEM, "begin: no memory");
	return 0;
}

void batch_release(struct batch *batch)
{
	while (batch->first) {
		struct batch_row *row = batch->first;

		batch->first = row->next;
		free(row);
	}
	io_timer_free(batch->timer);
}

/* ---- what is held ---- */

static size_t row_bytes(const struct batch_row *row)
{
	return sizeof(*row) + row->text_len;
}

static size_t texts_len(struct record *record)
{
	size_t len = 0;

	for (size_t i = 0; i < RECORD_TEXTS; i++)
		len += record_text_of(record, i)->len;
	return len;
}

/* The record with texts of its own. */
static struct batch_row *row_new(struct record *record)
{
	size_t len = texts_len(record);
	struct batch_row *row = malloc(sizeof(*row) + len);
	uint8_t *to;

	if (!row)
		return NULL;
	*row = (struct batch_row){
		.entry = {.record = *record},
		.text_len = len,
	};
	to = row->text;
	for (size_t i = 0; i < RECORD_TEXTS; i++) {
		struct bytes *text = record_text_of(&row->entry.record, i);

		if (text->len == 0)
			continue;
		memcpy(to, text->data, text->len);
		text->data = to;
		to += text->len;
	}
	return row;
}

static void append(struct batch *batch, struct batch_row *row)
{
	if (batch->last)
		batch->last->next = row;
	else
		batch->first = row;
	batch->last = row;
	batch->row_count++;
	batch->bytes += row_bytes(row);
}

/* Free the rows; those that nobody waits for only when all go. */
static void drop_rows(struct batch *batch, bool all)
{
	struct batch_row *row = batch->first;

	join_clear(&batch->join);
	batch->first = batch->last = NULL;
	batch->row_count = 0;
	batch->bytes = 0;
	while (row) {
		struct batch_row *next = row->next;

		row->next = NULL;
		if (all || row->is_awaited)
			free(row);
		else
			append(batch, row);
		row = next;
	}
}

static void answer_asks(struct batch *batch, const char *why)
{
	size_t count = batch->ask_count;

	batch->ask_count = 0;
	for (size_t i = 0; i < count; i++)
		batch->hooks->answer(batch->asks[i], why);
}

/* ---- storing ---- */

static int add_rows(struct batch *batch, struct err *err)
{
	for (struct batch_row *row = batch->first; row; row = row->next)
		if (store_add(batch->store, &row->entry.record,
			      row->entry.ended_ms, err) < 0)
			return -1;
	return 0;
}

/* The row that tells of a failure that ends with this transaction. */
static int add_account(struct batch *batch, struct err *err)
{
	char when[CLOCK_TEXT_SIZE], detail[512];
	struct record record = {
		.time_ms = clock_wall_ms(),
		.kind = RECORD_PROCESS,
		.allowed = batch->lost == 0,
		.constraint = CONSTRAINT_audit_unavailable,
		.host = bytes_str("ledger"),
	};

	clock_format(batch->failed_ms, when);
	(void)snprintf(detail, sizeof(detail),
		       "the store failed at %s (%s): %" PRIu64
		       " refused, %" PRIu64 " lost",
		       when, batch->why, batch->refused, batch->lost);
	record.detail = bytes_str(detail);
	return store_add(batch->store, &record, 0, err);
}

static int store_all(struct batch *batch, struct err *err)
{
	if (store_begin(batch->store, err) < 0)
		return -1;
	if (add_rows(batch, err) == 0 &&
	    (!batch->failed_ms || add_account(batch, err) == 0) &&
	    store_commit(batch->store, err) == 0)
		return 0;
	store_rollback(batch->store);
	return -1;
}

static void note_failure(struct batch *batch, const char *why)
{
	if (batch->failed_ms)
		return;
	batch->failed_ms = clock_wall_ms();
	(void)snprintf(batch->why, sizeof(batch->why), "%.200s", why);
	log_error("the ledger cannot store: %s", why);
}

static void on_store_failed(struct batch *batch, const struct err *err)
{
	note_failure(batch, err->text);
	batch->refused += batch->ask_count;
	drop_rows(batch, false);
	answer_asks(batch, batch->why);
	set_timer(batch, BATCH_RETRY_MS);
}

int batch_flush(struct batch *batch)
{
	struct err err;

	set_timer(batch, 0);
	if (!batch->first && !batch->failed_ms) {
		answer_asks(batch, NULL);
		return 0;
	}
	if (store_all(batch, &err) < 0) {
		on_store_failed(batch, &err);
		return -1;
	}
	if (batch->failed_ms)
		log_info("the ledger stores again: %" PRIu64
			 " asks were refused, %" PRIu64 " records lost",
			 batch->refused, batch->lost);
	batch->failed_ms = batch->lost = batch->refused = 0;
	drop_rows(batch, true);
	answer_asks(batch, NULL);
	if (batch->hooks->on_stored)
		batch->hooks->on_stored(batch->hooks->owner);
	return 0;
}

void batch_failing(const struct batch *batch, char out[BATCH_FAILING_MAX])
{
	char when[CLOCK_TEXT_SIZE];

	out[0] = '\0';
	if (!batch->failed_ms)
		return;
	clock_format(batch->failed_ms, when);
	(void)snprintf(out, BATCH_FAILING_MAX,
		       "since %s (%s): %" PRIu64 " refused, %" PRIu64 " lost",
		       when, batch->why, batch->refused, batch->lost);
}

/* ---- taking ---- */

static void flush_at_turn_end(void *owner)
{
	struct batch *batch = owner;

	batch->is_deferred = false;
	(void)batch_flush(batch);
}

/* When to store what is held now. */
static void schedule(struct batch *batch)
{
	if (batch->failed_ms) {
		set_timer(batch, BATCH_RETRY_MS);
	} else if (batch->row_count >= BATCH_ROWS_MAX ||
		   batch->bytes >= BATCH_BYTES_MAX / 2 ||
		   batch->ask_count == BATCH_ASKS_MAX) {
		(void)batch_flush(batch);
	} else if (batch->ask_count == 0) {
		set_timer(batch, BATCH_WAIT_MS);
	} else if (!batch->is_deferred) {
		batch->is_deferred =
			io_loop_defer(batch->loop, flush_at_turn_end, batch) ==
			0;
		if (!batch->is_deferred)
			set_timer(batch, 1);
	}
}

/* The record as it will be stored. */
static struct record settle(const struct record *record, const char *session)
{
	uint64_t now = clock_wall_ms();
	struct record settled = *record;

	if (session)
		settled.session = bytes_str(session);
	/* Nothing happened in the future, whoever says so. */
	if (settled.time_ms == 0 || settled.time_ms > now)
		settled.time_ms = now;
	return settled;
}

/* NULL: there is no room. */
static struct batch_row *add_row(struct batch *batch, struct record *record)
{
	struct batch_row *row = NULL;

	if (record->session.len <= SESSION_ID_MAX &&
	    batch->bytes < BATCH_BYTES_MAX)
		row = row_new(record);
	if (row)
		append(batch, row);
	return row;
}

static void add_notes(struct batch *batch, const struct msg_records *records,
		      const char *session)
{
	for (size_t i = 0; i < records->records_count; i++) {
		struct record record = settle(&records->records[i], session);
		struct batch_row *row;

		if (join_take(&batch->join, &record))
			continue;
		row = add_row(batch, &record);
		if (row) {
			join_offer(&batch->join, &row->entry);
			continue;
		}
		note_failure(batch, "there is no room for more records");
		batch->lost++;
	}
}

static void add_asked(struct batch *batch, const struct msg_records *records,
		      const char *session, struct rpc_ticket ticket)
{
	if (batch->failed_ms) {
		batch->refused++;
		batch->hooks->answer(ticket, batch->why);
		return;
	}
	for (size_t i = 0; i < records->records_count; i++) {
		struct record record = settle(&records->records[i], session);
		struct batch_row *row = add_row(batch, &record);

		if (!row) {
			batch->hooks->answer(ticket, "no memory");
			return;
		}
		row->is_awaited = true;
	}
	batch->asks[batch->ask_count++] = ticket;
}

void batch_add(struct batch *batch, const struct msg_records *records,
	       const char *session, const struct rpc_ticket *ticket)
{
	if (ticket)
		add_asked(batch, records, session, *ticket);
	else
		add_notes(batch, records, session);
	schedule(batch);
}
