/*
 * A real courier over the fake io. The test plays the warden, the edge, the
 * vault, the ledger and the upstream, which speaks TLS as "good.test".
 */
#ifndef TESTS_COURIER_RIG_H
#define TESTS_COURIER_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/io_fake.h"
#include "gateway/courier/courier.h"
#include "gateway/flow/push.h"
#include "tests/unit/gateway/tls/forge.h"

#define RIG_TOKEN "ghs_the-real-token"
#define OID_A	  "1111111111111111111111111111111111111111"
#define OID_B	  "2222222222222222222222222222222222222222"
#define OID_ZERO  "0000000000000000000000000000000000000000"

struct rig {
	struct io_loop *loop;
	struct keeper keeper;
	struct courier courier;
	struct buf pem;
	struct forged root, leaf;
	SSL_CTX *server;
	struct rpc *warden, *edge, *vault, *ledger;
	struct rpc_ticket token, record; /* asked; rpc is NULL when not */
	char recorded[512];
	char told[256];	  /* the last record that nobody waits for */
	int leg;	  /* the edge's end, or -1 */
	uint16_t refused; /* why there is none */
	struct io *upstream;
	struct buf arrived; /* at upstream */
	bool is_upstream_over;
	bool was_revoked;	   /* the session, by the courier */
	bool offers_h2, speaks_h2; /* asked for; the leg that was opened */
	struct rpc *framer;	   /* the courier's channel to one */
	int frames;		   /* of its newest leg, or -1 */
	unsigned framers;	   /* that were asked for */
	bool has_no_framer;
};

static inline void rig_on_token(struct rpc_ticket ticket, const void *message,
				int *fd, void *owner)
{
	struct rig *rig = owner;

	(void)message;
	(void)fd;
	rpc_ticket_hold(ticket);
	rig->token = ticket;
}

static inline void rig_on_record(struct rpc_ticket ticket, const void *message,
				 int *fd, void *owner)
{
	const struct record *record =
		((const struct msg_records *)message)->records;
	struct rig *rig = owner;

	(void)fd;
	rpc_ticket_hold(ticket);
	rig->record = ticket;
	(void)snprintf(rig->recorded, sizeof(rig->recorded),
		       "%s %.*s %.*s:%u %.*s %.*s %.*s",
		       record_kind_name((enum record_kind)record->kind),
		       BYTES_ARGS(record->session), BYTES_ARGS(record->host),
		       record->port, BYTES_ARGS(record->method),
		       BYTES_ARGS(record->path),
		       BYTES_ARGS(record->credential));
}

static inline void rig_on_told(struct rpc_ticket ticket, const void *message,
			       int *fd, void *owner)
{
	const struct record *record =
		((const struct msg_records *)message)->records;
	struct rig *rig = owner;

	(void)ticket;
	(void)fd;
	(void)snprintf(rig->told, sizeof(rig->told), "%s %s",
		       record_kind_name((enum record_kind)record->kind),
		       constraint_name((enum constraint)record->constraint));
}

static inline void rig_on_ready(struct rpc_ticket ticket, const void *message,
				int *fd, void *owner)
{
	(void)ticket;
	(void)message;
	(void)fd;
	(void)owner;
}

static const struct rpc_permit rig_vault_permits[] = {
	{MSG_TOKEN_GET, &msg_token_get_schema, rig_on_token, false, 0},
	{MSG_SIGN_MAKE, &msg_sign_make_schema, rig_on_token, false, 0},
	{0},
};
static const struct rpc_permit rig_ledger_permits[] = {
	{MSG_RECORDS_DURABLE, &msg_records_schema, rig_on_record, false, 0},
	{MSG_RECORDS, &msg_records_schema, rig_on_told, false, 0},
	{0},
};
/* Our end of a new channel; *fd is the courier's. */
static inline struct rpc *rig_channel(struct rig *rig,
				      const struct rpc_permit *permits, int *fd)
{
	struct rpc_config config = {.permits = permits, .owner = rig};
	struct err err;
	struct rpc *rpc;
	int fds[2];

	while (permits && permits[config.permit_count].type)
		config.permit_count++;
	assert_int_equal(io_message_pair(fds, &err), 0);
	*fd = fds[0];
	rpc = rpc_new(rig->loop, fds[1], &config, &err);
	assert_non_null(rpc);
	return rpc;
}

static inline void rig_tell(struct rig *rig, uint16_t type,
			    const struct wire_schema *schema,
			    const void *message, int fd)
{
	struct err err;

	assert_int_equal(rpc_tell(rig->warden, type, schema, message, fd, &err),
			 0);
	(void)close(fd);
	fake_run(rig->loop);
}

static inline struct rpc *rig_peer(struct rig *rig, enum role role,
				   const struct rpc_permit *permits)
{
	const struct msg_peer message = {
		.role = (uint8_t)role,
		.session = bytes_str(role == ROLE_EDGE ? "s-1" : ""),
	};
	int fd;
	struct rpc *rpc = rig_channel(rig, permits, &fd);

	rig_tell(rig, MSG_PEER, &msg_peer_schema, &message, fd);
	return rpc;
}

static const struct scope_host rig_host = {BYTES_LITERAL("good.test"), 443};
static const struct scope_binding rig_binding = {
	.name = BYTES_LITERAL("forge"),
	.secret = BYTES_LITERAL("forge"),
	.attach = ATTACH_BEARER,
	.hosts = &rig_host,
	.hosts_count = 1,
};

/* A session "s-1" with a credential for good.test, and one repository. */
static inline void rig_give_session(struct rig *rig, uint64_t expires_ms)
{
	static const struct scope_text branch = {BYTES_LITERAL("agent/1")};
	static const struct scope_repo repo = {
		.host = BYTES_LITERAL("good.test"),
		.port = 443,
		.path = BYTES_LITERAL("/acme/widgets"),
		.credential = BYTES_LITERAL("forge"),
		.read = true,
		.verbs = VERB_CREATE | VERB_FAST_FORWARD,
		.branches = &branch,
		.branches_count = 1,
	};
	static const uint8_t lease[DIGEST_LEN] = {1};
	const struct session_package package = {
		.id = bytes_str("s-1"),
		.expires_ms = expires_ms,
		.lease_hash = bytes_from(lease, sizeof(lease)),
		.scope = {.hosts = &rig_host,
			  .hosts_count = 1,
			  .bindings = &rig_binding,
			  .bindings_count = 1,
			  .repos = &repo,
			  .repos_count = 1},
	};
	const struct wire_empty empty = {0};
	struct err err;
	int fd = package_seal(&package, &err);

	rig_tell(rig, MSG_SESSION_OPEN, &wire_empty_schema, &empty, fd);
}

#endif
