/*
 * A proposal: something that a session wants to do and that the policy
 * leaves to a person. Made by the edge, or by the supervisor of a sandbox for
 * a command, kept by the ledger, shown and decided through control. Once
 * approved it is a grant: it lets the same question pass again (rule, method,
 * scheme, host, port, path and credential, byte by byte), for as long as its
 * scope says and never beyond its session.
 */
#ifndef GATEWAY_FLOW_PROPOSAL_H
#define GATEWAY_FLOW_PROPOSAL_H

#include "common/wire.h"

#define PROPOSAL_ID_MAX	     32 /* "p-" and 26 base32 characters */
#define PROPOSAL_PATH_MAX    (8 * 1024)
#define PROPOSAL_WHY_MAX     500
#define PROPOSAL_RULE_MAX    256
#define PROPOSALS_LISTED_MAX 64
/* The method of a command: its text, as the policy judged it, is the path. No
 * request has it. */
#define PROPOSAL_COMMAND "EXEC"

/* X(STATE, name) */
#define PROPOSAL_STATES(X)                                                     \
	X(PENDING, "pending")                                                  \
	X(APPROVED, "approved") /* a grant that holds */                       \
	X(DENIED, "denied")	/* as long as the session */                   \
	X(USED, "used")		/* approved once, and that once is over */     \
	X(EXPIRED, "expired")	/* its time is over */                         \
	X(ENDED, "ended")	/* its session is over */

enum proposal_state {
#define X(state, name) PROPOSAL_##state,
	PROPOSAL_STATES(X)
#undef X
		PROPOSAL_STATE_MAX
};

enum grant_scope {
	GRANT_ONCE,    /* one request */
	GRANT_SESSION, /* until the session ends */
	GRANT_UNTIL,   /* until_ms */
	GRANT_SCOPE_MAX
};

struct proposal {
	struct bytes id;
	struct bytes session;
	/* The question. Untrusted. */
	struct bytes rule;
	struct bytes method; /* "CONNECT" for bytes as they are; or
				PROPOSAL_COMMAND, with host "sandbox" */
	uint8_t scheme;	     /* enum target_scheme */
	struct bytes host;
	uint16_t port;
	struct bytes path; /* without query; empty for CONNECT */
	struct bytes credential;
	struct bytes why; /* the asker's words, or empty */
	/* Its life; wall clock, 0: not yet. */
	uint64_t created_ms;
	uint64_t expires_ms; /* of the session */
	uint8_t state;	     /* enum proposal_state */
	uint8_t scope;	     /* enum grant_scope, once approved */
	uint64_t until_ms;   /* of a grant: when it ends */
	uint64_t decided_ms;
	uint32_t decided_by; /* uid */
};
extern const struct wire_schema proposal_schema;

/* "pending". */
const char *proposal_state_name(enum proposal_state state);
/* PROPOSAL_STATE_MAX when unknown. */
enum proposal_state proposal_state_from_name(struct bytes name);
/* "once", "session", "until". */
const char *grant_scope_name(enum grant_scope scope);
/* GRANT_SCOPE_MAX when unknown. */
enum grant_scope grant_scope_from_name(struct bytes name);

/* Is it about a command in the sandbox? */
bool proposal_is_command(const struct proposal *proposal);
/* Append "POST https://host:8443/path": the port where it is not the
 * scheme's own; of a command "EXEC rm x". 0, or -1 when out has no room. */
int proposal_add_words(struct buf *out, const struct proposal *proposal);

/* ---- messages about proposals ---- */

struct msg_proposal_ref {
	struct bytes id;
};
extern const struct wire_schema msg_proposal_ref_schema;

struct msg_proposal_query {
	struct bytes session; /* empty: all */
	uint8_t state;	      /* PROPOSAL_STATE_MAX: any */
	uint64_t after;	      /* msg_proposal_list.last of the list before */
};
extern const struct wire_schema msg_proposal_query_schema;

struct msg_proposal_list {
	const struct proposal *proposals; /* the oldest first */
	size_t proposals_count;		  /* <= PROPOSALS_LISTED_MAX */
	uint64_t last;
	bool more;
};
extern const struct wire_schema msg_proposal_list_schema;

struct msg_proposal_decide {
	struct bytes id;
	bool approve;
	uint8_t scope;	   /* enum grant_scope */
	uint64_t until_ms; /* GRANT_UNTIL */
	uint32_t by;	   /* uid of whoever decides */
};
extern const struct wire_schema msg_proposal_decide_schema;

/* One proposal, or none: there is none of that id. */
struct msg_proposal_found {
	const struct proposal *proposals;
	size_t proposals_count; /* 0 or 1 */
	bool has_changed;	/* DECIDE: it was open, and this decided it */
};
extern const struct wire_schema msg_proposal_found_schema;

#endif
