/*
 * Messages of minter, dialer, courier and vault: see messages.h.
 */
#ifndef GATEWAY_FLOW_MESSAGES_KEEPERS_H
#define GATEWAY_FLOW_MESSAGES_KEEPERS_H

#include "common/wire.h"

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

struct msg_proxy_connect {
	struct bytes session;
	struct bytes host; /* canonical name or address */
	uint16_t port;
};
extern const struct wire_schema msg_proxy_connect_schema;
struct msg_proxy_secret {
	struct bytes secret; /* "user:password" */
};
extern const struct wire_schema msg_proxy_secret_schema;

/* ---- door ---- */

/* What the door may have read of a connection when it gives it away. */
#define CLIENT_READ_MAX (40 * 1024)
struct msg_client {
	struct bytes read; /* from the connection's first byte on */
};
extern const struct wire_schema msg_client_schema;

/* ---- courier: see leg.h for what travels on a leg ---- */

struct msg_leg_open {
	struct bytes binding; /* credential name */
	struct bytes host;
	uint16_t port;
	bool offers_h2; /* by ALPN: the request needs it */
	/* The binding as the edge's policy has it (scope_binding_mark()). */
	struct bytes mark;
};
extern const struct wire_schema msg_leg_open_schema;
struct msg_leg_opened {
	struct bytes tls_version;
	bool speaks_h2; /* upstream; the leg is HTTP/1.1 all the same */
};
extern const struct wire_schema msg_leg_opened_schema;

/* ---- vault ---- */

struct msg_token_get {
	struct bytes session;
	struct bytes binding;
	struct bytes host;
	uint16_t port;
	struct bytes mark; /* the binding as the courier has it */
};
extern const struct wire_schema msg_token_get_schema;
struct msg_token {
	uint8_t attach; /* enum policy_attach */
	struct bytes username;
	struct bytes secret; /* wiped by the courier at once */
};
extern const struct wire_schema msg_token_schema;
/* Fingerprints of the secrets that a session's credentials name. */
#define PRINTS_MESSAGE_MAX (16 * 1024)
struct msg_prints_make {
	struct bytes session;
};
extern const struct wire_schema msg_prints_make_schema;
struct msg_prints {
	struct bytes prints; /* policies/inspect/prints.h */
};
extern const struct wire_schema msg_prints_schema;
#define SECRET_NAME_MAX	 128
#define SECRET_VALUE_MAX (16 * 1024)
struct msg_secret {
	struct bytes name;
	struct bytes value;
};
extern const struct wire_schema msg_secret_schema;
/* A secret that is lent to one session; its policy calls it POLICY_LENT and
 * this name. */
#define LENT_NAME_MAX 64
struct msg_lent {
	struct bytes session;
	struct bytes name;
	struct bytes value;
};
extern const struct wire_schema msg_lent_schema;
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

#endif
