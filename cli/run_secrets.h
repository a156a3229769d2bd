/*
 * While `run`'s command runs: the gateway says over the channel that holds the
 * session that other files hold its secrets by now. A command that could read
 * one is ended (sandbox-host/session/secrets.h).
 */
#ifndef CLI_RUN_SECRETS_H
#define CLI_RUN_SECRETS_H

#include "sandbox-host/news.h"
#include "sandbox-host/sandbox.h"
#include "sandbox-host/session/gateway.h"
#include "sandbox-host/session/secrets.h"

struct run_secrets {
	struct attachment *attachment; /* all are borrowed */
	struct sandbox *sandbox;
	bool is_shown;
	char why[SESSION_SECRET_MAX];
};

/* Ask which files there are now, and listen until the command has ended. */
void run_secrets_watch(struct run_secrets *secrets);

#endif
