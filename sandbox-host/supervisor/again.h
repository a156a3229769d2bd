/*
 * When the gateway has ended: another session once it is back, and answers to
 * whoever connects meanwhile.
 */
#ifndef SANDBOX_HOST_SUPERVISOR_AGAIN_H
#define SANDBOX_HOST_SUPERVISOR_AGAIN_H

#include "sandbox-host/supervisor/supervisor.h"

/* ---- again.c ---- */

enum again_end {
	AGAIN_WAIT, /* not yet: try again a moment later */
	AGAIN_DONE, /* the session is another one */
	AGAIN_NEVER /* err says why, constraint what of */
};
/* Make the session anew: of the policy that held last, with the lease it had,
 * for no longer than it would have lasted. To be called again and again until
 * it has ended. */
enum again_end again_try(struct supervisor *supervisor,
			 enum constraint *constraint, struct err *err);
void again_drop(struct supervisor *supervisor);
/* Another policy holds by now. 0, or -1: no memory. */
int again_keep_policy(struct supervisor *supervisor, struct bytes text);
/* isolate.c: the policy as the gateway holds it now, in reply->json. 0, or -1.
 */
int isolate_read_policy(const struct supervisor *supervisor,
			struct reply *reply, struct err *err);
/* attachment.on_changed: somebody gave the session another policy. */
void again_on_changed(void *owner);
/* Isolated sessions that have the old one are to end. */
void again_tell_changed(struct supervisor *supervisor);
/* Of changes that no daemon was there for, or ended before it had heard: tell
 * the new one. Sessions made after one that was heard go on. */
void again_tell_unheard(struct supervisor *supervisor);
/* Copies of the listeners, for another session. 0, or -1. */
int again_keep_listeners(struct supervisor *supervisor,
			 const struct sandbox_listeners *listeners,
			 struct err *err);
/* Close those. */
void again_close_listeners(struct sandbox_listeners *listeners);

/* ---- away.c ---- */

/* Answer whoever connects from inside that it is refused, and why. What they
 * say is not read. */
void away_begin(struct supervisor *supervisor, enum constraint constraint,
		const char *why);
void away_end(struct supervisor *supervisor);

#endif
