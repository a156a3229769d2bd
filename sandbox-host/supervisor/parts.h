/* What the parts of the supervisor do for each other. */
#ifndef SANDBOX_HOST_SUPERVISOR_PARTS_H
#define SANDBOX_HOST_SUPERVISOR_PARTS_H

#include "sandbox-host/supervisor/ask.h"
#include "sandbox-host/supervisor/supervisor.h"

/* ---- build.c ---- */

/* Everything up to a sandbox that serves. 0, or -1. */
int build(struct supervisor *supervisor, struct err *err);
/* Remove a workspace that we made; keep what changed in an overlay. */
void build_remove_workspace(struct supervisor *supervisor);

/* ---- bounds.c ---- */

/* May the policy of an asker from outside name what it does of the host's
 * files? 0, or -1. */
int bounds_check(struct supervisor *supervisor, struct err *err);

/* ---- store.c ---- */

/* Say in spec which image, and which volumes of the request, below the roots
 * that the host allows. 0, or -1. */
int store_spec(struct supervisor *supervisor, struct sandbox_spec *spec,
	       struct err *err);
/* Remove what was written over an image. */
void store_remove_layers(struct supervisor *supervisor);

/* ---- life.c ---- */

/* Timers, and the state Running. 0, or -1. */
int life_begin(struct supervisor *supervisor, struct err *err);
/* Change the state, tell the daemon, and put it among the events. */
void life_enter(struct supervisor *supervisor, enum host_state state,
		const char *reason, const char *message);
/* End everything: HOST_TERMINATED or HOST_FAILED. The loop stops. */
void life_end(struct supervisor *supervisor, enum host_state state,
	      const char *reason, const char *message);
/* 0, or -1 when that was in the past. */
int life_renew(struct supervisor *supervisor, uint64_t expires_ms);
/* Begin to rest; the ticket is answered when it does, or can not. */
void life_rest(struct supervisor *supervisor, struct rpc_ticket ticket);
int life_resume(struct supervisor *supervisor, struct err *err);
/* Tell the daemon what it is now. */
void life_tell(struct supervisor *supervisor);
/* What it is now, for a message; borrows. */
struct supervisor_state life_state(const struct supervisor *supervisor);

/* ---- answers.c ---- */

/* Listen on a socket (taken) for daemons, and serve one (taken; -1: none). 0,
 * or -1. */
int answers_open(struct supervisor *supervisor, int listener, int daemon,
		 struct err *err);
void answers_close(struct supervisor *supervisor);

/* ---- egress.c ---- */

/* A channel of MSG_EGRESS_*; its other end. -1 with *err. */
int egress_open(struct supervisor *supervisor, struct err *err);
void egress_close_all(struct supervisor *supervisor);

/* ---- isolate.c ---- */

/* What another sandbox is to be made of that works in our workspace. */
void isolate_answer(struct rpc_ticket ticket, const void *message, int *fd,
		    void *owner);
/* Is the mode that was asked for within what policy allows? Then it is the
 * policy's from now on. 0, or -1. */
int isolate_set_mode(struct policy *policy,
		     const struct sandbox_request *request, struct err *err);

/* ---- isolate_wish.c ---- */

/* Is that the one user inside? 0, or -1. */
int user_check(const struct supervisor *supervisor,
	       const struct user_wish *wish, struct err *err);
/* Can it have those binds? False: refused. */
bool isolate_check_binds(const struct supervisor *supervisor,
			 const struct host_isolate *asked,
			 struct rpc_ticket ticket);
/* Make of the sandbox's own request, with the volumes and variables that were
 * asked for; what is new lives in arena. 0, or -1. */
int isolate_narrow(const struct supervisor *supervisor,
		   const struct host_isolate *asked, struct arena *arena,
		   struct sandbox_request *request, struct err *err);

/* ---- changes.c ---- */

/* A channel of MSG_CHANGES_*; its other end. -1 with *err. */
int changes_open(struct supervisor *supervisor, struct err *err);
void changes_close(struct supervisor *supervisor);
/* The sandbox has ended: commit what was asked for, then drop the rest. */
void changes_finish(struct supervisor *supervisor);

/* ---- inside.c ---- */

int inside_begin(struct supervisor *supervisor, struct err *err);
void inside_end(struct supervisor *supervisor);
/* A number for a call, and who hears of it. NULL: too many wait. */
struct waiting *inside_wait(struct supervisor *supervisor,
			    void (*on_word)(struct service_word *, void *),
			    void *owner);
void inside_forget(struct supervisor *supervisor, struct waiting *waiting);

/* ---- admit.c ---- */

enum admission {
	ADMIT,
	ADMIT_ASK, /* a person decides; the question is filled in */
	ADMIT_NOT  /* code and err say why */
};
/* May it run? It is counted then. */
enum admission exec_admit(struct supervisor *supervisor,
			  const struct exec_request *request,
			  struct ask_question *question,
			  enum host_refusal *code, struct err *err);
/* A person said that it may: count it. 0, or -1: there were too many. */
int exec_count(struct supervisor *supervisor, struct err *err);

/* ---- exec.c ---- */

/* A channel for one command; its other end, or -1. */
int exec_open(struct supervisor *supervisor, struct err *err);
/* Run the request's entrypoint, with which the sandbox ends; or else the
 * image's, which may end, or not begin, and that is an event. Nothing where
 * nobody has asked for the sandbox yet. 0, or -1. */
int exec_entrypoint(struct supervisor *supervisor, struct err *err);
/* Tell all who still wait, and free. */
void exec_end_all(struct supervisor *supervisor, const char *reason);

/* ---- agents.c ---- */

/* Start an agent inside; its channel is the answer, once it runs. */
void agents_open(struct supervisor *supervisor, struct rpc_ticket ticket);

/* ---- signals.c ---- */

/* For a command; the ticket is answered once it was sent inside. */
void signals_send(struct supervisor *supervisor, pid_t pid,
		  const struct exec_signal *wanted, struct rpc_ticket ticket);

/* ---- ports.c ---- */

/* The address that leads to a port inside. 0, or -1. */
int ports_open(struct supervisor *supervisor, uint16_t port, char out[64],
	       struct err *err);
void ports_close(struct supervisor *supervisor);

/* ---- metrics.c ---- */

/* What the sandbox uses. 0, or -1. */
int metrics_read(struct supervisor *supervisor, struct host_metrics *metrics,
		 struct err *err);

/* ---- events.c ---- */

int events_open(struct supervisor *supervisor, struct err *err);
void events_add(struct supervisor *supervisor, const char *kind,
		const char *text);
/* The same, with the rule that denied it. */
void events_add_denial(struct supervisor *supervisor, const char *kind,
		       const char *rule, const char *text);
/* A sandbox_on_event; owner is the supervisor. */
void events_on_event(void *owner, const struct sandbox_event *event);
/* Tell the daemon all that are kept. */
void events_tell_all(struct supervisor *supervisor);

/* ---- network.c ---- */

int network_begin(struct supervisor *supervisor, bool is_confined,
		  struct err *err);
void network_end(struct supervisor *supervisor);

/* ---- link.c ---- */

int link_begin(struct supervisor *supervisor, struct err *err);
void link_end(struct supervisor *supervisor);

#endif
