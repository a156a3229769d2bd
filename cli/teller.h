/*
 * The session's denials on stderr as they happen, one line each, and all of
 * its events in a file: read from control by a process of its own, which
 * ends with the command. It outlives the run: when that is killed, it removes
 * what is left of the sandbox and ends the session. When control is
 * restarted it goes on where it stood, and holds the session, as the run's
 * own channel is gone.
 */
#ifndef CLI_TELLER_H
#define CLI_TELLER_H

#include <stdio.h>
#include <sys/types.h>

#include "common/err.h"
#include "policies/quiet.h"

/* A descriptor that nobody reads is given up after this time, once the
 * command has ended. */
#define TELLER_STALLED_MS   2000
#define TELLER_LAST_MS	    10000 /* for all of what is left to tell */
#define TELLER_REST_MS	    2000  /* for asking what that is */
#define TELLER_CONNECT_MS   1000
#define TELLER_RETRY_MS	    50 /* control is away: first pause */
#define TELLER_RETRY_MAX_MS 2000
#define TELLER_END_MS	    10000 /* for ending the session of a killed run */

struct teller {
	pid_t pid; /* 0: none */
	int stop;  /* a byte: stop; closed: the run was killed */
};

/* Start it, before anything that it would have to remove is made; events may
 * be NULL. What quiet covers is told nowhere. 0, or -1. */
int teller_start(struct teller *teller, const char *session, FILE *events,
		 const struct policy_strings *quiet, struct err *err);
/* Let it tell what it has not yet, and end it. The session must still be:
 * whoever is no administrator sees no rows of one that has ended. */
void teller_stop(struct teller *teller);

#endif
