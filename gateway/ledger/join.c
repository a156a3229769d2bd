#include "gateway/ledger/join.h"

#include <string.h>

/* The last bytes of a text: where ids that follow each other differ. */
static uint64_t last_bytes(struct bytes text)
{
	uint64_t word = 0;
	size_t len = text.len < sizeof(word) ? text.len : sizeof(word);

	if (len > 0)
		memcpy(&word, text.data + text.len - len, len);
	return word;
}

/* Where it stands, by its session and its request. Whoever finds a way to
 * share a slot with another gets two rows for a request, no more. */
static struct join_entry **slot_of(struct join *join,
				   const struct record *record)
{
	uint64_t mixed = last_bytes(record->request_id) +
			 31 * last_bytes(record->session);

	/* The multiplier of Fibonacci hashing: 2^64 by the golden ratio. */
	mixed *= 0x9e3779b97f4a7c15u;
	return &join->slots[mixed >> (64 - JOIN_SLOTS_BITS)];
}

/* Nothing of what an outcome says, or that it was against a rule. */
static bool is_plain(const struct record *record)
{
	return record->allowed && record->constraint == CONSTRAINT_none &&
	       record->request_id.len > 0 && record->old_oid.len == 0 &&
	       record->new_oid.len == 0 && record->count == 0;
}

static bool is_open(const struct record *record)
{
	return is_plain(record) &&
	       (record->kind == RECORD_REQUEST ||
		record->kind == RECORD_CONNECTION) &&
	       record->status == 0 && record->bytes_up == 0 &&
	       record->bytes_down == 0;
}

static bool is_outcome(const struct record *record)
{
	return record->kind == RECORD_RESPONSE && is_plain(record) &&
	       record->detail.len == 0 && record->credential.len == 0;
}

/* A tunnel's decision knows no method; its outcome says CONNECT, if that is
 * how it came. */
static bool methods_agree(const struct record *decision,
			  const struct record *outcome)
{
	if (decision->kind == RECORD_CONNECTION)
		return decision->method.len == 0 &&
		       (outcome->method.len == 0 ||
			bytes_is(outcome->method, "CONNECT"));
	return bytes_equal(decision->method, outcome->method);
}

static bool belongs_to(const struct record *outcome,
		       const struct record *decision)
{
	return bytes_equal(outcome->request_id, decision->request_id) &&
	       bytes_equal(outcome->session, decision->session) &&
	       bytes_equal(outcome->rule, decision->rule) &&
	       bytes_equal(outcome->host, decision->host) &&
	       outcome->port == decision->port &&
	       methods_agree(decision, outcome) &&
	       bytes_equal(outcome->path, decision->path) &&
	       bytes_equal(outcome->approval, decision->approval);
}

void join_offer(struct join *join, struct join_entry *entry)
{
	if (!is_open(&entry->record))
		return;
	*slot_of(join, &entry->record) = entry;
	join->is_used = true;
}

bool join_take(struct join *join, const struct record *outcome)
{
	struct join_entry **slot, *entry;

	if (!is_outcome(outcome))
		return false;
	slot = slot_of(join, outcome);
	entry = *slot;
	if (!entry || !belongs_to(outcome, &entry->record))
		return false;
	*slot = NULL;
	if (entry->record.method.len == 0 && outcome->method.len > 0)
		entry->record.method = bytes_str("CONNECT");
	entry->ended_ms = outcome->time_ms;
	entry->record.status = outcome->status;
	entry->record.bytes_up = outcome->bytes_up;
	entry->record.bytes_down = outcome->bytes_down;
	return true;
}

void join_clear(struct join *join)
{
	if (join->is_used)
		memset(join->slots, 0, sizeof(join->slots));
	join->is_used = false;
}
