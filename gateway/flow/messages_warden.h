/*
 * Messages between the warden and the others: see messages.h.
 */
#ifndef GATEWAY_FLOW_MESSAGES_WARDEN_H
#define GATEWAY_FLOW_MESSAGES_WARDEN_H

#include "common/wire.h"

/* ---- warden ---- */

struct msg_peer {
	uint8_t role;	      /* of the other end */
	struct bytes session; /* the edge's session, else empty */
};
extern const struct wire_schema msg_peer_schema;

struct msg_session_ref {
	struct bytes id;
	struct bytes reason; /* "revoked", "expired", "ended",
				"credential_reflected" */
};
extern const struct wire_schema msg_session_ref_schema;

struct msg_session_renew {
	struct bytes id;
	uint64_t expires_ms; /* wall clock */
};
extern const struct wire_schema msg_session_renew_schema;

/* Let a session live as long as the channel that says this. */
struct msg_session_hold {
	struct bytes id;
};
extern const struct wire_schema msg_session_hold_schema;

/* Another policy, in the place of one. */
struct msg_session_change {
	struct bytes
		before; /* SHA-256 of the text that is to hold until then */
};
extern const struct wire_schema msg_session_change_schema;
struct msg_session_changed {
	bool holds; /* false: what held was another, and holds on */
};
extern const struct wire_schema msg_session_changed_schema;

/* What holds for a session from its beginning: a digest, as POST /v1/sessions
 * says it (`terms`), and the files that its sandbox may not show. */
#define SESSION_TERMS_MAX    64
#define SECRET_FILE_PATH_MAX 8192
struct msg_secret_file {
	struct bytes path; /* absolute */
};
struct msg_session_terms {
	struct bytes text;
	const struct msg_secret_file *secret_files;
	size_t secret_files_count;
};
extern const struct wire_schema msg_session_terms_schema;

enum listener_kind {
	LISTENER_TCP, /* explicit proxy and redirected TCP, v4 or v6 */
	LISTENER_DNS_UDP,
	LISTENER_DNS_TCP,
	LISTENER_CONTROL, /* control.sock: HTTP; to control */
	LISTENER_ATTACH,  /* attach.sock: SOCK_SEQPACKET; to control */
	LISTENER_PROXY,	  /* a TCP proxy port for all sessions; to the door */
	LISTENER_KIND_MAX
};
struct msg_listener {
	uint8_t kind;
};
extern const struct wire_schema msg_listener_schema;

struct msg_attach {
	struct bytes id;
	uint8_t kind; /* enum listener_kind */
};
extern const struct wire_schema msg_attach_schema;

struct msg_session {
	struct bytes id;
	struct bytes repo;
	struct bytes branch;
	struct bytes policy_name;
	uint32_t owner_uid;
	uint64_t created_ms;
	uint64_t expires_ms;
	uint32_t edge_pid;
	uint32_t edge_restarts;
	bool is_revoked;
	bool signs;		/* the vault knows with what: msg_signer */
	struct bytes permitted; /* session_package.permitted */
};
struct msg_session_query {
	struct bytes id; /* that session alone; empty: all */
	bool of_owner;	 /* those of owner_uid alone */
	uint32_t owner_uid;
	uint32_t skip; /* so many of the newest */
};
extern const struct wire_schema msg_session_query_schema;
struct msg_session_list {
	const struct msg_session *sessions; /* the newest first */
	size_t sessions_count; /* <= 100, and as many as one message has
				  room for */
	uint32_t total;	       /* that match the query */
	uint32_t ended;	       /* of them those that were ended or revoked */
};
extern const struct wire_schema msg_session_list_schema;

/* ledger -> warden: one of audit.export. */
struct msg_export_ref {
	struct bytes path;
};
extern const struct wire_schema msg_export_ref_schema;

/* warden -> control: what became of a reload. */
#define RELOAD_TEXT_MAX	  512
#define RELOAD_ERRORS_MAX (32 * 1024)
struct msg_config_reloaded {
	bool holds;	     /* else all is as it was */
	struct bytes taken;  /* holds: the keys that differed, or empty */
	struct bytes why;    /* does not hold */
	struct bytes errors; /* the file's, as people read them, or empty */
};
extern const struct wire_schema msg_config_reloaded_schema;

struct msg_process {
	uint8_t role;
	uint32_t pid;
	uint32_t restarts;
	bool is_ready;
	struct bytes session;
};
#define PROCESSES_TOLD_MAX 200 /* by one answer */
struct msg_process_query {
	uint32_t skip; /* so many of the first */
};
extern const struct wire_schema msg_process_query_schema;
struct msg_process_list {
	const struct msg_process *processes;
	size_t processes_count; /* <= PROCESSES_TOLD_MAX */
};
extern const struct wire_schema msg_process_list_schema;

#endif
