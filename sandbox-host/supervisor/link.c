/* The gateway ends a session whose holder has gone. We hold it; when control
 * is started anew, it hears so from us. When the gateway itself was, it knows
 * no such session, and makes another one (again.c). Until then whoever connects
 * from inside waits for a moment, and is told why not from then on. */
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "sandbox-host/supervisor/again.h"
#include "sandbox-host/supervisor/parts.h"
#include "sandbox-host/supervisor/secrets.h"

static void on_lost(void *owner)
{
	struct supervisor *supervisor = owner;

	if (!supervisor->lost_ms)
		supervisor->lost_ms = clock_monotonic_ms();
	io_timer_set(supervisor->link_timer, LINK_RETRY_MS);
}

static void is_back(struct supervisor *supervisor)
{
	supervisor->lost_ms = 0;
	supervisor->is_unknown = false;
	away_end(supervisor);
	/* Nor did anybody tell us of other files meanwhile. */
	secrets_look(supervisor);
}

static void give_up(struct supervisor *supervisor, enum constraint constraint,
		    const struct err *why)
{
	char text[HOST_EVENT_MAX];

	attachment_close(&supervisor->attachment);
	(void)snprintf(text, sizeof(text),
		       "the gateway has no session for this sandbox any more: "
		       "nothing leaves it: %.300s",
		       why->text);
	events_add(supervisor, "gateway", text);
	away_begin(supervisor, constraint, why->text);
}

/* The gateway knows no such session. */
static void make_another(struct supervisor *supervisor)
{
	enum constraint constraint = CONSTRAINT_internal;
	struct err err = {0};

	switch (again_try(supervisor, &constraint, &err)) {
	case AGAIN_DONE:
		is_back(supervisor);
		events_add(supervisor, "gateway",
			   "the gateway is back: the session was made anew, "
			   "without what people had approved and values that "
			   "were lent");
		break;
	case AGAIN_NEVER:
		give_up(supervisor, constraint, &err);
		break;
	case AGAIN_WAIT:
		io_timer_set(supervisor->link_timer, LINK_RETRY_MS);
		break;
	}
}

/* Nothing answered yet, or what the answer was. */
static void check(struct supervisor *supervisor)
{
	struct attachment *attachment = &supervisor->attachment;

	if (attachment->waiting > 0)
		io_timer_set(supervisor->link_timer, LINK_RETRY_MS);
	else if (attachment->err.code == ERR_NONE) {
		is_back(supervisor);
		/* Nobody told us of another policy meanwhile. */
		again_on_changed(supervisor);
	} else if (attachment->err.code == ERR_DENIED) {
		supervisor->is_unknown = true;
		make_another(supervisor);
	} else {
		attachment_close(attachment);
		io_timer_set(supervisor->link_timer, LINK_RETRY_MS);
	}
}

static void hold(struct supervisor *supervisor)
{
	struct attachment *attachment = &supervisor->attachment;
	const char *id = json_text(supervisor->session.json, "id");
	struct err err;

	if (attachment_open_on(attachment, supervisor->loop, on_lost,
			       supervisor, &err) == 0) {
		attachment->on_changed = again_on_changed;
		attachment->on_terms = secrets_on_terms;
		(void)attachment_hold(attachment, id, &err);
	}
	io_timer_set(supervisor->link_timer, LINK_RETRY_MS);
}

static void on_timer(void *owner)
{
	struct supervisor *supervisor = owner;

	/* Nobody's session is made anew for nobody. */
	if (supervisor->options.is_ahead) {
		life_end(supervisor, HOST_TERMINATED, "killed",
			 "the gateway was lost before anybody took it");
		return;
	}
	if (supervisor->lost_ms && !supervisor->away &&
	    clock_monotonic_ms() - supervisor->lost_ms >= AWAY_AFTER_MS) {
		away_begin(supervisor, CONSTRAINT_internal,
			   "the gateway is away: nothing leaves this sandbox "
			   "until it is back");
		events_add(supervisor, "gateway",
			   "the gateway is away: nothing leaves this sandbox");
	}
	if (supervisor->is_unknown)
		make_another(supervisor);
	else if (supervisor->attachment.rpc)
		check(supervisor);
	else
		hold(supervisor);
}

static void on_renew(void *owner)
{
	struct supervisor *supervisor = owner;
	char path[160], body[64];
	const struct client_request request = {
		.method = "POST",
		.path = path,
		.type = "application/json",
		.body = {(const uint8_t *)body,
			 (size_t)snprintf(body, sizeof(body), "{\"ttl_s\": %d}",
					  SESSION_TTL_S)},
	};
	struct reply reply;
	struct err err;

	(void)snprintf(path, sizeof(path), "/v1/sessions/%s/renew",
		       json_text(supervisor->session.json, "id"));
	if (client_once(&request, &reply, &err) < 0)
		events_add(supervisor, "gateway", err.text);
	else if (reply.status == 200)
		supervisor->session_end_ms =
			clock_monotonic_ms() + SESSION_TTL_S * 1000ull;
	reply_release(&reply);
	io_timer_set(supervisor->renew_timer, SESSION_RENEW_MS);
}

int link_begin(struct supervisor *supervisor, struct err *err)
{
	supervisor->attachment.on_lost = on_lost;
	supervisor->attachment.on_changed = again_on_changed;
	supervisor->attachment.on_terms = secrets_on_terms;
	supervisor->attachment.owner = supervisor;
	supervisor->link_timer =
		io_timer_new(supervisor->loop, on_timer, supervisor);
	supervisor->renew_timer =
		io_timer_new(supervisor->loop, on_renew, supervisor);
	if (!supervisor->link_timer || !supervisor->renew_timer)
		return err_set(err, ERR_TOO_LARGE, "no memory");
	io_timer_set(supervisor->renew_timer, SESSION_RENEW_MS);
	/* Since the session began nobody may have told us. */
	secrets_look(supervisor);
	return 0;
}

/* The session ends when its holder hangs up. */
void link_end(struct supervisor *supervisor)
{
	again_drop(supervisor);
	away_end(supervisor);
	attachment_close(&supervisor->attachment);
	again_close_listeners(&supervisor->listeners);
	free(supervisor->policy_text);
	supervisor->policy_text = NULL;
	if (supervisor->link_timer)
		io_timer_free(supervisor->link_timer);
	if (supervisor->renew_timer)
		io_timer_free(supervisor->renew_timer);
	supervisor->link_timer = NULL;
	supervisor->renew_timer = NULL;
}
