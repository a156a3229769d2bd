#include <stdbool.h>
#include <sys/socket.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "gateway/warden/warden.h"

/* The kernel doubles it, for what it takes itself. */
#define LEDGER_SOCKET_BYTES (512 * 1024)

/* Which two kinds of process get a channel. Everything else cannot talk. */
static const struct {
	enum role a, b;
} wires[] = {
	{ROLE_EDGE, ROLE_MINTER},    {ROLE_EDGE, ROLE_DIALER},
	{ROLE_EDGE, ROLE_COURIER},   {ROLE_EDGE, ROLE_LEDGER},
	{ROLE_COURIER, ROLE_VAULT},  {ROLE_COURIER, ROLE_LEDGER},
	{ROLE_VAULT, ROLE_LEDGER},   {ROLE_CONTROL, ROLE_LEDGER},
	{ROLE_CONTROL, ROLE_VAULT},  {ROLE_CONTROL, ROLE_MINTER},
	{ROLE_DOOR, ROLE_EDGE},	     {ROLE_DIALER, ROLE_COURIER},
	{ROLE_VAULT, ROLE_EXCHANGE}, {ROLE_EXCHANGE, ROLE_DIALER},
};

bool keeps_session(const struct child *child,
		   const struct warden_session *session)
{
	switch (child->role) {
	case ROLE_MINTER:
	case ROLE_DIALER:
	case ROLE_COURIER:
	case ROLE_VAULT:
		return true;
	case ROLE_EDGE:
		return child->session == session;
	case ROLE_DOOR:
		return session->package->session.has_proxy;
	case ROLE_WARDEN:
	case ROLE_PACKCHECK:
	case ROLE_SCRIPT:
	case ROLE_FRAMER:
	case ROLE_EXCHANGE:
	case ROLE_LEDGER:
	case ROLE_CONTROL:
	case ROLE_MAX:
	default:
		return false;
	}
}

/* To the edge of a session that is not for it, the door has no way. */
static bool is_open_to_door(const struct child *a, const struct child *b)
{
	const struct child *edge = a->role == ROLE_EDGE ? a : b;

	return edge->session && keeps_session(a == edge ? b : a, edge->session);
}

static bool is_wired(const struct child *a, const struct child *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(wires); i++)
		if ((wires[i].a == a->role && wires[i].b == b->role) ||
		    (wires[i].a == b->role && wires[i].b == a->role))
			return wires[i].a != ROLE_DOOR || is_open_to_door(a, b);
	return false;
}

static int tell_peer(struct child *to, const struct child *peer, int fd,
		     struct err *err)
{
	const struct msg_peer message = {
		.role = (uint8_t)peer->role,
		.session = bytes_str(peer->session ? peer->session->id : ""),
	};

	return rpc_tell(to->rpc, MSG_PEER, &msg_peer_schema, &message, fd, err);
}

/* What an edge told is safe from its end once the socket has it: so that it
 * rarely keeps any, there is room for what comes while the ledger commits. Who
 * may not have as much gets what the host allows everybody. */
static void widen(int end, const struct child *from, const struct child *to)
{
	const int bytes = LEDGER_SOCKET_BYTES;

	if (from->role != ROLE_EDGE || to->role != ROLE_LEDGER)
		return;
	if (setsockopt(end, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)) <
	    0)
		(void)setsockopt(end, SOL_SOCKET, SO_SNDBUF, &bytes,
				 sizeof(bytes));
}

static int wire_pair(struct child *a, struct child *b, struct err *err)
{
	auto_fd int end_a = -1, end_b = -1;
	int fds[2];

	if (io_message_pair(fds, err) < 0)
		return -1;
	end_a = fds[0];
	end_b = fds[1];
	widen(end_a, a, b);
	widen(end_b, b, a);
	if (tell_peer(a, b, end_a, err) < 0)
		return -1;
	return tell_peer(b, a, end_b, err);
}

static void own_ledger_closed(struct rpc *rpc, const char *why, void *owner)
{
	struct warden *warden = owner;

	log_warn("the ledger is away: %s", why);
	if (warden->ledger == rpc)
		warden->ledger = NULL;
}

/* The warden's own channel to the ledger: it is a peer like any other. */
static int wire_own_ledger(struct warden *warden, struct child *ledger,
			   struct err *err)
{
	const struct rpc_config config = {
		.owner = warden,
		.on_closed = own_ledger_closed,
	};
	const struct msg_peer message = {.role = ROLE_WARDEN};
	auto_fd int theirs = -1;
	int fds[2];

	if (warden->ledger)
		rpc_close(warden->ledger);
	warden->ledger = NULL;
	if (io_message_pair(fds, err) < 0)
		return -1;
	theirs = fds[1];
	warden->ledger = rpc_new(warden->loop, fds[0], &config, err);
	if (!warden->ledger)
		return -1;
	if (rpc_tell(ledger->rpc, MSG_PEER, &msg_peer_schema, &message, theirs,
		     err) < 0)
		return -1;
	warden_records_flush(warden);
	return 0;
}

/* What the door learns of a session: whose lease it is, and until when. */
static int seal_for_door(const struct warden_session *session, struct err *err)
{
	const struct session_package *of = &session->package->session;
	const struct session_package known = {
		.id = of->id,
		.created_ms = of->created_ms,
		.expires_ms = of->expires_ms,
		.lease_hash = of->lease_hash,
		.has_proxy = true,
	};

	return package_seal(&known, err);
}

int wire_session(struct child *child, const struct warden_session *session,
		 struct err *err)
{
	const struct wire_empty empty = {0};
	auto_fd int sealed = -1;

	if (child->role == ROLE_DOOR) {
		sealed = seal_for_door(session, err);
		if (sealed < 0)
			return -1;
	}
	return rpc_tell(child->rpc, MSG_SESSION_OPEN, &wire_empty_schema,
			&empty, sealed < 0 ? session->package_fd : sealed, err);
}

int wire_listener(struct child *child, const struct warden_listener *listener,
		  struct err *err)
{
	const struct msg_listener message = {.kind = (uint8_t)listener->kind};

	return rpc_tell(child->rpc, MSG_LISTENER, &msg_listener_schema,
			&message, listener->fd, err);
}

static int wire_own_session(struct child *edge, struct err *err)
{
	struct warden_session *session = edge->session;

	if (wire_session(edge, session, err) < 0)
		return -1;
	for (size_t i = 0; i < session->listener_count; i++)
		if (wire_listener(edge, &session->listeners[i], err) < 0)
			return -1;
	return 0;
}

static int wire_control(struct child *control, struct err *err)
{
	const struct warden_listener sockets[] = {
		{control->warden->control_fd, LISTENER_CONTROL},
		{control->warden->attach_fd, LISTENER_ATTACH},
	};

	for (size_t i = 0; i < ARRAY_SIZE(sockets); i++)
		if (wire_listener(control, &sockets[i], err) < 0)
			return -1;
	return 0;
}

static int wire_door(struct child *door, struct err *err)
{
	const struct warden *warden = door->warden;

	for (size_t i = 0; i < warden->proxy_count; i++) {
		const struct warden_listener listener = {warden->proxy_fds[i],
							 LISTENER_PROXY};

		if (wire_listener(door, &listener, err) < 0)
			return -1;
	}
	return 0;
}

/* Sessions first: an edge's first request must find its session known. */
static int wire_sessions(struct child *child, struct err *err)
{
	struct warden_session *session;

	DL_FOREACH(child->warden->sessions, session)
	if (!session->is_revoked && child->role != ROLE_EDGE &&
	    keeps_session(child, session) &&
	    wire_session(child, session, err) < 0)
		return -1;
	return 0;
}

static bool is_spare(const struct child *child)
{
	return child->role == ROLE_EDGE && !child->session;
}

int wire_child(struct child *child, struct err *err)
{
	struct child *other;

	/* Whom a channel speaks for is said once, when it is made. */
	if (is_spare(child))
		return 0;
	if (wire_sessions(child, err) < 0)
		return -1;
	DL_FOREACH(child->warden->children, other)
	{
		if (other == child || !other->rpc || is_spare(other) ||
		    !is_wired(child, other))
			continue;
		/* One of the two is just ending: the next one in its place is
		 * wired when it starts. */
		if (wire_pair(child, other, err) < 0)
			log_warn("wire %s and %s: %s", role_name(child->role),
				 role_name(other->role), err->text);
	}
	if (child->role == ROLE_EDGE)
		return wire_own_session(child, err);
	if (child->role == ROLE_LEDGER)
		return wire_own_ledger(child->warden, child, err);
	if (child->role == ROLE_CONTROL)
		return wire_control(child, err);
	if (child->role == ROLE_DOOR)
		return wire_door(child, err);
	return 0;
}
