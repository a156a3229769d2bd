#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "gateway/warden/warden.h"

/* Timers stand still while the host sleeps: so late is an end seen then. */
#define LOOK_MS (60 * 1000)

struct warden_session *warden_session_find(const struct warden *warden,
					   struct bytes id)
{
	struct warden_session *session;

	DL_FOREACH(warden->sessions, session)
	if (bytes_is(id, session->id))
		return session;
	return NULL;
}

/* ---- the end ---- */

/* One end that several processes must confirm. */
struct ending {
	struct warden *warden;
	char id[SESSION_ID_MAX + 1];
	struct rpc_ticket ticket;
	bool has_ticket;
	bool forget;
	bool has_credentials;
	unsigned left;
};

static void ending_done(struct ending *ending)
{
	const struct wire_empty empty = {0};
	struct warden_session *session;

	if (ending->left > 0)
		return;
	session = warden_session_find(ending->warden, bytes_str(ending->id));
	if (session && ending->forget)
		warden_session_forget(session);
	if (ending->has_ticket)
		rpc_reply(ending->ticket, &wire_empty_schema, &empty, -1);
	free(ending);
}

/* One process that was asked. */
struct closing {
	struct ending *ending;
	struct child *child; /* as long as its channel is open */
};

/* Without its edge nothing of the session flows any more. The courier may
 * still hold a token for it, and send it when it goes on: it alone is ended as
 * well, with what it does for others, so late as may be, and only when there
 * is a credential that the session could have had. */
static void give_up_on(const struct closing *closing)
{
	struct warden_session *session = warden_session_find(
		closing->ending->warden, bytes_str(closing->ending->id));

	log_warn("session %s: %s did not close it in time", closing->ending->id,
		 role_name(closing->child->role));
	if (closing->child->role == ROLE_COURIER && closing->child->pid &&
	    closing->ending->has_credentials)
		(void)kill(closing->child->pid, SIGKILL);
	if (session && session->edge)
		child_end(session->edge);
}

static void on_closed_everywhere(struct rpc_outcome *outcome, void *owner)
{
	auto_free struct closing *closing = owner;

	/* An end of the edge comes here again, for the edge: this one counts
	 * until that has returned. */
	if (outcome->err && outcome->err->code == ERR_TIMEOUT)
		give_up_on(closing);
	closing->ending->left--;
	ending_done(closing->ending);
}

static void ask_close(struct ending *ending, struct child *child,
		      struct bytes reason)
{
	const struct msg_session_ref message = {
		.id = bytes_str(ending->id),
		.reason = reason,
	};
	auto_free struct closing *closing = calloc(1, sizeof(*closing));
	const struct rpc_call call = {
		.type = MSG_SESSION_CLOSE,
		.schema = &msg_session_ref_schema,
		.message = &message,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = child->role == ROLE_EDGE ? SESSION_EDGE_CLOSE_MS
						       : SESSION_CLOSE_MS,
		.on_outcome = on_closed_everywhere,
		.owner = closing,
	};
	struct err err;

	if (!closing) {
		log_warn("session %s: memory is out", ending->id);
		return;
	}
	*closing = (struct closing){ending, child};
	if (rpc_ask(child->rpc, &call, NULL, &err) < 0) {
		log_warn("session %s: %s", ending->id, err.text);
		return;
	}
	ending->left++;
	(void)take_ptr(&closing);
}

static void record_end(struct warden_session *session, struct bytes reason)
{
	char detail[64];

	/* It was never recorded as created. */
	if (!session->edge)
		return;
	(void)snprintf(detail, sizeof(detail), "%.*s", BYTES_ARGS(reason));
	warden_record(session->warden, RECORD_SESSION_ENDED, session->edge,
		      detail);
}

/* An edge that still starts has nothing open: where it goes anyway, nobody
 * waits for it. */
static bool must_close(const struct ending *ending,
		       const struct warden_session *session,
		       const struct child *child)
{
	if (!child->rpc || !keeps_session(child, session))
		return false;
	return child->is_ready || child->role != ROLE_EDGE || !ending->forget;
}

void warden_session_end(struct warden_session *session, struct bytes reason,
			const struct rpc_ticket *ticket)
{
	struct ending *ending = calloc(1, sizeof(*ending));
	struct child *child;

	if (!ending) {
		warden_session_forget(session);
		return;
	}
	ending->warden = session->warden;
	ending->forget = bytes_is(reason, "ended");
	ending->has_credentials =
		session->had_credentials ||
		session->package->session.scope.bindings_count > 0;
	memcpy(ending->id, session->id, sizeof(ending->id));
	if (ticket) {
		ending->ticket = *ticket;
		ending->has_ticket = true;
		rpc_ticket_hold(*ticket);
	}
	record_end(session, reason);
	session->is_revoked = true;
	ending->left = 1; /* ours: not done before everyone was asked */
	DL_FOREACH(session->warden->children, child)
	if (must_close(ending, session, child))
		ask_close(ending, child, reason);
	io_timer_set(session->end_timer, REVOKED_EDGE_LINGER_MS);
	ending->left--;
	ending_done(ending);
}

void warden_session_forget(struct warden_session *session)
{
	struct warden *warden = session->warden;
	struct child *child, *next;

	/* First of all: what ends with its children may want to forget it as
	 * well. */
	DL_DELETE(warden->sessions, session);
	warden->session_count--;
	/* Its edge, and what still checks a pack of it. */
	DL_FOREACH_SAFE(warden->children, child, next)
	if (child->session == session)
		child_end(child);
	for (size_t i = 0; i < session->listener_count; i++)
		(void)close(session->listeners[i].fd);
	io_timer_free(session->end_timer);
	(void)close(session->package_fd);
	package_free(session->package);
	free(session);
	warden_idle_check(warden);
}

static void set_expiry(struct warden_session *session)
{
	uint64_t now = clock_boot_ms();
	uint64_t end = session->end_ms;
	uint64_t left = end > now ? end - now : 0;

	io_timer_set(session->end_timer,
		     left > LOOK_MS ? LOOK_MS : (unsigned)left + 1);
}

/* From here on the clock of the day may be set as anybody likes. */
static void know_end(struct warden_session *session)
{
	uint64_t now = clock_wall_ms();
	uint64_t expires = session->package->session.expires_ms;

	session->end_ms = clock_boot_ms() + (expires > now ? expires - now : 0);
}

static void on_end_timer(void *owner)
{
	struct warden_session *session = owner;

	if (session->is_revoked)
		warden_session_forget(session);
	else if (warden_session_is_over(session))
		warden_session_end(session, bytes_str("expired"), NULL);
	else
		set_expiry(session);
}

/* ---- the beginning ---- */

static struct warden_session *
session_new(struct warden *warden, struct package *package, int package_fd)
{
	struct warden_session *session = calloc(1, sizeof(*session));
	struct bytes id = package->session.id;

	if (!session)
		return NULL;
	session->warden = warden;
	session->package = package;
	session->package_fd = package_fd;
	memcpy(session->id, id.data, id.len);
	know_end(session);
	session->end_timer = io_timer_new(warden->loop, on_end_timer, session);
	if (!session->end_timer) {
		free(session);
		return NULL;
	}
	DL_PREPEND(warden->sessions, session);
	warden->session_count++;
	return session;
}

static int tell_keepers(struct warden_session *session, struct err *err)
{
	struct child *child;

	DL_FOREACH(session->warden->children, child)
	if (child->rpc && keeps_session(child, session) &&
	    wire_session(child, session, err) < 0)
		return -1;
	return 0;
}

/* Another user than the gateway's own must not take what all have. */
static bool has_room_for(const struct warden *warden, uid_t owner)
{
	const struct warden_session *session;
	size_t own = 0;

	if (owner == 0 || owner == geteuid())
		return true;
	DL_FOREACH(warden->sessions, session)
	own += session->package->session.owner_uid == owner;
	return own < (warden->config.sessions_max + 1) / 2;
}

/* A lease is one session's: one that is made anew has that of the one before,
 * which must not be there any more. */
static bool is_known(const struct warden *warden,
		     const struct session_package *created)
{
	const struct warden_session *session;

	DL_FOREACH(warden->sessions, session)
	if (bytes_equal(session->package->session.id, created->id) ||
	    bytes_equal(session->package->session.lease_hash,
			created->lease_hash))
		return true;
	return false;
}

static bool lives_too_long(const struct session_package *of,
			   uint64_t expires_ms)
{
	return expires_ms >
	       of->created_ms + SESSION_LIFETIME_MAX_S * UINT64_C(1000);
}

int warden_session_create(struct warden *warden, int package_fd,
			  struct err *err)
{
	struct warden_session *session;
	struct package *package;

	if (warden->session_count >= warden->config.sessions_max)
		return err_set(err, ERR_TOO_LARGE,
			       "create session: %zu are open, the limit",
			       warden->session_count);
	package = package_open(package_fd, err);
	if (!package)
		return -1;
	if (!has_room_for(warden, package->session.owner_uid)) {
		package_free(package);
		return err_set(
			err, ERR_TOO_LARGE,
			"create session: half of the limit is one user's");
	}
	if (is_known(warden, &package->session)) {
		package_free(package);
		return err_set(err, ERR_TOO_LARGE,
			       "create session: one of that id or lease is "
			       "still there");
	}
	package_fd = fcntl(package_fd, F_DUPFD_CLOEXEC, 0);
	session = package_fd < 0 ? NULL
				 : session_new(warden, package, package_fd);
	if (!session) {
		package_free(package);
		return err_system(err, "create session");
	}
	if (tell_keepers(session, err) < 0 ||
	    !(session->edge = spare_take(warden, session, err))) {
		/* Some know of it. */
		warden_session_end(session, bytes_str("ended"), NULL);
		return -1;
	}
	set_expiry(session);
	warden_record(warden, RECORD_SESSION_CREATED, session->edge, "created");
	warden_idle_check(warden);
	return 0;
}

bool warden_session_is_over(const struct warden_session *session)
{
	return session->is_revoked || clock_boot_ms() >= session->end_ms;
}

int warden_session_renew(struct warden_session *session, uint64_t expires_ms,
			 struct err *err)
{
	struct session_package *of = &session->package->session;
	uint64_t before = of->expires_ms;
	int sealed;

	if (warden_session_is_over(session))
		return err_set(err, ERR_DENIED, "the session has ended");
	if (lives_too_long(of, expires_ms))
		return err_set(err, ERR_TOO_LARGE,
			       "a session may not last longer than %d days",
			       SESSION_LIFETIME_MAX_S / (24 * 60 * 60));
	of->expires_ms = expires_ms;
	sealed = package_seal(of, err);
	if (sealed < 0) {
		of->expires_ms = before;
		return -1;
	}
	/* Who is restarted from now on gets the new one. */
	(void)close(session->package_fd);
	session->package_fd = sealed;
	know_end(session);
	set_expiry(session);
	return tell_keepers(session, err);
}

int warden_session_attach(struct warden_session *session,
			  enum listener_kind kind, int fd, struct err *err)
{
	struct warden_listener *listener;
	const int on = 1;

	if (session->is_revoked || !session->edge ||
	    session->listener_count >= LISTENERS_MAX) {
		(void)close(fd);
		return err_set(err, ERR_DENIED,
			       "attach listener: the session has ended or has "
			       "enough");
	}
	/* What is accepted inherits it; the edge itself may set nothing. A
	 * head and its body would else wait 40 ms for each other. */
	if (kind == LISTENER_TCP || kind == LISTENER_DNS_TCP)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	listener = &session->listeners[session->listener_count++];
	*listener = (struct warden_listener){fd, kind};
	/* An edge that is being restarted gets it when it is back. */
	if (!session->edge->rpc)
		return 0;
	return wire_listener(session->edge, listener, err);
}

void warden_idle_check(struct warden *warden)
{
	/* Of one that stops the timer counts its steps. */
	if (!warden->config.exit_when_idle || warden->is_draining)
		return;
	io_timer_set(warden->idle_timer,
		     warden->session_count ? 0 : warden->config.idle_ms);
}
