/*
 * Every message that travels between our processes (docs/PROTOCOL.md), as
 * structs; their schemas are in messages_*.c. Who may send what to whom is
 * each keeper's permit table.
 *
 * A refusal (struct rpc_refusal) carries an enum constraint as its code.
 */
#ifndef GATEWAY_FLOW_MESSAGES_H
#define GATEWAY_FLOW_MESSAGES_H

#include "common/rpc.h"
#include "gateway/flow/record.h"
#include "gateway/flow/roles.h"

enum msg_type {
	/* warden -> any child, notifications but where said */
	MSG_PEER = 1,	   /* msg_peer + fd: a channel to a peer */
	MSG_SESSION_OPEN,  /* empty + fd: a package */
	MSG_SESSION_CLOSE, /* request: msg_session_ref -> empty */
	MSG_LISTENER,	   /* msg_listener + fd: to an edge or control */
	MSG_DRAIN,	   /* empty: finish and exit */

	/* any child -> warden */
	MSG_READY = 20, /* empty, notification: confined and serving */
	/* edge -> warden, request */
	MSG_PACKCHECK_START, /* empty -> empty + fd: channel to a packcheck */
	/* control -> warden, requests */
	MSG_SESSION_CREATE, /* empty + fd: package -> empty */
	MSG_SESSION_REVOKE, /* msg_session_ref -> empty, when it holds */
	MSG_SESSION_ATTACH, /* msg_attach + fd: listener -> empty */
	MSG_SESSION_LIST,   /* empty -> msg_session_list */
	MSG_PROCESS_LIST,   /* empty -> msg_process_list */

	/* edge -> minter */
	MSG_MINT = 40, /* msg_mint -> msg_minted */
	/* control -> minter */
	MSG_CA_GET, /* empty -> msg_ca */

	/* edge -> dialer */
	MSG_DIAL = 50, /* msg_dial -> msg_dialed + fd */

	/* edge -> courier */
	MSG_LEG_OPEN = 60, /* msg_leg_open + fd -> msg_leg_opened + fd */

	/* courier -> vault */
	MSG_TOKEN_GET = 70, /* msg_token_get -> msg_token */
	/* control -> vault */
	MSG_SECRET_PUT,	   /* msg_secret -> empty */
	MSG_SECRET_LIST,   /* empty -> msg_secret_list */
	MSG_SECRET_REMOVE, /* msg_secret_name -> empty */

	/* any -> ledger */
	MSG_RECORDS = 90,    /* msg_records, notification */
	MSG_RECORDS_DURABLE, /* msg_records -> empty, once on disk */
	/* control -> ledger */
	MSG_LEDGER_QUERY,  /* msg_ledger_query -> msg_ledger_rows */
	MSG_LEDGER_VERIFY, /* msg_ledger_verify -> msg_ledger_verified */
	MSG_LEDGER_FOLLOW, /* msg_ledger_query -> empty, then MSG_LEDGER_ROWS */
	/* ledger -> control, notification */
	MSG_LEDGER_ROWS, /* msg_ledger_rows */

	/* edge -> packcheck */
	MSG_PACK_CHECK = 110, /* msg_pack_check + fd -> msg_pack_verdict */
	MSG_PACK_ADD,	      /* empty + fd: an ancestry pack -> verdict */
	MSG_TYPE_MAX
};

/* ---- warden ---- */

struct msg_peer {
	uint8_t role;	      /* of the other end */
	struct bytes session; /* the edge's session, else empty */
};
extern const struct wire_schema msg_peer_schema;

struct msg_session_ref {
	struct bytes id;
	struct bytes reason; /* "revoked", "expired", "ended" */
};
extern const struct wire_schema msg_session_ref_schema;

enum listener_kind {
	LISTENER_TCP, /* explicit proxy and redirected TCP, v4 or v6 */
	LISTENER_DNS_UDP,
	LISTENER_DNS_TCP,
	LISTENER_CONTROL, /* control.sock: HTTP; to control */
	LISTENER_ATTACH,  /* attach.sock: SOCK_SEQPACKET; to control */
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
};
struct msg_session_list {
	const struct msg_session *sessions;
	size_t sessions_count; /* <= 100: the newest */
	uint32_t total;
};
extern const struct wire_schema msg_session_list_schema;

struct msg_process {
	uint8_t role;
	uint32_t pid;
	uint32_t restarts;
	bool is_ready;
	struct bytes session;
};
struct msg_process_list {
	const struct msg_process *processes;
	size_t processes_count; /* <= 200 */
};
extern const struct wire_schema msg_process_list_schema;

/* ---- minter ---- */

enum mint_purpose {
	MINT_SERVE,  /* a name this session may reach */
	MINT_REFUSE, /* any valid name: to say no inside TLS (1 h, limited) */
	MINT_PURPOSE_MAX
};
struct msg_mint {
	struct bytes name;	 /* canonical name or address */
	struct bytes public_key; /* SubjectPublicKeyInfo, DER, P-256 */
	uint8_t purpose;
};
extern const struct wire_schema msg_mint_schema;
struct msg_minted {
	struct bytes leaf; /* DER */
	struct bytes ca;   /* DER */
	uint64_t expires_ms;
};
extern const struct wire_schema msg_minted_schema;
struct msg_ca {
	struct bytes pem;
	struct bytes pkcs12; /* a truststore for Java, password changeit */
};
extern const struct wire_schema msg_ca_schema;

/* ---- dialer ---- */

struct msg_dial {
	struct bytes host; /* canonical name or address */
	uint16_t port;
};
extern const struct wire_schema msg_dial_schema;
struct msg_dialed {
	struct bytes address; /* that was dialled, for the record */
};
extern const struct wire_schema msg_dialed_schema;

/* ---- courier: see leg.h for what travels on a leg ---- */

struct msg_leg_open {
	struct bytes binding; /* credential name */
	struct bytes host;
	uint16_t port;
};
extern const struct wire_schema msg_leg_open_schema;
struct msg_leg_opened {
	struct bytes tls_version;
};
extern const struct wire_schema msg_leg_opened_schema;

/* ---- vault ---- */

struct msg_token_get {
	struct bytes session;
	struct bytes binding;
	struct bytes host;
	uint16_t port;
};
extern const struct wire_schema msg_token_get_schema;
struct msg_token {
	uint8_t attach; /* enum policy_attach */
	struct bytes username;
	struct bytes secret; /* wiped by the courier at once */
};
extern const struct wire_schema msg_token_schema;
#define SECRET_NAME_MAX	 128
#define SECRET_VALUE_MAX (16 * 1024)
struct msg_secret {
	struct bytes name;
	struct bytes value;
};
extern const struct wire_schema msg_secret_schema;
struct msg_secret_name {
	struct bytes name;
};
extern const struct wire_schema msg_secret_name_schema;
struct msg_secret_entry {
	struct bytes name;
	uint64_t created_ms;
	uint64_t changed_ms;
	uint64_t used_ms; /* 0: never */
};
struct msg_secret_list {
	const struct msg_secret_entry *secrets;
	size_t secrets_count;
};
extern const struct wire_schema msg_secret_list_schema;

/* ---- ledger ---- */

struct msg_records {
	const struct record *records;
	size_t records_count;
};
extern const struct wire_schema msg_records_schema;
struct msg_ledger_query {
	uint64_t after;	      /* rows with a larger sequence number... */
	bool newest;	      /* ...or the newest `limit` rows */
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
struct msg_ledger_verify {
	uint64_t after; /* go on from this sequence number; 0: from the start */
};
extern const struct wire_schema msg_ledger_verify_schema;
struct msg_ledger_verified {
	bool is_intact;
	bool is_done; /* false: ask again with after = checked_to */
	uint64_t checked_to;
	uint64_t broken_at; /* first row whose hash is wrong */
	struct bytes detail;
};
extern const struct wire_schema msg_ledger_verified_schema;

/* ---- packcheck ---- */

struct msg_pack_update {
	struct bytes old_oid; /* hex */
	struct bytes new_oid;
};
/* The pack is the descriptor. */
struct msg_pack_check {
	const struct msg_pack_update *updates; /* each must fast-forward */
	size_t updates_count;
	uint64_t objects_max;
	uint64_t bytes_max;
};
extern const struct wire_schema msg_pack_check_schema;

enum pack_result {
	PACK_FAST_FORWARD, /* every update is one */
	PACK_REWRITE,	   /* update `index` is not a descendant */
	PACK_UNPROVEN,	   /* update `index` is not proven yet: fetch `wants` */
	PACK_INVALID,	   /* damaged: detail says how */
	PACK_RESULT_MAX
};
struct msg_pack_oid {
	struct bytes oid; /* hex */
};
struct msg_pack_verdict {
	uint8_t result;
	uint32_t index;
	const struct msg_pack_oid *wants; /* parents outside the pack */
	size_t wants_count;		  /* <= 256 */
	bool wants_bases; /* the wants are bases of deltas, any type: fetch
			     them without "have" */
	struct bytes detail;
};
extern const struct wire_schema msg_pack_verdict_schema;

#endif
