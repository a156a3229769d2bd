/*
 * What the fake warden says of a session's policy.
 */
#ifndef TESTS_CONTROL_FAKES_POLICY_H
#define TESTS_CONTROL_FAKES_POLICY_H

#include "tests/unit/gateway/control/fakes.h"

/* That of the last creation. */
static inline void rig_on_package(struct rpc_ticket ticket, const void *message,
				  int *fd, void *owner)
{
	const struct wire_empty empty = {0};
	struct rig *rig = owner;
	struct err err;
	auto_fd int sealed = -1;

	(void)message;
	(void)fd;
	assert_non_null(rig->package);
	sealed = package_seal(&rig->package->session, &err);
	assert_true(sealed >= 0);
	rpc_reply(ticket, &wire_empty_schema, &empty, sealed);
}

static inline void rig_on_change(struct rpc_ticket ticket, const void *message,
				 int *fd, void *owner)
{
	const struct msg_session_changed changed = {.holds = true};
	struct rig *rig = owner;

	(void)message;
	(void)fd;
	if (!rig_refuses(rig, ticket))
		rpc_reply(ticket, &msg_session_changed_schema, &changed, -1);
}

#endif
