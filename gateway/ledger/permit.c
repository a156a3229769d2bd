#include "gateway/ledger/permit.h"

static bool is_of_an_edge(uint8_t kind)
{
	return kind == RECORD_CONNECTION || kind == RECORD_REQUEST ||
	       kind == RECORD_RESPONSE || kind == RECORD_PUSH ||
	       kind == RECORD_PUSH_REPORT || kind == RECORD_DNS;
}

const char *permit_check(enum role role, const struct msg_records *records)
{
	for (size_t i = 0; i < records->records_count; i++) {
		const struct record *record = &records->records[i];

		if (record->constraint >= CONSTRAINT_MAX)
			return "a record with an unknown constraint";
		if (role == ROLE_EDGE && !is_of_an_edge(record->kind))
			return "a record of a kind that is not an edge's";
	}
	return NULL;
}
