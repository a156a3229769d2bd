/*
 * A bash that keeps its state (execd_session.c): of an isolated session, which
 * keeps it here, or of /session, whose state its sandbox keeps
 * (execd_shell.c).
 */
#ifndef SANDBOX_HOST_API_EXECD_SESSION_H
#define SANDBOX_HOST_API_EXECD_SESSION_H

#include "sandbox-host/api/execd.h"

struct session;

/* A run is over; state: what it keeps, or empty: it is as before. Valid until
 * that returns, which may close the session. */
typedef void session_over_fn(struct bytes state, void *owner);

/* Its first run begins in the workspace. NULL: no memory. */
struct session *session_open(void);
/* Before its first run: where that begins (may be empty), and the state that
 * it is to have. 0, or -1: it is too large, or there is no memory. */
int session_set(struct session *session, struct bytes cwd, struct bytes state);
/* What runs in it goes on to its end, as its client sees it. */
void session_close(struct session *session);
/* Run spec->text, under spec->request.timeout_ms, and answer with its stream.
 * command is what bash reads for it: the same text, or words of ours around
 * it. `commands` of the policy judges `judged`, from where the run begins. */
void session_run(struct exchange *exchange, struct session *session,
		 struct run_spec *spec, struct bytes command,
		 struct bytes judged);
/* The same of spec->text, once: over is called when it is over, and until it
 * runs the exchange's own on_end. */
void session_run_once(struct exchange *exchange, struct session *session,
		      struct run_spec *spec, session_over_fn *over,
		      void *owner);
/* Append 'text', as bash reads it. 0, or -1: out has no room. */
int bash_quote(struct bytes text, struct buf *out);
bool session_is_running(const struct session *session);
/* When a run began or ended last, on the monotonic clock. */
uint64_t session_used_ms(const struct session *session);

#endif
