/* Files that the gateway's secrets stand in are hidden when the sandbox begins.
 * One that is named later, by a reload or by a gateway that began anew, can not
 * be: a sandbox that shows it is ended, and says so. */
#include "sandbox-host/supervisor/secrets.h"

#include "common/cleanup.h"
#include "sandbox-host/session/secrets.h"
#include "sandbox-host/supervisor/ahead.h"
#include "sandbox-host/supervisor/parts.h"

static void end(struct supervisor *supervisor, const char *why)
{
	events_add(supervisor, "gateway", why);
	life_end(supervisor, HOST_TERMINATED, "killed", why);
}

static void on_told(struct rpc_outcome *outcome, void *owner)
{
	struct supervisor *supervisor = owner;
	char why[SESSION_SECRET_MAX];

	/* It ends, or is asked for when the gateway is back (link.c). */
	if (!supervisor->sandbox ||
	    (outcome->err && outcome->err->code == ERR_CLOSED))
		return;
	if (outcome->err && outcome->err->code == ERR_TIMEOUT)
		secrets_look(supervisor);
	else if (outcome->err)
		end(supervisor, "the gateway does not tell which files hold "
				"its secrets");
	else if (session_shows_secret(supervisor->sandbox, outcome->message,
				      why))
		end(supervisor, why);
}

void secrets_look(struct supervisor *supervisor)
{
	struct err err;

	/* Without a gateway: when it is back. */
	(void)attachment_ask_terms(&supervisor->attachment, on_told, supervisor,
				   &err);
}

void secrets_on_terms(void *owner)
{
	struct supervisor *supervisor = owner;

	if (supervisor->options.is_ahead)
		ahead_on_terms(supervisor);
	else
		secrets_look(supervisor);
}
