/*
 * A bash that keeps its state (execd_session.c), for one run. Its sandbox's
 * supervisor keeps the state from run to run (execd_shell.c).
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
/* Not while it runs. */
void session_close(struct session *session);

/* What is run: run.text is shown; run.request has its timeout. command is what
 * bash reads for it: the same text, or words of ours around it. `commands` of
 * the policy judges `judged`, from where the run begins. on_over is called when
 * it is over; until it runs the exchange's own on_end. */
struct session_call {
	struct run_spec run;
	struct bytes command, judged;
	session_over_fn *on_over;
	void *owner;
};
/* Once; answer with its stream. */
void session_run(struct exchange *exchange, struct session *session,
		 const struct session_call *call);
/* Append 'text', as bash reads it. 0, or -1: out has no room. */
int bash_quote(struct bytes text, struct buf *out);

/* ---- execd_shell.c ---- */

/* Run it in the sandbox's own session: that of exchange->sandbox, which is the
 * isolated one of that id. call: on_over and owner are ours. */
void shell_run_own(struct exchange *exchange, const struct session_call *call);

#endif
