#include "gateway/keeper/records.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"

#define BATCH_RECORDS_MAX  64
#define BATCH_BYTES_MAX	   (48 * 1024)
#define DURABLE_TIMEOUT_MS 5000
/* Of an empty batch that is kept for the next turn. */
#define BATCH_KEPT_BYTES (16 * 1024)

/* Records that will be one message, as that has them: each is encoded once,
 * when it is kept. */
struct batch {
	struct batch *next;
	struct buf records;
	size_t count;
};

/* MSG_RECORDS, of records that are encoded. */
struct told_records {
	struct bytes records;
	size_t records_count;
};
static const struct wire_field told_fields[] = {
	WIRE_ENCODED(struct told_records, records, BATCH_RECORDS_MAX),
};
static const struct wire_schema told_schema =
	WIRE_SCHEMA("records", struct told_records, told_fields);

/* Append the record, its texts cut and cleaned for the wire. */
static int encode(const struct record *record, struct buf *out)
{
	struct record timed;

	if (record->time_ms == 0) {
		timed = *record;
		timed.time_ms = clock_wall_ms();
		record = &timed;
	}
	return wire_encode_fit(&record_schema, record, out, NULL);
}

/* ---- batches ---- */

static void batch_free(struct batch *batch)
{
	buf_release(&batch->records);
	free(batch);
}

/* What would be lost with this process: it is kept here, or its channel had
 * no room for it. */
static size_t bytes_ahead(const struct keeper *keeper)
{
	const struct keeper_peer *ledger = keeper_peer_of(keeper, ROLE_LEDGER);

	return keeper->records.bytes + (ledger ? rpc_queued(ledger->rpc) : 0);
}

static struct batch *batch_with_room(struct keeper *keeper)
{
	struct batch *batch = keeper->records.last;

	if (keeper->records.bytes >= KEEPER_RECORDS_MAX)
		return NULL;
	if (batch && batch->count < BATCH_RECORDS_MAX &&
	    buf_len(&batch->records) < BATCH_BYTES_MAX)
		return batch;
	batch = calloc(1, sizeof(*batch));
	if (!batch)
		return NULL;
	buf_init(&batch->records, WIRE_MESSAGE_MAX);
	if (keeper->records.last)
		keeper->records.last->next = batch;
	else
		keeper->records.first = batch;
	keeper->records.last = batch;
	return batch;
}

/* Keep the last empty batch for the next turn: a busy edge allocates
 * nothing here. */
static void batch_done(struct keeper *keeper, struct batch *batch)
{
	keeper->records.bytes -= buf_len(&batch->records);
	if (!batch->next) {
		batch->count = 0;
		buf_clear(&batch->records);
		if (batch->records.size > BATCH_KEPT_BYTES)
			buf_release(&batch->records);
		return;
	}
	keeper->records.first = batch->next;
	batch_free(batch);
}

static bool set_timer(struct keeper *keeper);

void keeper_records_flush(struct keeper *keeper)
{
	struct keeper_peer *ledger = keeper_peer_of(keeper, ROLE_LEDGER);
	struct batch *batch;
	struct err err;

	while (ledger && (batch = keeper->records.first) && batch->count) {
		const struct told_records message = {
			.records = buf_view(&batch->records),
			.records_count = batch->count,
		};

		if (rpc_tell(ledger->rpc, MSG_RECORDS, &told_schema, &message,
			     -1, &err) < 0) {
			log_debug("records wait: %s", err.text);
			/* Nothing else may come that would have them told. */
			(void)set_timer(keeper);
			return;
		}
		batch_done(keeper, batch);
	}
}

bool keeper_records_are_left(const struct keeper *keeper)
{
	return bytes_ahead(keeper) > 0;
}

void keeper_records_release(struct keeper *keeper)
{
	struct batch *batch;

	while ((batch = keeper->records.first)) {
		keeper->records.first = batch->next;
		batch_free(batch);
	}
	keeper->records.last = NULL;
	keeper->records.bytes = 0;
	io_timer_free(keeper->records.timer);
	keeper->records.timer = NULL;
	keeper->records.is_timed = false;
}

static void flush_deferred(void *owner)
{
	struct keeper *keeper = owner;

	keeper->records.is_flush_due = false;
	keeper_records_flush(keeper);
}

static void flush_at_turn_end(struct keeper *keeper)
{
	if (!keeper->records.is_flush_due &&
	    io_loop_defer(keeper->loop, flush_deferred, keeper) == 0)
		keeper->records.is_flush_due = true;
}

static void flush_late(void *owner)
{
	struct keeper *keeper = owner;

	keeper->records.is_timed = false;
	keeper_records_flush(keeper);
}

/* False: memory is out. */
static bool set_timer(struct keeper *keeper)
{
	if (keeper->records.is_timed)
		return true;
	if (!keeper->records.timer)
		keeper->records.timer =
			io_timer_new(keeper->loop, flush_late, keeper);
	if (!keeper->records.timer)
		return false;
	keeper->records.is_timed = true;
	io_timer_set(keeper->records.timer, KEEPER_OUTCOME_MS);
	return true;
}

static void flush_in_time(struct keeper *keeper)
{
	if (!keeper->records.is_flush_due && !set_timer(keeper))
		flush_at_turn_end(keeper);
}

static int keep(struct keeper *keeper, const struct record *record)
{
	struct batch *batch = batch_with_room(keeper);
	size_t before;

	if (!batch)
		return -1;
	before = buf_len(&batch->records);
	if (encode(record, &batch->records) < 0)
		return -1;
	batch->count++;
	keeper->records.bytes += buf_len(&batch->records) - before;
	return 0;
}

bool keeper_records_are_many(const struct keeper *keeper)
{
	return bytes_ahead(keeper) >= KEEPER_RECORDS_MANY;
}

int keeper_record(struct keeper *keeper, const struct record *record)
{
	if (keep(keeper, record) < 0)
		return -1;
	flush_at_turn_end(keeper);
	return 0;
}

int keeper_record_outcome(struct keeper *keeper, const struct record *record)
{
	if (keep(keeper, record) < 0)
		return -1;
	flush_in_time(keeper);
	return 0;
}

void keeper_records_peer_added(struct keeper *keeper,
			       const struct keeper_peer *peer)
{
	if (peer->role == ROLE_LEDGER)
		keeper_records_flush(keeper);
}

void keeper_records_peer_closed(struct keeper *keeper,
				const struct keeper_peer *peer)
{
	(void)keeper;
	if (peer->role == ROLE_LEDGER)
		log_warn("the ledger is away: records wait");
}

/* ---- durable records ---- */

struct durable {
	keeper_durable_fn *fn;
	void *owner;
};

static void on_durable(struct rpc_outcome *outcome, void *owner)
{
	auto_free struct durable *durable = owner;

	durable->fn(outcome->err == NULL, durable->owner);
}

int keeper_record_durable(struct keeper *keeper, const struct record *record,
			  keeper_durable_fn *fn, void *owner)
{
	struct keeper_peer *ledger = keeper_peer_of(keeper, ROLE_LEDGER);
	auto_free struct durable *durable = malloc(sizeof(*durable));
	auto_type(buf_release) struct buf encoded = {.max = WIRE_MESSAGE_MAX};
	struct told_records message = {.records_count = 1};
	const struct rpc_call call = {
		.type = MSG_RECORDS_DURABLE,
		.schema = &told_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = DURABLE_TIMEOUT_MS,
		.on_outcome = on_durable,
		.owner = durable,
	};
	struct err err;

	if (!ledger || !durable || encode(record, &encoded) < 0)
		return -1;
	message.records = buf_view(&encoded);
	*durable = (struct durable){fn, owner};
	keeper_records_flush(keeper);
	/* What still waits happened before it. */
	if (keeper->records.bytes > 0 ||
	    rpc_ask(ledger->rpc, &call, NULL, &err) < 0)
		return -1;
	(void)take_ptr(&durable);
	return 0;
}
