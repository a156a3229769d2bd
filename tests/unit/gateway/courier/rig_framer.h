/*
 * The courier's rig: a framer, which the warden starts.
 */
#ifndef TESTS_COURIER_RIG_FRAMER_H
#define TESTS_COURIER_RIG_FRAMER_H

#include "tests/unit/gateway/courier/rig.h"

static inline void rig_on_frames_open(struct rpc_ticket ticket,
				      const void *message, int *fd, void *owner)
{
	struct rig *rig = owner;

	(void)ticket;
	(void)message;
	if (rig->frames >= 0)
		(void)close(rig->frames);
	rig->frames = take_fd(fd);
}

static const struct rpc_permit rig_framer_permits[] = {
	{MSG_FRAMES_OPEN, &wire_empty_schema, rig_on_frames_open, true, 0},
	{0},
};

static inline void rig_on_framer_gone(struct rpc *rpc, const char *why,
				      void *owner)
{
	struct rig *rig = owner;

	(void)why;
	if (rig->framer == rpc)
		rig->framer = NULL;
}

static inline void rig_on_framer_start(struct rpc_ticket ticket,
				       const void *message, int *fd,
				       void *owner)
{
	const struct msg_session_ref *ref = message;
	const struct rpc_config config = {
		.permits = rig_framer_permits,
		.permit_count = 1,
		.owner = owner,
		.on_closed = rig_on_framer_gone,
	};
	const struct wire_empty empty = {0};
	struct rig *rig = owner;
	struct err err;
	int fds[2];

	(void)fd;
	assert_true(bytes_is(ref->id, "s-1"));
	rig->framers++;
	if (rig->has_no_framer) {
		rpc_refuse(ticket, CONSTRAINT_limit_connections, "none");
		return;
	}
	assert_int_equal(io_message_pair(fds, &err), 0);
	rig->framer = rpc_new(rig->loop, fds[1], &config, &err);
	rpc_reply(ticket, &wire_empty_schema, &empty, fds[0]);
	(void)close(fds[0]);
}

#endif
