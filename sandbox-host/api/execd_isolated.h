/*
 * Isolated sessions of sandboxes: each is a sandbox of its own beside the one
 * whose token asks for it, with a bash that keeps its state. What is known of
 * them here is a copy: a new process reads it from what the daemon says of
 * those sandboxes, whose end is when nobody will have used them for so long.
 *
 *	execd_isolated.c -> requests; wish, run, changes: some of them
 *	load	-> those that there are when we begin
 *	sweep	-> those that nobody uses, or that are over
 */
#ifndef SANDBOX_HOST_API_EXECD_ISOLATED_H
#define SANDBOX_HOST_API_EXECD_ISOLATED_H

#include "sandbox-host/api/execd_session.h"
#include "sandbox-host/flow/messages_isolated.h"

#define ISOLATED_IDLE_S	    (30 * 60) /* where nothing else is said */
#define ISOLATED_IDLE_MAX_S (24 * 3600)
/* So much later its supervisor ends one without us. */
#define ISOLATED_GRACE_MS (15 * 1000)

struct isolated {
	struct execd *execd;
	char id[HOST_ID_MAX + 1]; /* of its own sandbox, and the session's */
	char of[HOST_ID_MAX + 1];
	unsigned runs;	   /* that began and are not over */
	json_t *made_with; /* as a client is told */
	bool has_network;
	uint64_t created_ms, last_run_ms; /* wall clock; 0: it never ran */
	uint64_t used_ms;		  /* monotonic */
	uint64_t told_ms; /* the same, when its end was put off; 0: never */
	uint64_t idle_ms; /* how long it may rest; 0: as long as it likes */
	struct isolated *next, *prev;
};

/* The session that the path names, of the sandbox whose token came with it;
 * what follows in this request is for its own sandbox. NULL: answered. */
struct isolated *isolated_enter(struct exchange *exchange);
/* Forget it; its sandbox is ended by somebody else. */
void isolated_free(struct isolated *isolated);
/* It is used: put its end off. */
void isolated_use(struct isolated *isolated);
/* A run begins in the one of that id (at that time, once its supervisor says
 * so), or is over. */
void isolated_work(struct api *api, const char *id);
void isolated_ran(struct api *api, const char *id, uint64_t ran_ms);
void isolated_rest(struct api *api, const char *id);
/* One that is there: id, whose it is, and what it was made with (taken). NULL:
 * no memory. */
struct isolated *isolated_add(struct execd *execd, struct bytes id,
			      struct bytes of, json_t *made_with);
/* What a sandbox may reach has changed: those that share it end. */
void isolated_end_networked(struct api *api, struct bytes sandbox);

/* ---- execd_isolated_load.c ---- */

/* Ask for those that there are; requests are served once they are known. 0, or
 * -1. */
int isolated_load(struct api *api, struct err *err);

/* 400, with what. Returns false. */
bool isolated_refuse(struct exchange *exchange, const char *what);

/* ---- execd_isolated_wish.c ---- */

/* What is wanted, while its sandbox is being made; of the request's arena. */
struct isolated_wish {
	struct host_isolate asked;
	struct bytes profile;
	uint64_t idle_s;
	uint64_t reach_changes; /* when it was asked for */
	struct bytes echo;	/* JSON: as a client is told */
};

/* Read it from a body (zeroed before). False: the request is answered. */
bool isolated_take_wish(struct exchange *exchange, const json_t *body,
			struct isolated_wish *wish);

/* ---- execd_isolated_run.c ---- */

void isolated_run(struct exchange *exchange);

/* ---- execd_isolated_changes.c ---- */

void isolated_diff(struct exchange *exchange);
void isolated_commit(struct exchange *exchange);

#endif
