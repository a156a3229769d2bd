#include "gateway/door/door.h"

#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"

struct session *door_find(const struct door *door, struct bytes lease)
{
	struct session *session, *next, *found = NULL;

	HASH_ITER (hh, door->keeper->sessions.head, session, next)
		if (session_lease_is(session, lease))
			found = session;
	if (found && session_is_expired(found, clock_wall_ms()))
		return NULL;
	return found;
}

/* ---- peers ---- */

/* A session's owner is the channel to its edge. */
static void on_peer(struct keeper *keeper, struct keeper_peer *peer)
{
	struct session *session = keeper_peer_session(peer);

	(void)keeper;
	if (peer->role == ROLE_EDGE && session)
		session->owner = peer;
}

static void on_peer_closed(struct keeper *keeper, struct keeper_peer *peer)
{
	struct session *session = keeper_peer_session(peer);

	(void)keeper;
	if (session && session->owner == peer)
		session->owner = NULL;
}

/* ---- life ---- */

static void on_listener(struct keeper *keeper, enum listener_kind kind, int fd)
{
	struct door *door = keeper->owner;
	auto_fd int socket = fd;
	struct io_listener *listener;
	struct err err;

	if (kind != LISTENER_PROXY ||
	    door->listener_count >= CONFIG_PROXY_LISTENERS_MAX) {
		log_error("a listener came that nobody asked for");
		return;
	}
	listener = io_listen(keeper->loop, take_fd(&socket), door_accept, door,
			     &err);
	if (!listener) {
		log_error("%s", err.text);
		return;
	}
	door->listeners[door->listener_count++] = listener;
}

static int prepare(struct keeper *keeper, struct confine_spec *confine,
		   struct err *err)
{
	struct door *door = keeper->owner;

	(void)confine;
	(void)err;
	door->keeper = keeper;
	return 0;
}

/* Beside confine's base set. No socket, connect, open or exec. */
static const char *const syscalls[] = {
	"accept4", "getsockname", "getsockopt", "shutdown", NULL,
};

const struct keeper_spec door_spec = {
	.role = ROLE_DOOR,
	.prepare = prepare,
	.syscalls = syscalls,
	.on_peer = on_peer,
	.on_peer_closed = on_peer_closed,
	.on_listener = on_listener,
};
