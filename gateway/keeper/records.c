#include "gateway/keeper/records.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"

#define BATCH_RECORDS_MAX  64
#define BATCH_BYTES_MAX	   (48 * 1024)
#define DURABLE_TIMEOUT_MS 5000
/* The scalars of a record and the length of each of its texts. */
#define RECORD_FIXED_BYTES 108

/* Records that will be one message. */
struct batch {
	struct batch *next;
	struct arena arena;
	struct record records[BATCH_RECORDS_MAX];
	size_t count;
	size_t bytes;
};

/* ---- a record whose texts are ours and fit the wire ---- */

static uint8_t printable(uint8_t c)
{
	return c >= 0x20 && c < 0x7f ? c : '?';
}

/* Copy at most max bytes; what the wire would refuse becomes '?'. */
static struct bytes copy_text(struct arena *arena, struct bytes text,
			      size_t max)
{
	size_t len = text.len < max ? text.len : max;
	uint8_t *copy;

	if (len == 0)
		return bytes_from(NULL, 0);
	copy = arena_alloc(arena, len);
	if (!copy)
		return bytes_from(NULL, 0);
	for (size_t i = 0; i < len; i++)
		copy[i] = printable(text.data[i]);
	return bytes_from(copy, len);
}

static size_t copy_record(struct arena *arena, const struct record *from,
			  struct record *to)
{
	*to = *from;
	if (to->time_ms == 0)
		to->time_ms = clock_wall_ms();
	to->session = copy_text(arena, from->session, 32);
	to->request_id = copy_text(arena, from->request_id, 32);
	to->rule = copy_text(arena, from->rule, 256);
	to->host = copy_text(arena, from->host, 256);
	to->method = copy_text(arena, from->method, 32);
	to->path = copy_text(arena, from->path, 2048);
	to->credential = copy_text(arena, from->credential, 128);
	to->detail = copy_text(arena, from->detail, 1024);
	to->old_oid = copy_text(arena, from->old_oid, 64);
	to->new_oid = copy_text(arena, from->new_oid, 64);
	to->approval = copy_text(arena, from->approval, 32);
	return RECORD_FIXED_BYTES + to->session.len + to->request_id.len +
	       to->rule.len + to->host.len + to->method.len + to->path.len +
	       to->credential.len + to->detail.len + to->old_oid.len +
	       to->new_oid.len + to->approval.len;
}

/* ---- batches ---- */

static void batch_free(struct batch *batch)
{
	arena_release(&batch->arena);
	free(batch);
}

static struct batch *batch_with_room(struct keeper *keeper)
{
	struct batch *batch = keeper->records.last;

	if (keeper->records.bytes >= KEEPER_RECORDS_MAX)
		return NULL;
	if (batch && batch->count < BATCH_RECORDS_MAX &&
	    batch->bytes < BATCH_BYTES_MAX)
		return batch;
	batch = calloc(1, sizeof(*batch));
	if (!batch)
		return NULL;
	arena_init(&batch->arena, KEEPER_RECORDS_MAX);
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
	keeper->records.bytes -= batch->bytes;
	if (!batch->next) {
		arena_reset(&batch->arena);
		batch->count = 0;
		batch->bytes = 0;
		return;
	}
	keeper->records.first = batch->next;
	batch_free(batch);
}

void keeper_records_flush(struct keeper *keeper)
{
	struct keeper_peer *ledger = keeper_peer_of(keeper, ROLE_LEDGER);
	struct batch *batch;
	struct err err;

	while (ledger && (batch = keeper->records.first) && batch->count) {
		const struct msg_records message = {
			.records = batch->records,
			.records_count = batch->count,
		};

		if (rpc_tell(ledger->rpc, MSG_RECORDS, &msg_records_schema,
			     &message, -1, &err) < 0) {
			log_debug("records wait: %s", err.text);
			return;
		}
		batch_done(keeper, batch);
	}
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

static void flush_in_time(struct keeper *keeper)
{
	if (keeper->records.is_timed || keeper->records.is_flush_due)
		return;
	if (!keeper->records.timer)
		keeper->records.timer =
			io_timer_new(keeper->loop, flush_late, keeper);
	if (!keeper->records.timer) {
		flush_at_turn_end(keeper);
		return;
	}
	keeper->records.is_timed = true;
	io_timer_set(keeper->records.timer, KEEPER_OUTCOME_MS);
}

static int keep(struct keeper *keeper, const struct record *record)
{
	struct batch *batch = batch_with_room(keeper);
	size_t bytes;

	if (!batch)
		return -1;
	bytes = copy_record(&batch->arena, record,
			    &batch->records[batch->count]);
	batch->count++;
	batch->bytes += bytes;
	keeper->records.bytes += bytes;
	return 0;
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
	auto_type(arena_release) struct arena arena;
	struct record copy;
	const struct msg_records message = {
		.records = &copy,
		.records_count = 1,
	};
	const struct rpc_call call = {
		.type = MSG_RECORDS_DURABLE,
		.schema = &msg_records_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = DURABLE_TIMEOUT_MS,
		.on_outcome = on_durable,
		.owner = durable,
	};
	struct err err;

	arena_init(&arena, KEEPER_RECORDS_MAX);
	if (!ledger || !durable)
		return -1;
	*durable = (struct durable){fn, owner};
	(void)copy_record(&arena, record, &copy);
	keeper_records_flush(keeper);
	if (rpc_ask(ledger->rpc, &call, NULL, &err) < 0)
		return -1;
	(void)take_ptr(&durable);
	return 0;
}
