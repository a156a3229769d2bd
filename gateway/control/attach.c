#include "gateway/control/attach.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "gateway/control/conn.h"
#include "gateway/control/secret_files.h"
#include "gateway/control/session_check.h"
#include "gateway/control/terms.h"

#define ATTACHES_PER_SECOND 20
/* Attaches that wait for room: for so long, of one channel, in all. */
#define ATTACH_LATE_MS	       10000
#define ATTACH_LATE_OF_CHANNEL 8
#define ATTACH_LATE_MAX	       2048

struct attached {
	struct control *control;
	struct rpc *rpc; /* NULL: closed, what it has is ended */
	struct who who;
	char sessions[ATTACHED_SESSIONS_MAX][SESSION_ID_MAX + 1];
	size_t session_count;
	size_t pending; /* attaches that are under way */
	struct attached *next, *prev;
};

/* One attach under way: first whose the session is, then the listener, if
 * one came. */
struct attach {
	struct attached *attached;
	struct rpc_ticket ticket;
	char id[SESSION_ID_MAX + 1];
	uint8_t kind;
	int fd;		   /* -1: it is only held */
	bool is_theirs;	   /* the session: so the warden said */
	uint64_t until_ms; /* it waits for room */
	struct attach *next, *prev;
};

static bool is_held(const struct attached *attached, const char *id)
{
	for (size_t i = 0; i < attached->session_count; i++)
		if (bytes_is(bytes_str(id), attached->sessions[i]))
			return true;
	return false;
}

static void hold(struct attached *attached, const char *id)
{
	if (is_held(attached, id))
		return;
	memcpy(attached->sessions[attached->session_count++], id,
	       SESSION_ID_MAX + 1);
}

/* ---- the end of a channel ---- */

static void free_attached(void *owner)
{
	free(owner);
}

static void end_one(struct attached *attached)
{
	struct control *control = attached->control;
	struct err err;

	while (attached->session_count > 0) {
		const char *id =
			attached->sessions[attached->session_count - 1];

		if (ask_end_session(control, bytes_str(id), &err) < 0) {
			log_debug("session %s is ended later: %s", id,
				  err.text);
			io_timer_set(control->later, CONTROL_LATER_MS);
			return;
		}
		attached->session_count--;
	}
	if (attached->pending > 0)
		return;
	DL_DELETE(control->attached, attached);
	control->attached_count--;
	if (control->channels)
		io_listener_pause(control->channels, false);
	/* Its own channel may still be reading. */
	if (io_loop_defer(control->keeper->loop, free_attached, attached) < 0)
		log_error("an attach channel was not freed");
}

void attach_end_some(struct control *control)
{
	struct attached *attached, *next;

	DL_FOREACH_SAFE(control->attached, attached, next)
	if (!attached->rpc)
		end_one(attached);
}

void attach_end_session(struct control *control, const struct who *who,
			const char *id)
{
	struct attached *attached = calloc(1, sizeof(*attached));

	if (!attached) {
		log_error("session %s is not ended before it expires", id);
		return;
	}
	attached->control = control;
	attached->who = *who;
	hold(attached, id);
	DL_APPEND(control->attached, attached);
	control->attached_count++;
	end_one(attached);
}

static void on_closed(struct rpc *rpc, const char *why, void *owner)
{
	struct attached *attached = owner;

	(void)rpc;
	log_debug("attach channel of uid %u closed: %s", attached->who.uid,
		  why);
	attached->rpc = NULL;
	end_one(attached);
}

/* ---- attach ---- */

static void attach_done(struct attach *attach)
{
	struct attached *attached = attach->attached;

	if (attach->fd >= 0)
		(void)close(attach->fd);
	free(attach);
	attached->pending--;
	if (!attached->rpc)
		end_one(attached);
}

static void refuse(struct attach *attach, enum constraint constraint,
		   const char *detail)
{
	rpc_refuse(attach->ticket, (uint16_t)constraint, "%s", detail);
	attach_done(attach);
}

static void refuse_outcome(struct attach *attach,
			   const struct rpc_outcome *outcome)
{
	const struct rpc_refusal *refusal = outcome->refusal;

	if (outcome->err->code == ERR_DENIED && refusal)
		rpc_refuse(attach->ticket, refusal->code, "%.*s",
			   BYTES_ARGS(refusal->detail));
	else
		rpc_refuse(attach->ticket, CONSTRAINT_internal, "%s",
			   outcome->err->text);
	attach_done(attach);
}

static void reply(struct attach *attach)
{
	const struct wire_empty empty = {0};

	rpc_reply(attach->ticket, &wire_empty_schema, &empty, -1);
	attach_done(attach);
}

static void on_attached(struct rpc_outcome *outcome, void *owner)
{
	struct attach *attach = owner;

	if (outcome->err)
		refuse_outcome(attach, outcome);
	else
		reply(attach);
}

static int ask_attach(struct attach *attach, struct err *err)
{
	const struct msg_attach message = {.id = bytes_str(attach->id),
					   .kind = attach->kind};
	const struct question question = {
		.role = ROLE_WARDEN,
		.type = MSG_SESSION_ATTACH,
		.schema = &msg_attach_schema,
		.message = &message,
		.fd = attach->fd,
		.reply_schema = &wire_empty_schema,
		.fn = on_attached,
		.owner = attach,
	};

	return ask_send(attach->attached->control, &question, err) ? 0 : -1;
}

static void on_session(struct rpc_outcome *outcome, void *owner);

static int ask_whose(struct attach *attach, struct err *err)
{
	const struct msg_session_query query = {.id = bytes_str(attach->id)};
	struct question question = session_question(&query);

	question.fn = on_session;
	question.owner = attach;
	return ask_send(attach->attached->control, &question, err) ? 0 : -1;
}

static int ask_next(struct attach *attach, struct err *err)
{
	return attach->is_theirs ? ask_attach(attach, err)
				 : ask_whose(attach, err);
}

/* Ask, or wait for room, behind those that do. */
static void go_on(struct attach *attach)
{
	struct control *control = attach->attached->control;
	struct err err;

	if (control->late)
		err_set(&err, ERR_TOO_LARGE, "others wait: try again");
	else if (ask_next(attach, &err) == 0)
		return;
	if (err.code != ERR_TOO_LARGE ||
	    attach->attached->pending > ATTACH_LATE_OF_CHANNEL ||
	    control->late_count == ATTACH_LATE_MAX) {
		refuse(attach, CONSTRAINT_limit_rate, err.text);
		return;
	}
	attach->until_ms =
		io_loop_now_ms(control->keeper->loop) + ATTACH_LATE_MS;
	if (!control->late)
		io_timer_set(control->later, CONTROL_LATER_MS);
	DL_APPEND(control->late, attach);
	control->late_count++;
}

void attach_ask_some(struct control *control)
{
	uint64_t now = io_loop_now_ms(control->keeper->loop);
	struct attach *attach;
	struct err err;

	while ((attach = control->late)) {
		int asked = attach->attached->rpc
				    ? ask_next(attach, &err)
				    : err_set(&err, ERR_CLOSED,
					      "the channel was closed");

		if (asked < 0 && err.code == ERR_TOO_LARGE &&
		    now < attach->until_ms) {
			io_timer_set(control->later, CONTROL_LATER_MS);
			return;
		}
		DL_DELETE(control->late, attach);
		control->late_count--;
		if (asked < 0)
			refuse(attach, CONSTRAINT_limit_rate, err.text);
	}
}

static void on_session(struct rpc_outcome *outcome, void *owner)
{
	struct attach *attach = owner;
	struct attached *attached = attach->attached;
	const struct msg_session_list *list = outcome->message;

	if (outcome->err)
		refuse_outcome(attach, outcome);
	else if (list->sessions_count == 0)
		refuse(attach, CONSTRAINT_session_revoked,
		       "there is no such session");
	else if (!attached->who.is_admin &&
		 list->sessions[0].owner_uid != attached->who.uid)
		refuse(attach, CONSTRAINT_session_revoked,
		       "this session is somebody else's");
	else if (attached->session_count == ATTACHED_SESSIONS_MAX &&
		 !is_held(attached, attach->id))
		refuse(attach, CONSTRAINT_resource_limit,
		       "this channel holds enough sessions");
	else {
		/* Before the warden is asked: should the channel close now,
		 * the session must end all the same. */
		hold(attached, attach->id);
		conns_unhold(attached->control, attach->id);
		attach->is_theirs = true;
		if (attach->fd >= 0)
			go_on(attach);
		else
			reply(attach);
	}
}

/* Which kind of socket a listener must be; NULL, or what is wrong. */
static const char *check_listener(uint8_t kind, int fd)
{
	int type = 0, is_listening = 0;
	socklen_t size = sizeof(type);

	if (kind != LISTENER_TCP && kind != LISTENER_DNS_UDP &&
	    kind != LISTENER_DNS_TCP)
		return "this kind of listener is not a session's";
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0)
		return "the descriptor is no socket";
	if (type != (kind == LISTENER_DNS_UDP ? SOCK_DGRAM : SOCK_STREAM))
		return "the socket is of another type";
	size = sizeof(is_listening);
	if (type == SOCK_STREAM && (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN,
					       &is_listening, &size) < 0 ||
				    !is_listening))
		return "the socket does not listen";
	return NULL;
}

/* Whose is it? The descriptor (-1: none) is taken. */
static void begin(struct attached *attached, struct rpc_ticket ticket,
		  const struct msg_attach *wanted, int fd)
{
	struct attach *attach = calloc(1, sizeof(*attach));

	if (!attach || wanted->id.len == 0) {
		rpc_refuse(ticket, CONSTRAINT_request_malformed, "%s",
			   attach ? "no session is named" : "no memory");
		free(attach);
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	*attach = (struct attach){.attached = attached,
				  .ticket = ticket,
				  .kind = wanted->kind,
				  .fd = fd};
	memcpy(attach->id, wanted->id.data, wanted->id.len);
	rpc_ticket_hold(ticket);
	attached->pending++;
	go_on(attach);
}

static void answer_attach(struct rpc_ticket ticket, const void *message,
			  int *fd, void *owner)
{
	const struct msg_attach *wanted = message;
	const char *wrong = check_listener(wanted->kind, *fd);

	if (wrong)
		rpc_refuse(ticket, CONSTRAINT_request_malformed, "%s", wrong);
	else
		begin(owner, ticket, wanted, take_fd(fd));
}

static void answer_hold(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct msg_session_hold *wanted = message;
	const struct msg_attach attach = {.id = wanted->id};

	(void)fd;
	begin(owner, ticket, &attach, -1);
}

static void answer_terms(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	const struct control *control = ((struct attached *)owner)->control;
	uint8_t part[DIGEST_LEN];
	auto_type(arena_release) struct arena arena;
	struct secret_files files;
	char text[TERMS_SIZE];

	(void)message;
	(void)fd;
	terms_of_config(&control->keeper->config, part);
	terms_write(part, &control->ca, text);
	arena_init(&arena, SECRET_FILES_ARENA_MAX);
	if (secret_files_list(&control->keeper->config, &arena, &files) < 0)
		rpc_refuse(ticket, CONSTRAINT_internal, "memory is out");
	else
		rpc_reply(ticket, &msg_session_terms_schema,
			  &(struct msg_session_terms){
				  .text = bytes_str(text),
				  .secret_files = files.items,
				  .secret_files_count = files.count,
			  },
			  -1);
}

void attach_tell_change(struct control *control, const char *id)
{
	const struct msg_session_hold message = {.id = bytes_str(id)};
	struct attached *attached;
	struct err err;

	DL_FOREACH(control->attached, attached)
	if (attached->rpc && is_held(attached, id) &&
	    rpc_tell(attached->rpc, MSG_SESSION_CHANGED,
		     &msg_session_hold_schema, &message, -1, &err) < 0)
		log_warn("session %s: its holder is not told of its policy: %s",
			 id, err.text);
}

void attach_tell_terms(struct control *control)
{
	const struct wire_empty empty = {0};
	struct attached *attached;
	struct err err;

	DL_FOREACH(control->attached, attached)
	if (attached->rpc && attached->session_count > 0 &&
	    rpc_tell(attached->rpc, MSG_TERMS_CHANGED, &wire_empty_schema,
		     &empty, -1, &err) < 0)
		log_warn("who holds session %s is not told of other terms: %s",
			 attached->sessions[0], err.text);
}

/* ---- the beginning ---- */

static size_t channels_max(const struct control *control)
{
	return control->keeper->config.sessions_max + CONTROL_ATTACHED_SPARE;
}

/* Half of them is the most of one user, as of sessions; the spare ones are
 * for administrators. */
static bool has_room_for(const struct control *control, const struct who *who)
{
	const struct attached *attached;
	size_t own = 0;
	size_t all = 0;

	if (who->is_admin)
		return true;
	DL_FOREACH(control->attached, attached)
	{
		own += attached->who.uid == who->uid;
		all += !attached->who.is_admin;
	}
	return own < channels_max(control) / 2 &&
	       all < channels_max(control) - CONTROL_ATTACHED_SPARE;
}

void attach_accept(struct control *control, int fd)
{
	static const struct rpc_permit permits[] = {
		{MSG_SESSION_ATTACH, &msg_attach_schema, answer_attach, true,
		 ATTACHES_PER_SECOND},
		{MSG_SESSION_HOLD, &msg_session_hold_schema, answer_hold, false,
		 ATTACHES_PER_SECOND},
		{MSG_SESSION_TERMS, &wire_empty_schema, answer_terms, false,
		 ATTACHES_PER_SECOND},
	};
	auto_fd int channel = fd;
	auto_free struct attached *attached = calloc(1, sizeof(*attached));
	const struct rpc_config config = {
		.permits = permits,
		.permit_count = ARRAY_SIZE(permits),
		.owner = attached,
		.on_closed = on_closed,
	};
	struct err err;

	if (!attached ||
	    who_of(&control->rules, fd, &attached->who, &err) < 0 ||
	    !has_room_for(control, &attached->who))
		return;
	attached->control = control;
	attached->rpc = rpc_new(control->keeper->loop, take_fd(&channel),
				&config, &err);
	if (!attached->rpc) {
		log_warn("%s", err.text);
		return;
	}
	DL_APPEND(control->attached, attached);
	if (++control->attached_count >= channels_max(control) &&
	    control->channels)
		io_listener_pause(control->channels, true);
	(void)take_ptr(&attached);
}
