#include <signal.h>
#include <unistd.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "gateway/flow/share.h"
#include "gateway/warden/change.h"
#include "gateway/warden/configure.h"
#include "gateway/warden/export.h"
#include "gateway/warden/packchecks.h"
#include "gateway/warden/source.h"

/* In every answer channel_owner is the child that asks: which requests it
 * may make is decided by its role first. */

static bool is_role(const struct child *child, enum role role,
		    struct rpc_ticket ticket)
{
	if (child->role == role)
		return true;
	rpc_refuse(ticket, CONSTRAINT_internal, "not a request of %s",
		   role_name(child->role));
	log_error("%s asked for what it may not", role_name(child->role));
	return false;
}

static void refuse_err(struct rpc_ticket ticket, const struct err *err)
{
	enum constraint constraint = CONSTRAINT_internal;

	if (err->code == ERR_TOO_LARGE)
		constraint = CONSTRAINT_resource_limit;
	else if (err->code == ERR_DENIED)
		constraint = CONSTRAINT_session_revoked;
	rpc_refuse(ticket, (uint16_t)constraint, "%s", err->text);
}

static void reply_empty(struct rpc_ticket ticket, int fd)
{
	const struct wire_empty empty = {0};

	rpc_reply(ticket, &wire_empty_schema, &empty, fd);
}

static void answer_ready(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	struct child *child = owner;

	(void)ticket;
	(void)message;
	(void)fd;
	child->is_ready = true;
	child->has_served = true;
}

/* ---- of an edge ---- */

/* One session must not take what all have. */
size_t children_count(const struct warden *warden, enum role role,
		      const struct warden_session *session)
{
	size_t count = 0;
	struct child *child;

	DL_FOREACH(warden->children, child)
	if (child->role == role && (!session || child->session == session))
		count++;
	return count;
}

void child_start_for(struct child *asker, struct warden_session *session,
		     enum role role, struct rpc_ticket ticket)
{
	struct msg_peer peer = {
		.role = (uint8_t)asker->role,
		.session = bytes_str(session->id),
	};
	auto_fd int ours = -1, theirs = -1;
	struct child *child;
	struct err err;
	int fds[2];

	child = role == ROLE_PACKCHECK
			? packchecks_new(asker->warden, session, &err)
			: child_add(asker->warden, role, session, &err);
	if (!child || io_message_pair(fds, &err) < 0) {
		if (child)
			child_end(child);
		rpc_refuse(ticket, CONSTRAINT_internal, "%s", err.text);
		return;
	}
	ours = fds[0];
	theirs = fds[1];
	if (rpc_tell(child->rpc, MSG_PEER, &msg_peer_schema, &peer, theirs,
		     &err) < 0) {
		child_end(child);
		rpc_refuse(ticket, CONSTRAINT_internal, "%s", err.text);
		return;
	}
	reply_empty(ticket, ours);
}

static bool has_session(struct child *edge, struct rpc_ticket ticket)
{
	if (!is_role(edge, ROLE_EDGE, ticket))
		return false;
	if (!edge->session)
		rpc_refuse(ticket, CONSTRAINT_internal, "without a session");
	return edge->session != NULL;
}

static void answer_packcheck_start(struct rpc_ticket ticket,
				   const void *message, int *fd, void *owner)
{
	struct child *edge = owner;

	(void)message;
	(void)fd;
	if (has_session(edge, ticket))
		packchecks_ask(edge, ticket);
}

static void answer_packcheck_soon(struct rpc_ticket ticket, const void *message,
				  int *fd, void *owner)
{
	struct child *edge = owner;

	(void)message;
	(void)fd;
	if (has_session(edge, ticket))
		packchecks_soon(edge->warden);
}

static void answer_script_start(struct rpc_ticket ticket, const void *message,
				int *fd, void *owner)
{
	struct child *edge = owner;

	(void)message;
	(void)fd;
	if (!has_session(edge, ticket))
		return;
	if (children_count(edge->warden, ROLE_SCRIPT, edge->session) >=
	    SCRIPTS_OF_SESSION_MAX)
		rpc_refuse(ticket, CONSTRAINT_script_failed,
			   "the last script is still ending");
	else
		child_start_for(edge, edge->session, ROLE_SCRIPT, ticket);
}

/* ---- of the courier ---- */

static void answer_framer_start(struct rpc_ticket ticket, const void *message,
				int *fd, void *owner)
{
	const struct msg_session_ref *ref = message;
	struct child *courier = owner;
	struct warden *warden = courier->warden;
	struct warden_session *session;

	(void)fd;
	if (!is_role(courier, ROLE_COURIER, ticket))
		return;
	session = warden_session_find(warden, ref->id);
	if (!session || session->is_revoked)
		rpc_refuse(ticket, CONSTRAINT_session_revoked,
			   "the session has ended");
	else if (!share_has_room(children_count(warden, ROLE_FRAMER, session),
				 FRAMERS_OF_SESSION_MAX,
				 children_count(warden, ROLE_FRAMER, NULL),
				 FRAMERS_MAX))
		rpc_refuse(ticket, CONSTRAINT_limit_connections,
			   "too many upstreams speak HTTP/2");
	else
		child_start_for(courier, session, ROLE_FRAMER, ticket);
}

/* ---- of the vault ---- */

static void answer_source_open(struct rpc_ticket ticket, const void *message,
			       int *fd, void *owner)
{
	const struct msg_source_ref *ref = message;
	struct child *vault = owner;

	(void)fd;
	if (is_role(vault, ROLE_VAULT, ticket))
		warden_source_open(vault->warden, ref->name, ticket);
}

/* ---- of the ledger ---- */

static void answer_export_open(struct rpc_ticket ticket, const void *message,
			       int *fd, void *owner)
{
	const struct msg_export_ref *ref = message;
	struct child *ledger = owner;

	(void)fd;
	if (is_role(ledger, ROLE_LEDGER, ticket))
		warden_export_open(ledger->warden, ref->path, ticket);
}

/* ---- of control ---- */

static void answer_session_create(struct rpc_ticket ticket, const void *message,
				  int *fd, void *owner)
{
	struct child *control = owner;
	struct err err;

	(void)message;
	if (!is_role(control, ROLE_CONTROL, ticket))
		return;
	if (warden_session_create(control->warden, *fd, &err) < 0)
		refuse_err(ticket, &err);
	else
		reply_empty(ticket, -1);
}

static struct warden_session *session_named(const struct child *control,
					    struct bytes id,
					    struct rpc_ticket ticket)
{
	struct warden_session *session =
		warden_session_find(control->warden, id);

	if (!session)
		rpc_refuse(ticket, CONSTRAINT_session_revoked,
			   "there is no session %.*s", BYTES_ARGS(id));
	return session;
}

static void answer_session_revoke(struct rpc_ticket ticket, const void *message,
				  int *fd, void *owner)
{
	const struct msg_session_ref *ref = message;
	struct child *child = owner;
	struct warden_session *session;

	(void)fd;
	/* The courier: where a policy says that a session stops. */
	if (child->role != ROLE_COURIER &&
	    !is_role(child, ROLE_CONTROL, ticket))
		return;
	session = session_named(child, ref->id, ticket);
	if (!session)
		return;
	if (child->role == ROLE_COURIER && session->is_revoked)
		reply_empty(ticket, -1);
	else
		warden_session_end(session, ref->reason, &ticket);
}

static void answer_session_renew(struct rpc_ticket ticket, const void *message,
				 int *fd, void *owner)
{
	const struct msg_session_renew *renew = message;
	struct child *control = owner;
	struct warden_session *session;
	struct err err;

	(void)fd;
	if (!is_role(control, ROLE_CONTROL, ticket))
		return;
	session = session_named(control, renew->id, ticket);
	if (!session)
		return;
	if (warden_session_renew(session, renew->expires_ms, &err) < 0)
		refuse_err(ticket, &err);
	else
		reply_empty(ticket, -1);
}

static void answer_session_change(struct rpc_ticket ticket, const void *message,
				  int *fd, void *owner)
{
	const struct msg_session_change *change = message;
	const struct msg_session_changed another = {.holds = false};
	struct child *control = owner;
	struct warden_session *session;
	struct package *package;
	struct err err;

	if (!is_role(control, ROLE_CONTROL, ticket))
		return;
	package = package_open(*fd, &err);
	if (!package) {
		refuse_err(ticket, &err);
		return;
	}
	session = session_named(control, package->session.id, ticket);
	package_free(package);
	if (!session)
		return;
	if (!warden_session_has(session, change->before))
		rpc_reply(ticket, &msg_session_changed_schema, &another, -1);
	else if (warden_session_change(session, *fd, ticket, &err) < 0)
		refuse_err(ticket, &err);
}

static void answer_session_package(struct rpc_ticket ticket,
				   const void *message, int *fd, void *owner)
{
	const struct msg_session_ref *ref = message;
	struct child *control = owner;
	struct warden_session *session;

	(void)fd;
	if (!is_role(control, ROLE_CONTROL, ticket))
		return;
	session = session_named(control, ref->id, ticket);
	if (session)
		reply_empty(ticket, session->package_fd);
}

static void answer_session_attach(struct rpc_ticket ticket, const void *message,
				  int *fd, void *owner)
{
	const struct msg_attach *attach = message;
	struct child *control = owner;
	struct warden_session *session;
	struct err err;

	if (!is_role(control, ROLE_CONTROL, ticket))
		return;
	session = session_named(control, attach->id, ticket);
	if (!session)
		return;
	if (warden_session_attach(session, (enum listener_kind)attach->kind,
				  take_fd(fd), &err) < 0)
		refuse_err(ticket, &err);
	else
		reply_empty(ticket, -1);
}

#define SESSIONS_SHOWN_MAX 100
/* Of a message: one more row has room beside it. */
#define SESSIONS_SHOWN_BYTES (48 * 1024)
#define SESSION_ROW_BYTES    100 /* besides its texts */

static bool is_asked_for(const struct session_package *session,
			 const struct msg_session_query *query)
{
	if (query->id.len && !bytes_equal(query->id, session->id))
		return false;
	return !query->of_owner || query->owner_uid == session->owner_uid;
}

static struct msg_session session_row(const struct warden_session *session)
{
	const struct session_package *of = &session->package->session;
	const struct child *edge = session->edge;

	return (struct msg_session){
		.id = of->id,
		.repo = bytes_slice(of->repo, 0, 256),
		.branch = bytes_slice(of->branch, 0, 128),
		.policy_name = bytes_slice(of->policy_name, 0, 64),
		.owner_uid = of->owner_uid,
		.created_ms = of->created_ms,
		.expires_ms = of->expires_ms,
		.edge_pid = edge ? (uint32_t)edge->pid : 0,
		.edge_restarts = edge ? edge->restarts : 0,
		.is_revoked = session->is_revoked,
		.signs = of->scope.signs,
		.permitted = of->permitted,
	};
}

static size_t row_bytes(const struct msg_session *row)
{
	return SESSION_ROW_BYTES + row->repo.len + row->branch.len +
	       row->policy_name.len + row->permitted.len;
}

static void answer_session_list(struct rpc_ticket ticket, const void *message,
				int *fd, void *owner)
{
	static struct msg_session rows[SESSIONS_SHOWN_MAX];
	const struct msg_session_query *query = message;
	struct child *control = owner;
	struct msg_session_list list = {.sessions = rows};
	struct warden_session *session;
	size_t bytes = 0;

	(void)fd;
	if (!is_role(control, ROLE_CONTROL, ticket))
		return;
	DL_FOREACH(control->warden->sessions, session)
	{
		if (!is_asked_for(&session->package->session, query))
			continue;
		list.ended += session->is_revoked;
		if (list.total++ < query->skip ||
		    list.sessions_count == SESSIONS_SHOWN_MAX ||
		    bytes > SESSIONS_SHOWN_BYTES)
			continue;
		rows[list.sessions_count] = session_row(session);
		bytes += row_bytes(&rows[list.sessions_count++]);
	}
	rpc_reply(ticket, &msg_session_list_schema, &list, -1);
}

static void answer_process_list(struct rpc_ticket ticket, const void *message,
				int *fd, void *owner)
{
	static struct msg_process rows[PROCESSES_TOLD_MAX];
	struct child *control = owner;
	const struct msg_process_query *query = message;
	struct msg_process_list list = {.processes = rows};
	struct child *child;
	uint32_t at = 1; /* the warden is the first */

	(void)fd;
	if (!is_role(control, ROLE_CONTROL, ticket))
		return;
	if (query->skip == 0)
		rows[list.processes_count++] = (struct msg_process){
			.role = ROLE_WARDEN,
			.pid = (uint32_t)getpid(),
			.is_ready = true,
		};
	DL_FOREACH(control->warden->children, child)
	{
		if (at++ < query->skip)
			continue;
		if (list.processes_count == PROCESSES_TOLD_MAX)
			break;
		rows[list.processes_count++] = (struct msg_process){
			.role = (uint8_t)child->role,
			.pid = (uint32_t)child->pid,
			.restarts = child->restarts,
			.is_ready = child->is_ready,
			.session = bytes_str(child->session ? child->session->id
							    : ""),
		};
	}
	rpc_reply(ticket, &msg_process_list_schema, &list, -1);
}

static void answer_config_show(struct rpc_ticket ticket, const void *message,
			       int *fd, void *owner)
{
	struct child *control = owner;

	(void)message;
	(void)fd;
	if (is_role(control, ROLE_CONTROL, ticket))
		configure_answer_show(control->warden, ticket);
}

static void answer_config_reload(struct rpc_ticket ticket, const void *message,
				 int *fd, void *owner)
{
	struct child *control = owner;

	(void)message;
	(void)fd;
	if (is_role(control, ROLE_CONTROL, ticket))
		configure_answer_reload(control->warden, ticket);
}

const struct rpc_permit warden_permits[] = {
	{MSG_READY, &wire_empty_schema, answer_ready, false, 0},
	{MSG_PACKCHECK_START, &wire_empty_schema, answer_packcheck_start, false,
	 100},
	{MSG_PACKCHECK_SOON, &wire_empty_schema, answer_packcheck_soon, false,
	 100},
	{MSG_SCRIPT_START, &wire_empty_schema, answer_script_start, false, 20},
	{MSG_FRAMER_START, &msg_session_ref_schema, answer_framer_start, false,
	 200},
	{MSG_SOURCE_OPEN, &msg_source_ref_schema, answer_source_open, false,
	 20000},
	{MSG_SESSION_CREATE, &wire_empty_schema, answer_session_create, true,
	 200},
	{MSG_SESSION_REVOKE, &msg_session_ref_schema, answer_session_revoke,
	 false, 1000},
	{MSG_SESSION_ATTACH, &msg_attach_schema, answer_session_attach, true,
	 1000},
	{MSG_SESSION_LIST, &msg_session_query_schema, answer_session_list,
	 false, 1000},
	{MSG_SESSION_RENEW, &msg_session_renew_schema, answer_session_renew,
	 false, 200},
	{MSG_SESSION_CHANGE, &msg_session_change_schema, answer_session_change,
	 true, 1000},
	{MSG_SESSION_PACKAGE, &msg_session_ref_schema, answer_session_package,
	 false, 1000},
	{MSG_EXPORT_OPEN, &msg_export_ref_schema, answer_export_open, false,
	 100},
	{MSG_CONFIG_SHOW, &wire_empty_schema, answer_config_show, false, 20},
	{MSG_CONFIG_RELOAD, &wire_empty_schema, answer_config_reload, false,
	 20},
	{MSG_PROCESS_LIST, &msg_process_query_schema, answer_process_list,
	 false, 100},
};
const size_t warden_permit_count = ARRAY_SIZE(warden_permits);

/* A child broke the rules of its channel, or is gone: what runs is killed,
 * and SIGCHLD does the rest. */
void warden_child_closed(struct rpc *rpc, const char *why, void *owner)
{
	struct child *child = owner;

	(void)rpc;
	log_info("channel of %s pid %d closed: %s", role_name(child->role),
		 (int)child->pid, why);
	child->rpc = NULL;
	packchecks_gone(child);
	if (child->pid && child->role != ROLE_PACKCHECK)
		(void)kill(child->pid, SIGKILL);
}
