/* The gateway ends a session whose holder has gone. We hold it; when control
 * is started anew, it hears so from us. When the gateway itself was, it knows
 * no such session: the sandbox goes on, and nothing leaves it any more. */
#include <stdio.h>

#include "sandbox-host/supervisor/parts.h"

static void on_lost(void *owner)
{
	struct supervisor *supervisor = owner;

	io_timer_set(supervisor->link_timer, LINK_RETRY_MS);
}

/* Nothing answered yet, or what the answer was. */
static void check(struct supervisor *supervisor)
{
	struct attachment *attachment = &supervisor->attachment;

	if (attachment->waiting > 0 && attachment->rpc) {
		io_timer_set(supervisor->link_timer, LINK_RETRY_MS);
		return;
	}
	if (attachment->err.code != ERR_DENIED)
		return;
	attachment_close(attachment);
	events_add(supervisor, "gateway",
		   "the gateway does not know the session any more: nothing "
		   "leaves this sandbox");
}

static void on_timer(void *owner)
{
	struct supervisor *supervisor = owner;
	struct attachment *attachment = &supervisor->attachment;
	const char *id = json_text(supervisor->session.json, "id");
	struct err err;

	if (attachment->rpc) {
		check(supervisor);
		return;
	}
	if (attachment_open_on(attachment, supervisor->loop, on_lost,
			       supervisor, &err) == 0)
		(void)attachment_hold(attachment, id, &err);
	io_timer_set(supervisor->link_timer, LINK_RETRY_MS);
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
	reply_release(&reply);
	io_timer_set(supervisor->renew_timer, SESSION_RENEW_MS);
}

int link_begin(struct supervisor *supervisor, struct err *err)
{
	supervisor->attachment.on_lost = on_lost;
	supervisor->attachment.owner = supervisor;
	supervisor->link_timer =
		io_timer_new(supervisor->loop, on_timer, supervisor);
	supervisor->renew_timer =
		io_timer_new(supervisor->loop, on_renew, supervisor);
	if (!supervisor->link_timer || !supervisor->renew_timer)
		return err_set(err, ERR_TOO_LARGE, "no memory");
	io_timer_set(supervisor->renew_timer, SESSION_RENEW_MS);
	return 0;
}

/* The session ends when its holder hangs up. */
void link_end(struct supervisor *supervisor)
{
	attachment_close(&supervisor->attachment);
	if (supervisor->link_timer)
		io_timer_free(supervisor->link_timer);
	if (supervisor->renew_timer)
		io_timer_free(supervisor->renew_timer);
	supervisor->link_timer = NULL;
	supervisor->renew_timer = NULL;
}
