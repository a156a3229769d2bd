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

/* What the wire would refuse becomes '?'. */
static void make_printable(uint8_t *text, size_t len)
{
	if (wire_is_printable(bytes_from(text, len)))
		return;
	for (size_t i = 0; i < len; i++)
		if (text[i] < 0x20 || text[i] >= 0x7f)
			text[i] = '?';
}

/* Copy the texts, cut to what the wire takes; without memory they are empty.
 * Returns how many bytes they are. */
static size_t copy_texts(struct arena *arena, struct record *record)
{
	size_t sum = 0;
	uint8_t *to;

	for (size_t i = 0; i < RECORD_TEXTS; i++) {
		struct bytes *text = record_text_of(record, i);

		*text = bytes_slice(*text, 0, record_texts[i].max);
		sum += text->len;
	}
	to = sum ? arena_alloc(arena, sum) : NULL;
	for (size_t i = 0; i < RECORD_TEXTS; i++) {
		struct bytes *text = record_text_of(record, i);

		if (!to || text->len == 0) {
			*text = bytes_from(NULL, 0);
			continue;
		}
		memcpy(to, text->data, text->len);
		make_printable(to, text->len);
		*text = bytes_from(to, text->len);
		to += text->len;
	}
	return to ? sum : 0;
}

static size_t copy_record(struct arena *arena, const struct record *from,
			  struct record *to)
{
	*to = *from;
	if (to->time_ms == 0)
		to->time_ms = clock_wall_ms();
	return RECORD_FIXED_BYTES + copy_texts(arena, to);
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

static bool set_timer(struct keeper *keeper);

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
			/* Nothing else may come that would have them told. */
			(void)set_timer(keeper);
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

bool keeper_records_are_many(const struct keeper *keeper)
{
	return keeper->records.bytes >= KEEPER_RECORDS_MAX / 2;
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
	/* What still waits happened before it. */
	if (keeper->records.bytes > 0 ||
	    rpc_ask(ledger->rpc, &call, NULL, &err) < 0)
		return -1;
	(void)take_ptr(&durable);
	return 0;
}
