/*
 * Another policy for a session that runs. Who is asked later holds the old one
 * for a moment longer: first the vault, which gives nothing for a binding that
 * is another than the courier's; the edge last, so that what it asks for by the
 * new policy is allowed by all. What only one of the two policies allows is so
 * refused meanwhile, never let through.
 *
 * A process that ends meanwhile gets the new package when it starts again. One
 * that cannot take it, or does not answer, costs the session its life: nobody
 * knows by which policy it would go on.
 */
#include "gateway/warden/change.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/digest.h"
#include "common/log.h"

struct change {
	struct warden *warden;
	char id[SESSION_ID_MAX + 1];
	struct rpc_ticket ticket;
	size_t phase;
	unsigned left;		/* to answer in this phase */
	char why[ERR_TEXT_MAX]; /* it failed; "": it did not */
};

/* How many phases there are, and which one that role is asked in. */
#define PHASES 4
static size_t phase_of(enum role role)
{
	switch (role) {
	case ROLE_VAULT:
		return 0;
	case ROLE_MINTER:
	case ROLE_DIALER:
		return 1;
	case ROLE_COURIER:
		return 2;
	case ROLE_EDGE:
		return 3;
	/* What the door knows of it stays. */
	case ROLE_DOOR:
	case ROLE_WARDEN:
	case ROLE_PACKCHECK:
	case ROLE_SCRIPT:
	case ROLE_FRAMER:
	case ROLE_EXCHANGE:
	case ROLE_LEDGER:
	case ROLE_CONTROL:
	case ROLE_MAX:
	default:
		return PHASES;
	}
}

static void change_done(struct change *change, struct warden_session *session)
{
	const struct msg_session_changed changed = {.holds = true};

	if (session)
		session->is_changing = false;
	if (!session || session->is_revoked)
		rpc_refuse(change->ticket, CONSTRAINT_session_revoked,
			   "the session has ended");
	else if (change->why[0]) {
		log_error("session %s: its policy was not changed everywhere: "
			  "%s",
			  change->id, change->why);
		rpc_refuse(change->ticket, CONSTRAINT_internal,
			   "the session was ended: %s", change->why);
		warden_session_end(session, bytes_str("revoked"), NULL);
	} else {
		session->had_credentials = false;
		rpc_reply(change->ticket, &msg_session_changed_schema, &changed,
			  -1);
	}
	free(change);
}

static void go_on(struct change *change);

static void on_changed(struct rpc_outcome *outcome, void *owner)
{
	struct change *change = owner;

	if (outcome->refusal)
		(void)snprintf(change->why, sizeof(change->why), "%.*s",
			       BYTES_ARGS(outcome->refusal->detail));
	else if (outcome->err && outcome->err->code == ERR_TIMEOUT)
		(void)snprintf(change->why, sizeof(change->why),
			       "a process did not answer");
	change->left--;
	go_on(change);
}

static void ask(struct change *change, struct child *child,
		const struct warden_session *session)
{
	const struct wire_empty empty = {0};
	const struct rpc_call call = {
		.type = MSG_SESSION_CHANGE,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = session->package_fd,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = SESSION_CHANGE_MS,
		.on_outcome = on_changed,
		.owner = change,
	};
	struct err err;

	if (rpc_ask(child->rpc, &call, NULL, &err) == 0)
		change->left++;
	else if (err.code != ERR_CLOSED)
		(void)snprintf(change->why, sizeof(change->why), "%s",
			       err.text);
}

static void ask_phase(struct change *change,
		      const struct warden_session *session)
{
	struct child *child;

	DL_FOREACH(change->warden->children, child)
	if (child->rpc && phase_of(child->role) == change->phase &&
	    keeps_session(child, session))
		ask(change, child, session);
}

static void go_on(struct change *change)
{
	while (change->left == 0) {
		struct warden_session *session = warden_session_find(
			change->warden, bytes_str(change->id));

		if (!session || session->is_revoked || change->why[0] ||
		    change->phase == PHASES) {
			change_done(change, session);
			return;
		}
		change->left = 1; /* ours: answers may come inside */
		ask_phase(change, session);
		change->phase++;
		change->left--;
	}
}

/* All but the policy is the session's, whatever the package says. */
static int put_package(struct warden_session *session,
		       const struct session_package *wanted, struct err *err)
{
	struct session_package to = session->package->session;
	auto_fd int sealed = -1;
	struct package *package;

	to.policy_name = wanted->policy_name;
	to.policy_text = wanted->policy_text;
	to.scope = wanted->scope;
	to.permitted = wanted->permitted;
	sealed = package_seal(&to, err);
	package = sealed < 0 ? NULL : package_open(sealed, err);
	if (!package)
		return -1;
	/* Until all have answered, the courier may still hold one of them. */
	session->had_credentials =
		session->package->session.scope.bindings_count > 0;
	package_free(session->package);
	session->package = package;
	(void)close(session->package_fd);
	session->package_fd = take_fd(&sealed);
	return 0;
}

bool warden_session_has(const struct warden_session *session,
			struct bytes digest)
{
	uint8_t hash[DIGEST_LEN];

	digest_sha256(session->package->session.policy_text,
		      bytes_from(NULL, 0), hash);
	return bytes_equal(digest, bytes_from(hash, sizeof(hash)));
}

int warden_session_change(struct warden_session *session, int package_fd,
			  struct rpc_ticket ticket, struct err *err)
{
	auto_free struct change *change = calloc(1, sizeof(*change));
	struct package *wanted;
	int put;

	if (!change)
		return err_system(err, "change policy");
	if (warden_session_is_over(session))
		return err_set(err, ERR_DENIED, "the session has ended");
	if (session->is_changing)
		return err_set(err, ERR_TOO_LARGE,
			       "its policy is being changed just now");
	wanted = package_open(package_fd, err);
	if (!wanted)
		return -1;
	put = put_package(session, &wanted->session, err);
	package_free(wanted);
	if (put < 0)
		return -1;
	change->warden = session->warden;
	memcpy(change->id, session->id, sizeof(change->id));
	change->ticket = ticket;
	rpc_ticket_hold(ticket);
	session->is_changing = true;
	go_on(take_ptr(&change));
	return 0;
}
