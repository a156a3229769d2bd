/*
 * The daemons' sockets, for people: who starts a daemon and asks it in the next
 * line need not know when it listens.
 */
#ifndef CLI_CONTROL_H
#define CLI_CONTROL_H

#include "sandbox-host/session/client.h"
#include "sandbox-host/session/dirs.h"

/* One that holds its run directory is waited for so long until it listens. */
#define CONTROL_START_MAX_MS SESSION_START_MAX_MS
/* Where there is none: one that was started with us has its directory by then.
 */
#define CONTROL_BEGIN_MS 100

/* Who waits, in monotonic milliseconds; all of it 0 at first. */
struct control_patience {
	uint64_t begin_ms;
	uint64_t held_ms; /* when a daemon was last seen to hold the lock */
};

/* Nobody answers (err: ERR_CLOSED). Rest for a moment, and true: look again; or
 * false, at once or after the time for it. lock: the file by which the daemon
 * holds its run directory. Between one that stops and the next, which waited
 * for that, nobody holds it. */
bool control_wait(struct control_patience *patience, const char *lock,
		  struct err *err);

/* Connect; to a gateway that is just starting once it listens. 0, or -1 with
 * ERR_CLOSED: none answers, and how to start one. */
int control_open(struct client *client, struct err *err);
/* Open, call, check, close. */
int control_once(const struct client_request *request, struct reply *reply,
		 struct err *err);
/* As client_follow(), of the rows of a session (NULL: of all). ERR_MISSING:
 * there is none of that id, or no longer, so that no row would come. */
int control_follow(struct client *client, const char *session, const char *path,
		   client_line_fn *fn, void *owner, struct err *err);

#endif
