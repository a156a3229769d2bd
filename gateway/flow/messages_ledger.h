/*
 * Messages of the ledger and of packcheck: see messages.h.
 */
#ifndef GATEWAY_FLOW_MESSAGES_LEDGER_H
#define GATEWAY_FLOW_MESSAGES_LEDGER_H

#include "gateway/flow/record.h"

/* ---- ledger ---- */

struct msg_records {
	const struct record *records;
	size_t records_count;
};
extern const struct wire_schema msg_records_schema;
struct msg_ledger_query {
	uint64_t after;	      /* rows with a larger sequence number... */
	bool newest;	      /* ...or the newest `limit` rows */
	uint64_t before;      /* of those with a smaller number; 0: of all */
	uint32_t limit;	      /* 1..64 rows */
	struct bytes session; /* empty: all */
	struct bytes kind;    /* record kind name; empty: all */
	bool denied_only;
};
extern const struct wire_schema msg_ledger_query_schema;
struct ledger_row {
	uint64_t sequence;
	struct bytes json; /* one object, with prev and hash; <= 8 KiB */
};
struct msg_ledger_rows {
	const struct ledger_row *rows; /* in order; <= 64, <= 60 KiB */
	size_t rows_count;
	bool more;
};
extern const struct wire_schema msg_ledger_rows_schema;
/* `after` of who wants to know of `failing` alone, soon: no row is looked at,
 * and what is said of them means nothing. */
#define LEDGER_VERIFY_NO_ROWS ((uint64_t)INT64_MAX)
struct msg_ledger_verify {
	uint64_t after; /* go on from this sequence number; 0: from the start */
};
extern const struct wire_schema msg_ledger_verify_schema;
struct msg_ledger_verified {
	bool is_intact;
	bool is_done;	/* false: ask again with after = checked_to */
	uint64_t first; /* there is: those before were kept for their time */
	uint64_t checked_to;
	uint64_t broken_at; /* first row whose hash is wrong */
	struct bytes detail;
	/* Since when no record can be stored, and why; empty: they can. */
	struct bytes failing;
};
extern const struct wire_schema msg_ledger_verified_schema;

/* ---- packcheck ---- */

struct msg_pack_update {
	struct bytes old_oid; /* hex */
	struct bytes new_oid;
	bool must_forward; /* from the old one to the new one */
};
struct msg_pack_path {
	struct bytes path;
};
/* What each commit must be like: regular expressions, empty: anything. */
struct msg_pack_commits {
	struct bytes author;
	struct bytes committer;
	struct bytes subject;
	struct bytes message;
	uint64_t count_max; /* 0: no limit */
};
/* The pack is the descriptor. */
struct msg_pack_check {
	const struct msg_pack_update *updates;
	size_t updates_count; /* 0 to 256 */
	uint64_t objects_max;
	uint64_t bytes_max;
	uint64_t file_bytes_max; /* of a blob; 0: no limit */
	bool deny_secrets; /* of the kinds known, and those that were told */
	const struct msg_pack_path *protect; /* globs */
	size_t protect_count;		     /* <= 128 */
	const struct msg_pack_commits *commits;
	size_t commits_count; /* <= 2: all of them hold */
};
extern const struct wire_schema msg_pack_check_schema;

/* What to look for, beside tokens of known kinds. */
#define PACK_EXEMPT_MAX	     64
#define PACK_EXEMPT_TEXT_MAX 192
struct msg_pack_exempt {
	struct bytes text; /* looks like a token, and is none */
};
struct msg_pack_secrets {
	struct bytes prints;	    /* policies/inspect/prints.h; empty: none */
	struct bytes exempt_digest; /* SHA-256 of what is no secret */
	const struct msg_pack_exempt *exempt;
	size_t exempt_count; /* <= PACK_EXEMPT_MAX */
};
extern const struct wire_schema msg_pack_secrets_schema;

enum pack_result {
	PACK_PASSED,   /* all that was asked is as it must be */
	PACK_REWRITE,  /* update `index` is not a descendant */
	PACK_UNPROVEN, /* update `index` is not proven yet: fetch `wants` */
	PACK_INVALID,  /* damaged: detail says how */
	PACK_REFUSED,  /* sound, and against a rule: `constraint`; an index
			  beyond the updates stands for all of them */
	PACK_RESULT_MAX
};
struct msg_pack_oid {
	struct bytes oid; /* hex */
};
/* How to ask upstream for what is wanted. */
enum pack_wants {
	WANTS_COMMITS, /* with their ancestors, less the update's old one's */
	WANTS_BASES,   /* of deltas, of any type: as they are */
	WANTS_STATES,  /* commits, each with its trees, without ancestors */
	WANTS_TREES,   /* with those below them */
	WANTS_KNOWN,   /* commits, less what upstream's branches and tags lead
			  to: nothing is left where these lead to all */
	PACK_WANTS_MAX
};
struct msg_pack_verdict {
	uint8_t result;
	uint16_t constraint; /* PACK_REFUSED: enum constraint */
	uint32_t index;
	const struct msg_pack_oid *wants; /* what is not in the pack */
	size_t wants_count;		  /* <= 256 */
	uint8_t wants_kind;		  /* enum pack_wants */
	struct bytes detail;
};
extern const struct wire_schema msg_pack_verdict_schema;

#endif
