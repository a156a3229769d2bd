/*
 * The courier's rig: its life, legs, and what passes over them.
 */
#ifndef TESTS_COURIER_RIG_LEG_H
#define TESTS_COURIER_RIG_LEG_H

#include "gateway/keeper/records.h"
#include "tests/unit/gateway/courier/rig_framer.h"

static inline void rig_on_revoke(struct rpc_ticket ticket, const void *message,
				 int *fd, void *owner)
{
	const struct msg_session_ref *ref = message;
	const struct wire_empty empty = {0};
	struct rig *rig = owner;

	(void)fd;
	rig->was_revoked = bytes_is(ref->id, "s-1") &&
			   bytes_is(ref->reason, "credential_reflected");
	rpc_reply(ticket, &wire_empty_schema, &empty, -1);
}

static const struct rpc_permit rig_warden_permits[] = {
	{MSG_FRAMER_START, &msg_session_ref_schema, rig_on_framer_start, false,
	 0},
	{MSG_READY, &wire_empty_schema, rig_on_ready, false, 0},
	{MSG_SESSION_REVOKE, &msg_session_ref_schema, rig_on_revoke, false, 0},
	{0},
};

static inline void rig_make_keys(struct rig *rig)
{
	struct recipe recipe = recipe_root("root");

	rig->root = forge(&recipe, NULL);
	recipe = recipe_good();
	rig->leaf = forge(&recipe, &rig->root);
	rig->server = SSL_CTX_new(TLS_server_method());
	buf_init(&rig->pem, 8192);
	forge_pem(rig->root.cert, &rig->pem);
}

static inline void rig_set_up(struct rig *rig)
{
	struct confine_spec confine = {0};
	struct err err;
	int fd;

	*rig = (struct rig){.leg = -1, .frames = -1};
	rig_make_keys(rig);
	buf_init(&rig->arrived, 1 << 20);
	rig->loop = io_loop_new(&err);
	rig->keeper = (struct keeper){
		.spec = &courier_spec,
		.owner = &rig->courier,
		.loop = rig->loop,
		.config.ca_bundle = buf_view(&rig->pem),
	};
	assert_int_equal(courier_spec.prepare(&rig->keeper, &confine, &err), 0);
	rig->warden = rig_channel(rig, rig_warden_permits, &fd);
	assert_int_equal(keeper_join(&rig->keeper, fd, &err), 0);
	rig->edge = rig_peer(rig, ROLE_EDGE, NULL);
	rig->vault = rig_peer(rig, ROLE_VAULT, rig_vault_permits);
	rig->ledger = rig_peer(rig, ROLE_LEDGER, rig_ledger_permits);
}

/* What nobody answered: a channel lives as long as a ticket of it. */
static inline void rig_drop(struct rpc_ticket *ticket)
{
	if (ticket->rpc)
		rpc_refuse(*ticket, CONSTRAINT_internal, "the test is over");
	ticket->rpc = NULL;
}

/* Everything ends: no leg may be left, and no descriptor. */
static inline void rig_tear_down(struct rig *rig)
{
	struct rpc *channels[] = {rig->edge, rig->vault, rig->ledger};

	for (size_t i = 0; i < ARRAY_SIZE(channels); i++)
		if (channels[i])
			rpc_close(channels[i]);
	rig_drop(&rig->token);
	rig_drop(&rig->record);
	fake_advance(rig->loop, 60000);
	assert_int_equal(rig->courier.leg_count, 0);
	assert_null(rig->courier.framers);
	if (rig->framer)
		rpc_close(rig->framer);
	if (rig->frames >= 0)
		(void)close(rig->frames);
	rpc_close(rig->warden);
	if (rig->upstream)
		io_close(rig->upstream);
	if (rig->leg >= 0)
		(void)close(rig->leg);
	fake_run(rig->loop);
	session_table_release(&rig->keeper.sessions);
	keeper_records_release(&rig->keeper);
	tls_client_release(&rig->courier.tls);
	io_loop_free(rig->loop);
	buf_release(&rig->arrived);
	buf_release(&rig->pem);
	forged_release(&rig->root);
	forged_release(&rig->leaf);
	SSL_CTX_free(rig->server);
	fake_reset_all();
}

static inline void rig_on_upstream(struct io *io, enum io_event event,
				   void *owner)
{
	struct rig *rig = owner;
	X509 *chain[] = {rig->leaf.cert};
	struct err err;

	if (event == IO_TLS_HELLO) {
		assert_int_equal(
			io_tls_certificate(io, chain, 1, rig->leaf.key, &err),
			0);
	} else if (event == IO_DATA) {
		(void)buf_add(&rig->arrived, buf_view(io_in(io)));
		buf_clear(io_in(io));
	} else if (event == IO_RELEASED) {
		rig->upstream = NULL;
	} else if (event == IO_EOF || event == IO_FAILED) {
		rig->is_upstream_over = true;
	}
}

static inline void rig_on_opened(struct rpc_outcome *outcome, void *owner)
{
	struct rig *rig = owner;

	if (outcome->refusal)
		rig->refused = outcome->refusal->code;
	if (rig->leg >= 0)
		(void)close(rig->leg);
	rig->leg = outcome->err ? -1 : take_fd(&outcome->fd);
	if (!outcome->err)
		rig->speaks_h2 =
			((const struct msg_leg_opened *)outcome->message)
				->speaks_h2;
}

/* Ask for a leg with that credential to host, behind which upstream is. */
static inline void rig_open_leg(struct rig *rig, const char *binding,
				const char *host)
{
	static const struct io_limits limits = {1 << 20, 1 << 20, 1 << 20};
	uint8_t mark[DIGEST_LEN] = {0};
	const struct msg_leg_open message = {
		.binding = bytes_str(binding),
		.host = bytes_str(host),
		.port = 443,
		.offers_h2 = rig->offers_h2,
		.mark = bytes_from(mark, sizeof(mark)),
	};
	struct rpc_call call = {
		.type = MSG_LEG_OPEN,
		.schema = &msg_leg_open_schema,
		.message = &message,
		.reply_schema = &msg_leg_opened_schema,
		.timeout_ms = 30000,
		.on_outcome = rig_on_opened,
		.owner = rig,
	};
	struct err err;
	int fds[2];

	assert_int_equal(scope_binding_mark(&rig_binding, mark, &err), 0);
	fake_stream_pair(fds);
	call.fd = fds[0];
	rig->upstream =
		io_new(rig->loop, fds[1], &limits, rig_on_upstream, rig);
	assert_int_equal(io_tls_server(rig->upstream, rig->server,
				       bytes_from(NULL, 0), &err),
			 0);
	io_read_start(rig->upstream);
	assert_int_equal(rpc_ask(rig->edge, &call, NULL, &err), 0);
	(void)close(fds[0]);
	fake_run(rig->loop);
}

#endif
