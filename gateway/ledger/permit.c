#include "gateway/ledger/permit.h"

#define KIND(kind) (1u << RECORD_##kind)

/* What each says, and no more. Who opens connections, signs names, or takes
 * clients in says nothing: what an edge asked of it the edge tells. */
static unsigned kinds_of(enum role role)
{
	switch (role) {
	case ROLE_EDGE:
		return KIND(CONNECTION) | KIND(REQUEST) | KIND(RESPONSE) |
		       KIND(PUSH) | KIND(PUSH_REPORT) | KIND(DNS);
	case ROLE_COURIER:
		return KIND(SECRET_USE) | KIND(SECRET_REFLECTED);
	case ROLE_VAULT:
		return KIND(SECRET_CHANGED);
	case ROLE_CONTROL:
		return KIND(ADMIN) | KIND(SANDBOX);
	case ROLE_WARDEN:
		return KIND(SESSION_CREATED) | KIND(SESSION_ENDED) |
		       KIND(PROCESS);
	case ROLE_MINTER:
	case ROLE_DIALER:
	case ROLE_PACKCHECK:
	case ROLE_SCRIPT:
	case ROLE_FRAMER:
	case ROLE_EXCHANGE:
	case ROLE_DOOR:
	case ROLE_LEDGER:
	case ROLE_MAX:
	default:
		return 0;
	}
}

const char *permit_check(enum role role, const struct msg_records *records)
{
	unsigned kinds = kinds_of(role);

	for (size_t i = 0; i < records->records_count; i++) {
		const struct record *record = &records->records[i];

		if (record->constraint >= CONSTRAINT_MAX)
			return "a record with an unknown constraint";
		if (record->kind >= RECORD_KIND_MAX ||
		    !(kinds & (1u << record->kind)))
			return "a record of a kind that is not its own";
	}
	return NULL;
}
