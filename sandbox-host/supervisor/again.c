/*
 * The gateway was started anew and knows no session of ours: another one is
 * asked for. What it may is decided there (gateway/control/again.h): the
 * record must have nothing against it. Grants, and values that were lent, were
 * the old one's and are gone.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "sandbox-host/supervisor/again.h"
#include "sandbox-host/supervisor/parts.h"
#include "sandbox-host/supervisor/secrets.h"

#define CONNECT_MS   1000
#define HEARD_MS     30000
#define STATUS_AGAIN 429 /* too many just now */
#define STATUS_NEVER 400 /* to 499, but 429: it will not change */
#define STATUS_LATER 500

/* One that was created, until it has all of our listeners. */
struct again {
	struct client client; /* holds it until then */
	struct reply session;
};

/* ---- listeners ---- */

static void list(struct sandbox_listeners *of, int *fds[4])
{
	fds[0] = &of->tcp4;
	fds[1] = &of->tcp6;
	fds[2] = &of->udp;
	fds[3] = &of->tcp_dns;
}

void again_close_listeners(struct sandbox_listeners *listeners)
{
	int *fds[4];

	list(listeners, fds);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		if (*fds[i] >= 0)
			(void)close(*fds[i]);
		*fds[i] = -1;
	}
}

static int copy_listeners(struct sandbox_listeners *to,
			  const struct sandbox_listeners *from, struct err *err)
{
	struct sandbox_listeners source = *from;
	int *froms[4], *tos[4];

	list(&source, froms);
	list(to, tos);
	for (size_t i = 0; i < ARRAY_SIZE(tos); i++)
		*tos[i] = -1;
	for (size_t i = 0; i < ARRAY_SIZE(tos); i++) {
		if (*froms[i] < 0)
			continue;
		*tos[i] = fcntl(*froms[i], F_DUPFD_CLOEXEC, 0);
		if (*tos[i] >= 0)
			continue;
		(void)err_system(err, "keep the listeners");
		again_close_listeners(to);
		return -1;
	}
	return 0;
}

int again_keep_listeners(struct supervisor *supervisor,
			 const struct sandbox_listeners *listeners,
			 struct err *err)
{
	return copy_listeners(&supervisor->listeners, listeners, err);
}

/* ---- the policy ---- */

int again_keep_policy(struct supervisor *supervisor, struct bytes text)
{
	char *copy = bytes_dup(text);

	/* The gateway knows which one held last: of an older one it makes no
	 * session. */
	if (!copy)
		return -1;
	free(supervisor->policy_text);
	supervisor->policy_text = copy;
	supervisor->wanted.policy = bytes_from(copy, text.len);
	return 0;
}

/* What we asked for ourselves (egress.c) is no news. */
static bool is_news(const struct supervisor *supervisor, struct bytes text)
{
	return text.len > 0 && !bytes_equal(text, supervisor->wanted.policy);
}

static void on_heard(struct rpc_outcome *outcome, void *owner)
{
	struct supervisor *supervisor = owner;

	if (!outcome->err)
		supervisor->changes_unheard--;
}

void again_tell_changed(struct supervisor *supervisor)
{
	const struct wire_empty empty = {0};
	const struct rpc_call call = {
		.type = MSG_SUPERVISOR_CHANGED,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = HEARD_MS,
		.on_outcome = on_heard,
		.owner = supervisor,
	};
	struct err err;

	supervisor->changes_unheard++;
	if (supervisor->daemon &&
	    rpc_ask(supervisor->daemon, &call, NULL, &err) < 0)
		events_add(supervisor, "policy", err.text);
}

void again_tell_unheard(struct supervisor *supervisor)
{
	if (supervisor->changes_unheard == 0)
		return;
	supervisor->changes_unheard = 0;
	again_tell_changed(supervisor);
}

/* Is it another one by now? What can not be read may be. */
static bool read_news(struct supervisor *supervisor)
{
	auto_type(reply_release) struct reply reply;
	struct err err = {0};
	struct bytes text;

	reply = (struct reply){0};
	if (isolate_read_policy(supervisor, &reply, &err) < 0) {
		events_add(supervisor, "policy", err.text);
		return true;
	}
	text = bytes_str(json_text(reply.json, "policy"));
	if (!is_news(supervisor, text))
		return false;
	events_add(supervisor, "policy", "what may be reached was changed");
	if (again_keep_policy(supervisor, text) < 0)
		events_add(supervisor, "policy", "no memory to keep it");
	return true;
}

void again_on_changed(void *owner)
{
	struct supervisor *supervisor = owner;

	if (!read_news(supervisor))
		return;
	/* It is not what whoever takes it asks for. */
	if (supervisor->options.is_ahead)
		life_end(supervisor, HOST_TERMINATED, "killed",
			 "its policy was changed before anybody took it");
	else
		again_tell_changed(supervisor);
}

/* ---- the session ---- */

static enum again_end never(struct err *err, enum constraint constraint,
			    enum constraint *out, const char *why)
{
	*out = constraint;
	(void)err_set(err, ERR_DENIED, "%s", why);
	return AGAIN_NEVER;
}

/* Nothing that was given to the inside is another one now. */
static bool is_same(const struct supervisor *supervisor,
		    const struct reply *session)
{
	const json_t *old = supervisor->session.json;

	return strcmp(json_text(old, "lease"),
		      json_text(session->json, "lease")) == 0 &&
	       strstr(json_text(session->json, "ca_pem"),
		      json_text(old, "ca_pem")) != NULL;
}

static enum again_end judge(const struct reply *reply,
			    enum constraint *constraint, struct err *err)
{
	if (reply_check(reply, err) == 0)
		return AGAIN_DONE;
	if (reply->status == STATUS_AGAIN || reply->status < STATUS_NEVER ||
	    reply->status >= STATUS_LATER)
		return AGAIN_WAIT;
	*constraint = CONSTRAINT_session_revoked;
	return AGAIN_NEVER;
}

/* Give it what we have of the sandbox's network. 0, or -1. */
static int attach(struct supervisor *supervisor, const char *id,
		  struct err *err)
{
	struct attachment *attachment = &supervisor->attachment;
	void (*on_lost)(void *owner) = attachment->on_lost;
	struct sandbox_listeners listeners;

	attachment_close(attachment);
	if (copy_listeners(&listeners, &supervisor->listeners, err) < 0)
		return -1;
	if (attachment_open_on(attachment, supervisor->loop, on_lost,
			       supervisor, err) < 0) {
		again_close_listeners(&listeners);
		return -1;
	}
	attachment->on_changed = again_on_changed;
	attachment->on_terms = secrets_on_terms;
	if (attachment_hold(attachment, id, err) < 0) {
		again_close_listeners(&listeners);
		return -1;
	}
	return attachment_offer(attachment, id, &listeners, err);
}

static enum again_end create(struct supervisor *supervisor, struct again *again,
			     enum constraint *constraint, struct err *err)
{
	uint64_t left_s =
		(supervisor->session_end_ms - clock_monotonic_ms()) / 1000;
	struct session_request wanted = supervisor->wanted;
	enum again_end end;

	wanted.again = json_text(supervisor->session.json, "id");
	wanted.lease = json_text(supervisor->session.json, "lease");
	wanted.ttl_s = left_s > 0 ? (unsigned)left_s : 1;
	if (client_open_within(&again->client, CONNECT_MS, err) < 0)
		return AGAIN_WAIT;
	if (gateway_ask_create(&again->client, &wanted, err) < 0 ||
	    client_receive(&again->client, "POST", &again->session, err) < 0)
		return AGAIN_WAIT;
	end = judge(&again->session, constraint, err);
	if (end != AGAIN_DONE)
		return end;
	if (!is_same(supervisor, &again->session))
		return never(err, CONSTRAINT_tls_client_failed, constraint,
			     "the gateway has another CA than the sandbox "
			     "knows");
	return attach(supervisor, json_text(again->session.json, "id"), err) < 0
		       ? AGAIN_WAIT
		       : AGAIN_DONE;
}

static enum again_end begin(struct supervisor *supervisor,
			    enum constraint *constraint, struct err *err)
{
	enum again_end end;

	if (clock_monotonic_ms() >= supervisor->session_end_ms)
		return never(err, CONSTRAINT_lease_expired, constraint,
			     "the time of its session is over");
	supervisor->again = calloc(1, sizeof(*supervisor->again));
	if (!supervisor->again)
		return AGAIN_WAIT;
	supervisor->again->client.fd = -1;
	end = create(supervisor, supervisor->again, constraint, err);
	if (end == AGAIN_DONE)
		return AGAIN_WAIT;
	again_drop(supervisor);
	return end;
}

/* All that goes by the session's id goes by the new one. */
static enum again_end finish(struct supervisor *supervisor)
{
	struct reply old = supervisor->session;
	struct err err;

	supervisor->session = supervisor->again->session;
	supervisor->again->session = (struct reply){0};
	again_drop(supervisor);
	recorder_close(&supervisor->recorder);
	recorder_open(&supervisor->recorder,
		      json_text(supervisor->session.json, "id"));
	network_end(supervisor);
	if (network_begin(supervisor, true, &err) < 0)
		events_add(supervisor, "gateway", err.text);
	reply_release(&old);
	life_tell(supervisor);
	return AGAIN_DONE;
}

enum again_end again_try(struct supervisor *supervisor,
			 enum constraint *constraint, struct err *err)
{
	struct attachment *attachment = &supervisor->attachment;

	if (!supervisor->again)
		return begin(supervisor, constraint, err);
	if (attachment->rpc && attachment->waiting > 0)
		return AGAIN_WAIT;
	if (attachment->rpc && attachment->err.code == ERR_NONE)
		return finish(supervisor);
	again_drop(supervisor);
	return AGAIN_WAIT;
}

void again_drop(struct supervisor *supervisor)
{
	struct again *again = supervisor->again;

	if (!again)
		return;
	if (again->client.fd >= 0)
		client_close(&again->client);
	reply_release(&again->session);
	free(again);
	supervisor->again = NULL;
}
