/* A keeper over the fake io; the test plays its warden and its peers. */
#ifndef TESTS_KEEPER_RIG_H
#define TESTS_KEEPER_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "common/cleanup.h"
#include "common/io_fake.h"
#include "gateway/keeper/keeper.h"

struct rig {
	struct keeper keeper;
	struct rpc *warden;
	struct rpc *ledger;
	struct rpc_ticket durable; /* rpc is NULL when nothing was asked */
	size_t messages, records;  /* that the ledger got */
	struct record last;
	char path[2100], detail[1100]; /* of the last */
	unsigned opened, closed, peers, peers_closed, echoes;
	char reason[32];
};

static inline void rig_on_records(struct rpc_ticket ticket, const void *message,
				  int *fd, void *owner)
{
	const struct msg_records *records = message;
	struct rig *rig = owner;

	(void)ticket;
	(void)fd;
	rig->messages++;
	rig->records += records->records_count;
	rig->last = records->records[records->records_count - 1];
	(void)snprintf(rig->path, sizeof(rig->path), "%.*s",
		       BYTES_ARGS(rig->last.path));
	(void)snprintf(rig->detail, sizeof(rig->detail), "%.*s",
		       BYTES_ARGS(rig->last.detail));
}

static inline void rig_on_durable(struct rpc_ticket ticket, const void *message,
				  int *fd, void *owner)
{
	struct rig *rig = owner;

	(void)message;
	(void)fd;
	rpc_ticket_hold(ticket);
	rig->durable = ticket;
}

static inline void rig_on_ready(struct rpc_ticket ticket, const void *message,
				int *fd, void *owner)
{
	(void)ticket;
	(void)message;
	(void)fd;
	(void)owner;
}

static const struct rpc_permit rig_ledger_permits[] = {
	{MSG_RECORDS, &msg_records_schema, rig_on_records, false, 0},
	{MSG_RECORDS_DURABLE, &msg_records_schema, rig_on_durable, false, 0},
};
static const struct rpc_permit rig_warden_permits[] = {
	{MSG_READY, &wire_empty_schema, rig_on_ready, false, 0},
};

static inline void rig_answer_echo(struct rpc_ticket ticket,
				   const void *message, int *fd, void *owner)
{
	struct keeper_peer *peer = owner;
	struct rig *rig = peer->keeper->owner;

	(void)ticket;
	(void)message;
	(void)fd;
	rig->echoes++;
}

static inline void rig_on_open(struct keeper *keeper, struct session *session)
{
	struct rig *rig = keeper->owner;

	(void)session;
	rig->opened++;
}

static inline void rig_on_close(struct keeper *keeper, struct session *session,
				struct bytes reason)
{
	struct rig *rig = keeper->owner;

	(void)session;
	rig->closed++;
	(void)snprintf(rig->reason, sizeof(rig->reason), "%.*s",
		       BYTES_ARGS(reason));
}

static inline void rig_on_peer(struct keeper *keeper, struct keeper_peer *peer)
{
	(void)peer;
	((struct rig *)keeper->owner)->peers++;
}

static inline void rig_on_peer_closed(struct keeper *keeper,
				      struct keeper_peer *peer)
{
	(void)peer;
	((struct rig *)keeper->owner)->peers_closed++;
}

static const struct rpc_permit rig_edge_permits[] = {
	{MSG_DIAL, &msg_dial_schema, rig_answer_echo, false, 0},
};
static const struct keeper_service rig_services[] = {
	{ROLE_EDGE, rig_edge_permits, ARRAY_SIZE(rig_edge_permits)},
};
static const struct keeper_spec rig_spec = {
	.role = ROLE_DIALER,
	.services = rig_services,
	.service_count = ARRAY_SIZE(rig_services),
	.on_session_open = rig_on_open,
	.on_session_close = rig_on_close,
	.on_peer = rig_on_peer,
	.on_peer_closed = rig_on_peer_closed,
};

/* Our end of a new channel with these permits; *fd is the keeper's. */
static inline struct rpc *rig_channel(struct rig *rig,
				      const struct rpc_permit *permits,
				      size_t count, int *fd)
{
	const struct rpc_config config = {
		.permits = permits,
		.permit_count = count,
		.owner = rig,
	};
	struct err err;
	struct rpc *rpc;
	int fds[2];

	assert_int_equal(io_message_pair(fds, &err), 0);
	*fd = fds[0];
	rpc = rpc_new(rig->keeper.loop, fds[1], &config, &err);
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
	if (fd >= 0)
		(void)close(fd);
	fake_run(rig->keeper.loop);
}

static inline struct rpc *rig_peer(struct rig *rig, enum role role)
{
	const struct msg_peer message = {.role = (uint8_t)role};
	bool is_ledger = role == ROLE_LEDGER;
	struct rpc *rpc;
	int fd;

	rpc = rig_channel(rig, is_ledger ? rig_ledger_permits : NULL,
			  is_ledger ? ARRAY_SIZE(rig_ledger_permits) : 0, &fd);
	rig_tell(rig, MSG_PEER, &msg_peer_schema, &message, fd);
	return rpc;
}

static inline void rig_set_up(struct rig *rig)
{
	struct err err;
	int fd;

	*rig = (struct rig){0};
	rig->keeper = (struct keeper){
		.spec = &rig_spec,
		.owner = rig,
		.loop = io_loop_new(&err),
	};
	rig->warden = rig_channel(rig, rig_warden_permits,
				  ARRAY_SIZE(rig_warden_permits), &fd);
	assert_int_equal(keeper_join(&rig->keeper, fd, &err), 0);
	fake_run(rig->keeper.loop);
}
#endif
