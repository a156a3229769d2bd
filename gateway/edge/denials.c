#include "gateway/edge/denials.h"

#include "common/clock.h"
#include "gateway/flow/limits.h"

#define SUM_EVERY_MS 1000
/* In which the burst comes back. */
#define ROWS_PERIOD_MS (RECORDS_DENIED_BURST * 1000 / RECORDS_DENIED_PER_SECOND)

static void on_timer(void *owner)
{
	denials_flush(owner);
}

int denials_init(struct denials *denials, struct io_loop *loop,
		 int (*write)(void *owner, const struct record *record),
		 void *owner)
{
	const struct policy_quota rows = {RECORDS_DENIED_BURST, ROWS_PERIOD_MS};

	denials->write = write;
	denials->owner = owner;
	bucket_init(&denials->rows, rows, io_loop_now_ms(loop));
	denials->timer = io_timer_new(loop, on_timer, denials);
	return denials->timer ? 0 : -1;
}

/* The rows that a sandbox can have written at will. */
static bool is_counted(const struct record *record)
{
	switch ((int)record->kind) {
	case RECORD_CONNECTION:
	case RECORD_REQUEST:
	case RECORD_DNS:
		return !record->allowed && record->credential.len == 0;
	case RECORD_PUSH:
		/* The binding's name stands there; it was not used. */
		return !record->allowed;
	default:
		return false;
	}
}

bool denials_pass(struct denials *denials, const struct record *record,
		  uint64_t now_ms)
{
	struct denial_sum *sum;

	if (!is_counted(record))
		return true;
	if (bucket_left(&denials->rows, now_ms) > 0) {
		bucket_take(&denials->rows, now_ms, 1);
		return true;
	}
	sum = &denials->sums[record->kind][record->constraint];
	sum->last_ms = clock_wall_ms();
	if (sum->count++ == 0)
		sum->first_ms = sum->last_ms;
	if (!denials->has_sums)
		io_timer_set(denials->timer, SUM_EVERY_MS);
	denials->has_sums = true;
	return false;
}

static void write_sum(struct denials *denials, enum record_kind kind,
		      enum constraint constraint)
{
	struct denial_sum *sum = &denials->sums[kind][constraint];
	const struct record record = {
		.time_ms = sum->last_ms,
		.kind = (uint8_t)kind,
		.constraint = (uint16_t)constraint,
		.rule = bytes_str("gateway"),
		.count = sum->count,
		.first_ms = sum->first_ms,
	};

	if (sum->count == 0)
		return;
	/* What cannot be kept now is told with the next second's. */
	if (denials->write(denials->owner, &record) == 0)
		*sum = (struct denial_sum){0};
	else
		denials->has_sums = true;
}

void denials_flush(struct denials *denials)
{
	denials->has_sums = false;
	for (int kind = 0; kind < RECORD_KIND_MAX; kind++)
		for (int at = 0; at < CONSTRAINT_MAX; at++)
			write_sum(denials, (enum record_kind)kind,
				  (enum constraint)at);
	if (denials->has_sums)
		io_timer_set(denials->timer, SUM_EVERY_MS);
}
