/*
 * What happened, for the ledger: one flat record for every kind. Written by
 * any process over its ledger channel (msg_ledger.h), chained and stored by
 * the ledger, shown by `audit tail` as one JSON object a line.
 */
#ifndef GATEWAY_FLOW_RECORD_H
#define GATEWAY_FLOW_RECORD_H

#include "common/wire.h"
#include "policies/constraint.h"

/* X(KIND, name) */
#define RECORD_KINDS(X)                                                        \
	X(SESSION_CREATED, "session.created")                                  \
	X(SESSION_ENDED, "session.ended")                                      \
	X(CONNECTION, "connection")   /* a target was decided */               \
	X(REQUEST, "request")	      /* a request was decided */              \
	X(RESPONSE, "response")	      /* how a request ended */                \
	X(PUSH, "push")		      /* one ref update was decided */         \
	X(PUSH_REPORT, "push.report") /* what upstream said of it */           \
	X(SECRET_USE, "secret.use")   /* a credential is about to be used */   \
	X(SECRET_REFLECTED, "secret.reflected")                                \
	X(SECRET_CHANGED, "secret.changed")                                    \
	X(DNS, "dns")                                                          \
	X(SANDBOX, "sandbox") /* a denial inside, start and exit */            \
	X(PROCESS, "process") /* a process of ours crashed, began */           \
	X(ADMIN, "admin")                                                      \
	X(APPROVAL, "approval") /* a person is asked, or has answered */

enum record_kind {
#define X(kind, name) RECORD_##kind,
	RECORD_KINDS(X)
#undef X
		RECORD_KIND_MAX
};

struct record {
	uint64_t time_ms; /* wall clock */
	uint8_t kind;	  /* enum record_kind */
	bool allowed;
	uint16_t constraint;	 /* enum constraint */
	struct bytes session;	 /* id; set by the ledger from the channel
				    when an edge sends it */
	struct bytes request_id; /* "r-..." or empty */
	struct bytes rule;
	struct bytes host; /* or secret name, process name */
	uint16_t port;
	struct bytes method; /* or push verb */
	struct bytes path;   /* or ref; no query: it may hold secrets */
	uint16_t status;
	uint64_t bytes_up;
	uint64_t bytes_down;
	struct bytes credential; /* a binding's name, never a secret */
	struct bytes detail;	 /* one line */
	struct bytes old_oid;	 /* pushes */
	struct bytes new_oid;
	struct bytes approval; /* "p-..." or empty */
	/* Not 0: so many refusals that got no row of their own, from first_ms
	 * to time_ms. */
	uint64_t count;
	uint64_t first_ms;
};

extern const struct wire_schema record_schema;

/* Where the texts of a record stand in it. */
#define RECORD_TEXTS 11
extern const size_t record_texts[RECORD_TEXTS];

static inline struct bytes *record_text_of(struct record *record, size_t at)
{
	return (struct bytes *)(void *)((uint8_t *)record + record_texts[at]);
}

const char *record_kind_name(enum record_kind kind);
/* RECORD_KIND_MAX when unknown. */
enum record_kind record_kind_from_name(struct bytes name);

#endif
