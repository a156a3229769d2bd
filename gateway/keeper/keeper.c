#include "gateway/keeper/keeper.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/secret.h"
#include "gateway/keeper/records.h"

#define CONFIG_ARENA_MAX (8 * 1024 * 1024)
#define CLOSING_LOOK_MS	 2

struct keeper_peer *keeper_peer_of(const struct keeper *keeper, enum role role)
{
	struct keeper_peer *peer;

	DL_FOREACH(keeper->peers, peer)
	if (peer->role == role)
		return peer;
	return NULL;
}

struct session *keeper_peer_session(const struct keeper_peer *peer)
{
	return session_find(&peer->keeper->sessions, bytes_str(peer->session));
}

/* ---- peers ---- */

static void free_peer(void *owner)
{
	free(owner);
}

/* The peer may be in the middle of its own answer: its memory goes at the
 * end of the turn. */
static void forget_peer(struct keeper_peer *peer)
{
	struct keeper *keeper = peer->keeper;

	DL_DELETE(keeper->peers, peer);
	keeper->peer_count--;
	keeper_records_peer_closed(keeper, peer);
	if (keeper->spec->on_peer_closed)
		keeper->spec->on_peer_closed(keeper, peer);
	peer->rpc = NULL;
	if (io_loop_defer(keeper->loop, free_peer, peer) < 0)
		log_error("peer of role %s not freed", role_name(peer->role));
}

static void on_peer_waiting(void *owner)
{
	struct keeper_peer *peer = owner;

	peer->keeper->spec->on_waiting(peer->keeper, peer);
}

static void on_peer_gone(struct rpc *rpc, const char *why, void *owner)
{
	struct keeper_peer *peer = owner;

	(void)rpc;
	log_debug("channel to %s %s closed: %s", role_name(peer->role),
		  peer->session, why);
	forget_peer(peer);
}

void keeper_drop_peer(struct keeper_peer *peer, const char *why)
{
	log_warn("dropping %s %s: %s", role_name(peer->role), peer->session,
		 why);
	rpc_close(peer->rpc);
	forget_peer(peer);
}

static const struct keeper_service *service_of(const struct keeper_spec *spec,
					       enum role role)
{
	static const struct keeper_service none = {ROLE_MAX, NULL, 0};

	for (size_t i = 0; i < spec->service_count; i++)
		if (spec->services[i].role == role)
			return &spec->services[i];
	return &none;
}

static int add_peer(struct keeper *keeper, const struct msg_peer *msg, int *fd,
		    struct err *err)
{
	auto_free struct keeper_peer *peer = calloc(1, sizeof(*peer));
	const struct keeper_service *service =
		service_of(keeper->spec, (enum role)msg->role);
	struct rpc_config config = {
		.permits = service->permits,
		.permit_count = service->permit_count,
		.owner = peer,
		.rate_code = CONSTRAINT_limit_rate,
		.on_waiting = keeper->spec->on_waiting ? on_peer_waiting : NULL,
		.on_closed = on_peer_gone,
	};

	if (!peer || keeper->peer_count >= KEEPER_PEERS_MAX)
		return err_set(err, ERR_TOO_LARGE, "add peer: too many");
	peer->keeper = keeper;
	peer->role = (enum role)msg->role;
	memcpy(peer->session,
	       msg->session.data ? msg->session.data : (const uint8_t *)"",
	       msg->session.len);
	peer->rpc = rpc_new(keeper->loop, take_fd(fd), &config, err);
	if (!peer->rpc)
		return -1;
	DL_PREPEND(keeper->peers, peer);
	keeper->peer_count++;
	if (keeper->spec->on_peer)
		keeper->spec->on_peer(keeper, peer);
	keeper_records_peer_added(keeper, peer);
	(void)take_ptr(&peer);
	return 0;
}

/* ---- what the warden says ---- */

static void answer_peer(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	struct err err;

	(void)ticket;
	if (add_peer(owner, message, fd, &err) < 0)
		log_error("%s", err.text);
}

static void answer_session_open(struct rpc_ticket ticket, const void *message,
				int *fd, void *owner)
{
	struct keeper *keeper = owner;
	struct session *session;
	struct package *package;
	struct err err;

	(void)ticket;
	(void)message;
	package = package_open(*fd, &err);
	if (!package) {
		log_error("session not opened: %s", err.text);
		return;
	}
	session = session_add(&keeper->sessions, package, &err);
	if (!session) {
		package_free(package);
		log_error("session not opened: %s", err.text);
		return;
	}
	if (keeper->spec->on_session_open)
		keeper->spec->on_session_open(keeper, session);
}

static int change_session(struct keeper *keeper, int fd, struct err *err)
{
	struct package *package = package_open(fd, err);
	struct session *session;

	if (!package)
		return -1;
	session = session_change(&keeper->sessions, package);
	if (!session) {
		package_free(package);
		return err_set(err, ERR_MISSING, "there is no such session");
	}
	return keeper->spec->on_session_change
		       ? keeper->spec->on_session_change(keeper, session, err)
		       : 0;
}

static void answer_session_change(struct rpc_ticket ticket, const void *message,
				  int *fd, void *owner)
{
	const struct wire_empty empty = {0};
	struct keeper *keeper = owner;
	struct err err;

	(void)message;
	if (change_session(keeper, *fd, &err) < 0) {
		log_error("session not changed: %s", err.text);
		rpc_refuse(ticket, CONSTRAINT_internal, "%s", err.text);
		return;
	}
	keeper_records_flush(keeper);
	rpc_reply(ticket, &wire_empty_schema, &empty, -1);
}

static void on_closing(void *owner)
{
	const struct wire_empty empty = {0};
	struct keeper *keeper = owner;

	keeper_records_flush(keeper);
	if (keeper_records_are_left(keeper) &&
	    io_loop_now_ms(keeper->loop) < keeper->closing.until_ms) {
		io_timer_set(keeper->closing.timer, CLOSING_LOOK_MS);
		return;
	}
	rpc_reply(keeper->closing.ticket, &wire_empty_schema, &empty, -1);
	io_timer_free(keeper->closing.timer);
	keeper->closing.timer = NULL;
}

/* Does the answer wait for the ledger? Only an edge ends with its session. */
static bool close_later(struct keeper *keeper, struct rpc_ticket ticket)
{
	if (keeper->spec->role != ROLE_EDGE || keeper->closing.timer ||
	    !keeper_records_are_left(keeper))
		return false;
	keeper->closing.timer = io_timer_new(keeper->loop, on_closing, keeper);
	if (!keeper->closing.timer)
		return false;
	keeper->closing.ticket = ticket;
	keeper->closing.until_ms =
		io_loop_now_ms(keeper->loop) + KEEPER_CLOSE_MS;
	rpc_ticket_hold(ticket);
	io_timer_set(keeper->closing.timer, CLOSING_LOOK_MS);
	return true;
}

static void answer_session_close(struct rpc_ticket ticket, const void *message,
				 int *fd, void *owner)
{
	const struct msg_session_ref *ref = message;
	const struct wire_empty empty = {0};
	struct keeper *keeper = owner;
	struct session *session = session_find(&keeper->sessions, ref->id);

	(void)fd;
	if (session) {
		if (keeper->spec->on_session_close)
			keeper->spec->on_session_close(keeper, session,
						       ref->reason);
		session_remove(&keeper->sessions, session);
	}
	/* Who hears the answer may end this process. */
	keeper_records_flush(keeper);
	if (!close_later(keeper, ticket))
		rpc_reply(ticket, &wire_empty_schema, &empty, -1);
}

static void answer_listener(struct rpc_ticket ticket, const void *message,
			    int *fd, void *owner)
{
	const struct msg_listener *listener = message;
	struct keeper *keeper = owner;

	(void)ticket;
	if (!keeper->spec->on_listener) {
		log_error("a listener came that nobody asked for");
		return;
	}
	keeper->spec->on_listener(keeper, (enum listener_kind)listener->kind,
				  take_fd(fd));
}

/* What the one before holds may be in use: it stays. */
static void answer_config(struct rpc_ticket ticket, const void *message,
			  int *fd, void *owner)
{
	struct keeper *keeper = owner;
	struct gateway_config before = keeper->config, next;
	struct err err;

	(void)ticket;
	(void)message;
	if (gateway_config_load(*fd, &keeper->arena, &next, &err) == 0) {
		keeper->config = next;
		if (!keeper->spec->on_config ||
		    keeper->spec->on_config(keeper, &before, &err) == 0)
			return;
	}
	log_error("begin anew, for a new configuration: %s", err.text);
	io_loop_stop(keeper->loop);
}

static void answer_drain(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	struct keeper *keeper = owner;

	(void)ticket;
	(void)message;
	(void)fd;
	if (keeper->spec->on_drain)
		keeper->spec->on_drain(keeper);
	else
		io_loop_stop(keeper->loop);
}

static void on_warden_gone(struct rpc *rpc, const char *why, void *owner)
{
	struct keeper *keeper = owner;

	(void)rpc;
	log_info("the warden is gone: %s", why);
	keeper->warden = NULL;
	io_loop_stop(keeper->loop);
}

int keeper_join(struct keeper *keeper, int channel, struct err *err)
{
	static const struct rpc_permit permits[] = {
		{MSG_PEER, &msg_peer_schema, answer_peer, true, 0},
		{MSG_SESSION_OPEN, &wire_empty_schema, answer_session_open,
		 true, 0},
		{MSG_SESSION_CHANGE, &wire_empty_schema, answer_session_change,
		 true, 0},
		{MSG_SESSION_CLOSE, &msg_session_ref_schema,
		 answer_session_close, false, 0},
		{MSG_LISTENER, &msg_listener_schema, answer_listener, true, 0},
		{MSG_DRAIN, &wire_empty_schema, answer_drain, false, 0},
		{MSG_CONFIG, &wire_empty_schema, answer_config, true, 0},
	};
	const struct rpc_config config = {
		.permits = permits,
		.permit_count = ARRAY_SIZE(permits),
		.owner = keeper,
		.on_closed = on_warden_gone,
	};
	const struct wire_empty ready = {0};

	keeper->warden = rpc_new(keeper->loop, channel, &config, err);
	if (!keeper->warden)
		return -1;
	return rpc_tell(keeper->warden, MSG_READY, &wire_empty_schema, &ready,
			-1, err);
}

/* ---- life of the process ---- */

static int keeper_begin(struct keeper *keeper, struct err *err)
{
	const struct keeper_spec *spec = keeper->spec;
	struct confine_spec confine_spec = {
		.name = role_name(spec->role),
		.syscalls = spec->syscalls,
	};

	if (gateway_config_load(ROLE_FD_CONFIG, &keeper->arena, &keeper->config,
				err) < 0)
		return -1;
	(void)close(ROLE_FD_CONFIG);
	keeper->loop = io_loop_new(err);
	if (!keeper->loop)
		return -1;
	if (keeper->config.uid_base) {
		confine_spec.uid = keeper->config.uid_base + spec->role;
		confine_spec.gid = confine_spec.uid;
	}
	/* The first localtime_r() or gmtime_r() of a process, a library's
	 * too, opens /etc/localtime, and each mktime() looks at it again, if
	 * nothing says where we are: a confined one would die of it. */
	(void)setenv("TZ", "UTC0", 1);
	tzset();
	if (spec->prepare && spec->prepare(keeper, &confine_spec, err) < 0)
		return -1;
	if (confine(&confine_spec, err) < 0)
		return -1;
	if (spec->start && spec->start(keeper, err) < 0)
		return -1;
	return keeper_join(keeper, ROLE_FD_WARDEN, err);
}

/* What the ledger was told goes out first. */
static void keeper_leave(struct keeper *keeper)
{
	uint64_t until = io_loop_now_ms(keeper->loop) + KEEPER_CLOSE_MS;
	struct err err;

	keeper_records_flush(keeper);
	while (keeper->warden && keeper_peer_of(keeper, ROLE_LEDGER) &&
	       keeper_records_are_left(keeper) &&
	       io_loop_now_ms(keeper->loop) < until &&
	       io_loop_turn(keeper->loop, CLOSING_LOOK_MS, &err) == 0)
		keeper_records_flush(keeper);
}

int keeper_main(const struct keeper_spec *spec, void *owner)
{
	/* What it holds at the end of the process is no leak: it is here. */
	static struct keeper keeper;
	struct err err;

	keeper = (struct keeper){
		.spec = spec,
		.owner = owner,
		.state_fd = ROLE_FD_STATE,
	};
	log_open(role_name(spec->role), NULL);
	arena_init(&keeper.arena, CONFIG_ARENA_MAX);
	if (keeper_begin(&keeper, &err) < 0 ||
	    io_loop_run(keeper.loop, &err) < 0) {
		log_error("%s", err.text);
		return EXIT_FAILURE;
	}
	keeper_leave(&keeper);
	return EXIT_SUCCESS;
}
