/*
 * A bash that keeps its state (execd_session.c), for an isolated session:
 * one that /session's calls do not know, and that nobody sweeps.
 */
#ifndef SANDBOX_HOST_API_EXECD_SESSION_H
#define SANDBOX_HOST_API_EXECD_SESSION_H

#include "sandbox-host/api/execd.h"

/* In a sandbox; its first run begins in the workspace. NULL: no memory. */
struct session *session_open(struct execd *execd, struct bytes sandbox);
/* What runs in it goes on to its end, as its client sees it. */
void session_close(struct session *session);
/* Run spec->text, under spec->request.timeout_ms, and answer with its stream.
 * command is what bash reads for it: the same text, or words of ours around
 * it. `commands` of the policy judges `judged`, from where the run begins. */
void session_run(struct exchange *exchange, struct session *session,
		 struct run_spec *spec, struct bytes command,
		 struct bytes judged);
/* Append 'text', as bash reads it. 0, or -1: out has no room. */
int bash_quote(struct bytes text, struct buf *out);
bool session_is_running(const struct session *session);
/* When a run began or ended last, on the monotonic clock. */
uint64_t session_used_ms(const struct session *session);

#endif
