/*
 * Messages between the daemon and who asks for sandboxes: see messages.h.
 */
#ifndef SANDBOX_HOST_FLOW_MESSAGES_HOST_H
#define SANDBOX_HOST_FLOW_MESSAGES_HOST_H

#include "sandbox-host/flow/sandbox_spec.h"

/* What a sandbox goes through (daemon/state.h has the table). */
#define HOST_STATES(X)                                                         \
	X(PENDING, "Pending")                                                  \
	X(RUNNING, "Running")                                                  \
	X(PAUSING, "Pausing")                                                  \
	X(PAUSED, "Paused")                                                    \
	X(RESUMING, "Resuming")                                                \
	X(STOPPING, "Stopping")                                                \
	X(TERMINATED, "Terminated")                                            \
	X(FAILED, "Failed")

enum host_state {
#define X(name, text) HOST_##name,
	HOST_STATES(X)
#undef X
		HOST_STATE_MAX
};

/* "Running"; a bug when there is no such state. */
const char *host_state_name(enum host_state state);
/* 0, or -1 when text (untrusted) names none. */
int host_state_find(struct bytes text, enum host_state *state);

#define HOST_ID_MAX	 32 /* "sb-" and 26 base32 characters */
#define HOST_REASON_MAX	 64 /* one word: "expired" */
#define HOST_MESSAGE_MAX 512
#define HOST_LIST_MAX	 20 /* sandboxes in one answer */
#define HOST_EVENTS_MAX	 32 /* events in one answer */
#define HOST_EVENT_MAX	 1024
#define HOST_LOG_MAX	 (32 * 1024)
#define HOST_WAIT_MAX_MS 60000

struct host_ref {
	struct bytes id;
};
extern const struct wire_schema host_ref_schema;

struct host_sandbox {
	struct bytes id;
	struct bytes name; /* may be empty */
	uint8_t state;	   /* enum host_state */
	struct bytes reason;
	struct bytes message;
	uint64_t changed_ms; /* wall clock: of the state */
	uint64_t created_ms;
	uint64_t expires_ms; /* 0: never */
	uint64_t ran_ms;     /* of an isolated session: its last run; 0: none */
	uint32_t owner_uid;
	struct bytes session; /* with the gateway; empty before there is one */
	struct bytes workspace;
	struct bytes note;  /* as the request had it */
	struct bytes image; /* that its root is; empty: the host's own */
	uint32_t init_pid;  /* outside; 0: none */
	bool has_exit_code;
	uint32_t exit_code; /* of its entrypoint */
	const struct text_item *entrypoint;
	size_t entrypoint_count;
	const struct text_pair *metadata;
	size_t metadata_count;
};
extern const struct wire_schema host_sandbox_schema;

struct host_query {
	uint32_t states;		  /* bit n: enum host_state n; 0: all */
	const struct text_pair *metadata; /* all of them match; of those of ours
					     without a value, any value */
	size_t metadata_count;
	uint32_t skip;	/* so many of the newest */
	uint32_t limit; /* 1 to HOST_LIST_MAX; fewer come when they are long */
};
extern const struct wire_schema host_query_schema;
struct host_list {
	const struct host_sandbox *sandboxes; /* the newest first */
	size_t sandboxes_count;
	uint32_t total; /* that match */
};
extern const struct wire_schema host_list_schema;

struct host_renew {
	struct bytes id;
	uint64_t expires_ms; /* wall clock; 0: never */
};
extern const struct wire_schema host_renew_schema;

/* Put what is in `set` over the metadata, then remove what is in `unset`. */
struct host_patch {
	struct bytes id;
	const struct text_pair *set;
	size_t set_count;
	const struct text_item *unset;
	size_t unset_count;
};
extern const struct wire_schema host_patch_schema;

enum host_channel_kind {
	HOST_CHANNEL_EXEC,  /* MSG_EXEC_*: one command */
	HOST_CHANNEL_AGENT, /* served inside, under the command's confinement */
	HOST_CHANNEL_EGRESS,	 /* MSG_EGRESS_*: what the session may reach */
	HOST_CHANNEL_CHANGES,	 /* MSG_CHANGES_*: of an isolated session */
	HOST_CHANNEL_BACKGROUND, /* MSG_BACKGROUND_*: commands in it */
	HOST_CHANNEL_SESSION,	 /* MSG_SESSION_*: states of shells */
	HOST_CHANNEL_RESIDENT,	 /* MSG_RESIDENT_*: terminals, contexts */
	HOST_CHANNEL_KIND_MAX
};
struct host_channel {
	struct bytes id;
	uint8_t kind;
};
extern const struct wire_schema host_channel_schema;

struct host_port {
	struct bytes id;
	uint16_t port;
};
extern const struct wire_schema host_port_schema;
struct host_address {
	struct bytes address; /* "127.0.0.1:43211" */
};
extern const struct wire_schema host_address_schema;

/* Of events: those with a larger number. Of logs: from this byte on. Where
 * there is nothing yet the answer comes when there is, or after wait_ms. */
struct host_after {
	struct bytes id;
	uint64_t after;
	uint32_t wait_ms; /* <= HOST_WAIT_MAX_MS */
};
extern const struct wire_schema host_after_schema;

struct host_event {
	uint64_t sequence; /* from 1 */
	uint64_t time_ms;  /* wall clock */
	struct bytes kind; /* lifecycle, filesystem, syscall, ... */
	struct bytes text; /* somebody inside chose a part of it */
	struct bytes rule; /* what denied it; what to do: policies/remedy.h */
};
struct host_events {
	const struct host_event *events; /* in order */
	size_t events_count;
	bool more;
};
extern const struct wire_schema host_events_schema;

struct host_log {
	uint64_t start;	   /* where text begins: later than asked for when the
			      older part is gone */
	struct bytes text; /* what the entrypoint wrote: any bytes */
	bool has_ended;	   /* there will be no more */
};
extern const struct wire_schema host_log_schema;

/* What the processes inside use now. */
struct host_metrics {
	uint32_t cpu_count;    /* of the host */
	uint64_t cpu_ms;       /* since the sandbox began */
	uint32_t cpu_percent;  /* hundredths, of one processor, since this was
				  asked for last; 0 the first time */
	uint64_t memory_total; /* the limit, or the host's */
	uint64_t memory_used;
	uint32_t processes;
};
extern const struct wire_schema host_metrics_schema;

struct host_count {
	uint32_t count;
};
struct host_status {
	const struct host_count *counts; /* by enum host_state */
	size_t counts_count;
	uint32_t sandboxes_max;
	bool is_draining;
};
extern const struct wire_schema host_status_schema;

#define HOST_NAMES_MAX	1024
#define HOST_REPORT_MAX 16384
#define HOST_DUMP_MAX	(2 * 1024 * 1024) /* of MSG_HOST_CONFIG */
/* host.yaml was read again. */
struct host_reloaded {
	bool holds;
	struct bytes taken;  /* what differed: names of host.yaml */
	struct bytes why;    /* it does not hold */
	struct bytes errors; /* in their places, as people read them; cut */
};
extern const struct wire_schema host_reloaded_schema;

#endif
