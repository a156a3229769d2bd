/*
 * The gateway's control socket, for people: who starts a gateway and asks it in
 * the next line need not know when it listens.
 */
#ifndef CLI_CONTROL_H
#define CLI_CONTROL_H

#include "sandbox-host/session/client.h"

/* A gateway that holds its run directory is waited for so long until it
 * listens. */
#define CONTROL_START_MAX_MS 3000
/* Where there is none: one that was started with us has its directory by then.
 */
#define CONTROL_BEGIN_MS 100

/* Connect; to a gateway that is just starting once it listens. 0, or -1 with
 * ERR_CLOSED: none answers, and how to start one. */
int control_open(struct client *client, struct err *err);
/* Open, call, check, close. */
int control_once(const struct client_request *request, struct reply *reply,
		 struct err *err);

#endif
