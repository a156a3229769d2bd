/*
 * The files that the gateway's secrets stand in, while a sandbox runs. What is
 * hidden in it is settled when it begins; a reload of gateway.yaml, or another
 * gateway, may name a file that it shows. Nothing can be mounted in it any
 * more, so whoever has it ends it.
 */
#ifndef SANDBOX_HOST_SESSION_SECRETS_H
#define SANDBOX_HOST_SESSION_SECRETS_H

#include "gateway/flow/messages.h"
#include "sandbox-host/sandbox.h"

#define SESSION_SECRET_MAX 512

/* Does the sandbox show one of the files that hold secrets by now? Then why
 * says so, and names it. */
bool session_shows_secret(const struct sandbox *sandbox,
			  const struct msg_session_terms *terms,
			  char why[SESSION_SECRET_MAX]);

#endif
