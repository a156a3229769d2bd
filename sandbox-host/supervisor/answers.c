#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "sandbox-host/supervisor/again.h"
#include "sandbox-host/supervisor/ahead.h"
#include "sandbox-host/supervisor/background.h"
#include "sandbox-host/supervisor/residents.h"
#include "sandbox-host/supervisor/shells.h"

#define PERMIT_RATE 500 /* a second */

static void reply_empty(struct rpc_ticket ticket, int fd)
{
	const struct wire_empty empty = {0};

	rpc_reply(ticket, &wire_empty_schema, &empty, fd);
}

static bool is_in(struct supervisor *supervisor, enum host_state state,
		  struct rpc_ticket ticket)
{
	if (supervisor->state == state)
		return true;
	rpc_refuse(ticket, HOST_REFUSED_STATE, "the sandbox is %s",
		   host_state_name(supervisor->state));
	return false;
}

static void answer_show(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	struct supervisor *supervisor = owner;
	const struct supervisor_state state = life_state(supervisor);

	(void)message;
	(void)fd;
	rpc_reply(ticket, &supervisor_state_schema, &state, -1);
	events_tell_all(supervisor);
}

static void answer_end(struct rpc_ticket ticket, const void *message, int *fd,
		       void *owner)
{
	const struct supervisor_end *end = message;
	char reason[HOST_REASON_MAX + 1];

	(void)fd;
	(void)snprintf(reason, sizeof(reason), "%.*s", BYTES_ARGS(end->reason));
	reply_empty(ticket, -1);
	life_end(owner, HOST_TERMINATED, reason, "");
}

static void answer_pause(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	struct supervisor *supervisor = owner;
	struct err err;

	(void)message;
	(void)fd;
	if (!is_in(supervisor, HOST_RUNNING, ticket))
		return;
	if (service_can_rest(supervisor->sandbox, &err) < 0)
		rpc_refuse(ticket, HOST_REFUSED_UNSUPPORTED, "%s", err.text);
	else
		life_rest(supervisor, ticket);
}

static void answer_resume(struct rpc_ticket ticket, const void *message,
			  int *fd, void *owner)
{
	struct supervisor *supervisor = owner;
	struct err err;

	(void)message;
	(void)fd;
	if (!is_in(supervisor, HOST_PAUSED, ticket))
		return;
	if (life_resume(supervisor, &err) < 0)
		rpc_refuse(ticket, HOST_REFUSED, "%s", err.text);
	else
		reply_empty(ticket, -1);
}

static void answer_renew(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	const struct host_renew *renew = message;

	(void)fd;
	if (life_renew(owner, renew->expires_ms) < 0)
		rpc_refuse(ticket, HOST_REFUSED_INVALID,
			   "that time has passed");
	else
		reply_empty(ticket, -1);
}

/* ---- channels ---- */

/* What it may reach is changed, and what is kept for it looked at, while it
 * rests, too. */
static bool is_open(const struct supervisor *supervisor, uint8_t kind)
{
	enum host_state state = supervisor->state;

	return (kind == HOST_CHANNEL_EGRESS && state == HOST_PAUSED) ||
	       ((kind == HOST_CHANNEL_BACKGROUND ||
		 kind == HOST_CHANNEL_SESSION ||
		 kind == HOST_CHANNEL_RESIDENT) &&
		(state == HOST_PAUSING || state == HOST_PAUSED ||
		 state == HOST_RESUMING));
}

static int open_channel(struct supervisor *supervisor, uint8_t kind,
			struct err *err)
{
	switch (kind) {
	case HOST_CHANNEL_CHANGES:
		return changes_open(supervisor, err);
	case HOST_CHANNEL_EGRESS:
		return egress_open(supervisor, err);
	case HOST_CHANNEL_BACKGROUND:
		return background_open(supervisor, err);
	case HOST_CHANNEL_SESSION:
		return shells_open(supervisor, err);
	case HOST_CHANNEL_RESIDENT:
		return residents_open(supervisor, err);
	default:
		return exec_open(supervisor, err);
	}
}

static void answer_channel(struct rpc_ticket ticket, const void *message,
			   int *fd, void *owner)
{
	const struct host_channel *wanted = message;
	struct supervisor *supervisor = owner;
	auto_fd int channel = -1;
	struct err err;

	(void)fd;
	if (!is_open(supervisor, wanted->kind) &&
	    !is_in(supervisor, HOST_RUNNING, ticket))
		return;
	if (wanted->kind == HOST_CHANNEL_AGENT) {
		agents_open(supervisor, ticket);
		return;
	}
	if (wanted->kind == HOST_CHANNEL_CHANGES &&
	    !(supervisor->request.is_isolated && supervisor->changes[0])) {
		rpc_refuse(ticket, HOST_REFUSED_STATE,
			   "it works in the workspace itself, or reads it "
			   "alone: no changes of its own are kept");
		return;
	}
	channel = open_channel(supervisor, wanted->kind, &err);
	if (channel < 0)
		rpc_refuse(ticket, HOST_REFUSED_FULL, "%s", err.text);
	else
		reply_empty(ticket, channel);
}

/* ---- ports ---- */

/* A connection that was asked for, until process 1 has made it. */
struct connecting {
	struct supervisor *supervisor;
	struct waiting *waiting;
	struct rpc_ticket ticket;
};

static void on_connection(struct service_word *word, void *owner)
{
	struct connecting *connecting = owner;

	if (word->kind == SERVICE_CONNECTED)
		reply_empty(connecting->ticket, word->fd);
	else
		rpc_refuse(connecting->ticket, HOST_REFUSED, "%s",
			   word->err.text);
	inside_forget(connecting->supervisor, connecting->waiting);
	free(connecting);
}

static void answer_connect(struct rpc_ticket ticket, const void *message,
			   int *fd, void *owner)
{
	const struct host_port *wanted = message;
	struct supervisor *supervisor = owner;
	struct connecting *connecting;
	struct err err;

	(void)fd;
	if (!is_in(supervisor, HOST_RUNNING, ticket))
		return;
	connecting = calloc(1, sizeof(*connecting));
	if (connecting) {
		connecting->supervisor = supervisor;
		connecting->ticket = ticket;
		connecting->waiting =
			inside_wait(supervisor, on_connection, connecting);
	}
	if (connecting && connecting->waiting &&
	    service_connect(supervisor->sandbox, connecting->waiting->serial,
			    wanted->port, &err) == 0)
		return;
	rpc_refuse(ticket, HOST_REFUSED_FULL, "too many connections at once");
	if (connecting)
		inside_forget(supervisor, connecting->waiting);
	free(connecting);
}

static void answer_port(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct host_port *wanted = message;
	char text[64];
	struct host_address reply;
	struct err err;

	(void)fd;
	if (ports_open(owner, wanted->port, text, &err) < 0) {
		rpc_refuse(ticket, HOST_REFUSED_FULL, "%s", err.text);
		return;
	}
	reply.address = bytes_str(text);
	rpc_reply(ticket, &host_address_schema, &reply, -1);
}

static void answer_metrics(struct rpc_ticket ticket, const void *message,
			   int *fd, void *owner)
{
	struct host_metrics metrics;
	struct err err;

	(void)message;
	(void)fd;
	if (metrics_read(owner, &metrics, &err) < 0)
		rpc_refuse(ticket, HOST_REFUSED, "%s", err.text);
	else
		rpc_reply(ticket, &host_metrics_schema, &metrics, -1);
}

static void answer_isolate(struct rpc_ticket ticket, const void *message,
			   int *fd, void *owner)
{
	if (is_in(owner, HOST_RUNNING, ticket))
		isolate_answer(ticket, message, fd, owner);
}

static const struct rpc_permit permits[] = {
	{MSG_SUPERVISOR_ISOLATE, &host_isolate_schema, answer_isolate, false,
	 0},
	{MSG_SUPERVISOR_TAKE, &wire_empty_schema, ahead_answer, true, 0},
	{MSG_SUPERVISOR_METRICS, &wire_empty_schema, answer_metrics, false, 0},
	{MSG_SUPERVISOR_SHOW, &wire_empty_schema, answer_show, false, 0},
	{MSG_SUPERVISOR_END, &supervisor_end_schema, answer_end, false, 0},
	{MSG_SUPERVISOR_PAUSE, &wire_empty_schema, answer_pause, false, 0},
	{MSG_SUPERVISOR_RESUME, &wire_empty_schema, answer_resume, false, 0},
	{MSG_SUPERVISOR_RENEW, &host_renew_schema, answer_renew, false, 0},
	{MSG_SUPERVISOR_CHANNEL, &host_channel_schema, answer_channel, false,
	 PERMIT_RATE},
	{MSG_SUPERVISOR_CONNECT, &host_port_schema, answer_connect, false,
	 PERMIT_RATE},
	{MSG_SUPERVISOR_PORT, &host_port_schema, answer_port, false, 0},
};

/* ---- daemons ---- */

static void on_closed(struct rpc *rpc, const char *why, void *owner)
{
	struct supervisor *supervisor = owner;

	log_info("the daemon is away: %s", why);
	if (supervisor->daemon == rpc)
		supervisor->daemon = NULL;
}

/* The newest is the one that counts: there is one daemon. */
static int serve(struct supervisor *supervisor, int fd, struct err *err)
{
	const struct rpc_config config = {
		.permits = permits,
		.permit_count = ARRAY_SIZE(permits),
		.owner = supervisor,
		.rate_code = HOST_REFUSED_FULL,
		.on_closed = on_closed,
	};
	struct rpc *rpc = rpc_new(supervisor->loop, fd, &config, err);

	if (!rpc)
		return -1;
	if (supervisor->daemon)
		rpc_close(supervisor->daemon);
	supervisor->daemon = rpc;
	again_tell_unheard(supervisor);
	return 0;
}

static void on_accept(int fd, const struct sockaddr_storage *peer,
		      const struct sockaddr_storage *original,
		      bool was_redirected, void *owner)
{
	struct ucred who = {0};
	socklen_t size = sizeof(who);
	struct err err;

	(void)peer;
	(void)original;
	(void)was_redirected;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0 ||
	    who.uid != geteuid()) {
		log_warn("user %u is not the daemon", who.uid);
		(void)close(fd);
		return;
	}
	if (serve(owner, fd, &err) < 0)
		log_warn("serve a daemon: %s", err.text);
}

int answers_open(struct supervisor *supervisor, int listener, int daemon,
		 struct err *err)
{
	supervisor->listener = io_listen(supervisor->loop, listener, on_accept,
					 supervisor, err);
	if (!supervisor->listener)
		return -1;
	return daemon < 0 ? 0 : serve(supervisor, daemon, err);
}

void answers_close(struct supervisor *supervisor)
{
	if (supervisor->listener)
		io_listener_free(supervisor->listener);
	if (supervisor->daemon)
		rpc_close(supervisor->daemon);
	supervisor->listener = NULL;
	supervisor->daemon = NULL;
}
