/*
 * Another policy for a session that runs.
 */
#ifndef GATEWAY_WARDEN_CHANGE_H
#define GATEWAY_WARDEN_CHANGE_H

#include "gateway/warden/warden.h"

/* How long a process has to take another policy. */
#define SESSION_CHANGE_MS 5000

/* Put the policy and scope of a package (package_fd stays the caller's) in the
 * place of the session's, all else stays; tell everyone who keeps it, one kind
 * of process after the other. The ticket is answered when it holds everywhere;
 * where somebody could not take it, the session is revoked. 0, or -1: nothing
 * was changed (ERR_DENIED: it has ended; ERR_INVALID). */
int warden_session_change(struct warden_session *session, int package_fd,
			  struct rpc_ticket ticket, struct err *err);
/* Is that the SHA-256 of the policy that holds now, or is about to? */
bool warden_session_has(const struct warden_session *session,
			struct bytes digest);

#endif
