#include "cli/run_secrets.h"

#include <stdio.h>

static void look(void *owner);

static void on_told(struct rpc_outcome *outcome, void *owner)
{
	struct run_secrets *secrets = owner;

	/* Nobody is there to be told by: who is next tells no run of before. */
	if (outcome->err && outcome->err->code == ERR_CLOSED)
		return;
	if (outcome->err && outcome->err->code == ERR_TIMEOUT) {
		look(secrets);
		return;
	}
	secrets->is_shown =
		outcome->err ||
		session_shows_secret(secrets->sandbox, outcome->message,
				     secrets->why);
	if (outcome->err)
		(void)snprintf(secrets->why, sizeof(secrets->why),
			       "the gateway does not tell which files hold its "
			       "secrets: %.300s",
			       outcome->err->text);
}

static void look(void *owner)
{
	struct run_secrets *secrets = owner;
	struct err err;

	(void)attachment_ask_terms(secrets->attachment, on_told, secrets, &err);
}

static int fd_of(void *owner)
{
	const struct run_secrets *secrets = owner;

	return secrets->attachment->rpc ? secrets->attachment->fd : -1;
}

static bool on_news(void *owner, char *why, size_t size)
{
	struct run_secrets *secrets = owner;

	(void)attachment_is_open(secrets->attachment);
	if (secrets->is_shown)
		(void)snprintf(why, size, "%s", secrets->why);
	return !secrets->is_shown;
}

void run_secrets_watch(struct run_secrets *secrets)
{
	const struct sandbox_news news = {fd_of, on_news, secrets};

	secrets->attachment->on_terms = look;
	secrets->attachment->owner = secrets;
	sandbox_listen(secrets->sandbox, &news);
	/* It may have been told of others since the session began. */
	look(secrets);
}
