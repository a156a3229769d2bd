/*
 * attach.sock: channels on which the CLI hands over listening sockets of
 * its sandbox (MSG_SESSION_ATTACH), or says that a session is to live as long
 * as it does itself (MSG_SESSION_HOLD: control was restarted, and the channel
 * over which it was attached is gone). As long as the channel lives the
 * session does: when it closes, every session that was attached or held over
 * it is ended.
 */
#ifndef GATEWAY_CONTROL_ATTACH_H
#define GATEWAY_CONTROL_ATTACH_H

#include "gateway/control/control.h"

#define ATTACHED_SESSIONS_MAX 8 /* over one channel */

/* End a session, later if it cannot be now: whoever created it is gone and
 * no listener was attached. */
void attach_end_session(struct control *control, const struct who *who,
			const char *id);
/* Take an accepted SOCK_SEQPACKET connection. */
void attach_accept(struct control *control, int fd);
/* The session has another policy: who holds it is told. */
void attach_tell_change(struct control *control, const char *id);
/* Sessions that begin from now on have other terms (terms.h): who keeps one
 * for somebody else is told. */
void attach_tell_terms(struct control *control);
/* End what could not be ended yet. */
void attach_end_some(struct control *control);
/* Hand over what could not be handed over yet: many sandboxes begin at once,
 * each with four listeners, and the warden takes so many in a second. */
void attach_ask_some(struct control *control);

#endif
