#include "gateway/framer/framer.h"

#include "common/cleanup.h"
#include "common/log.h"
#include "common/secret.h"

static void answer_open(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct keeper_peer *courier = owner;
	struct err err;

	(void)ticket;
	(void)message;
	if (connection_open(courier->keeper->owner, take_fd(fd), &err) < 0)
		log_warn("%s", err.text);
}

static int prepare(struct keeper *keeper, struct confine_spec *confine,
		   struct err *err)
{
	struct framer *framer = keeper->owner;

	(void)confine;
	(void)err;
	secret_protect_process();
	framer->keeper = keeper;
	io_loop_wipe(keeper->loop);
	return 0;
}

/* There is no leg left to serve. */
static void on_peer_closed(struct keeper *keeper, struct keeper_peer *peer)
{
	(void)peer;
	io_loop_stop(keeper->loop);
}

static const struct rpc_permit courier_permits[] = {
	{MSG_FRAMES_OPEN, &wire_empty_schema, answer_open, true, 0},
};

static const struct keeper_service services[] = {
	{ROLE_COURIER, courier_permits, ARRAY_SIZE(courier_permits)},
};

/* Beside confine's base set: sockets come as descriptors. */
static const char *const syscalls[] = {"shutdown", NULL};

const struct keeper_spec framer_spec = {
	.role = ROLE_FRAMER,
	.services = services,
	.service_count = ARRAY_SIZE(services),
	.prepare = prepare,
	.syscalls = syscalls,
	.on_peer_closed = on_peer_closed,
};
