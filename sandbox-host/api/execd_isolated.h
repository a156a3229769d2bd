/*
 * Isolated sessions of sandboxes, between requests: each is a sandbox of its
 * own beside the one whose token asks for it, with a bash that keeps its
 * state. They end with this process, as the daemon sees to it.
 */
#ifndef SANDBOX_HOST_API_EXECD_ISOLATED_H
#define SANDBOX_HOST_API_EXECD_ISOLATED_H

#include "sandbox-host/api/execd_session.h"
#include "sandbox-host/flow/messages_isolated.h"

#define ISOLATED_IDLE_S	    (30 * 60) /* where nothing else is said */
#define ISOLATED_IDLE_MAX_S (24 * 3600)

struct isolated {
	struct execd *execd;
	char id[HOST_ID_MAX + 1]; /* of its own sandbox, and the session's */
	char of[HOST_ID_MAX + 1];
	struct session *bash;
	json_t *made_with; /* as a client is told */
	bool has_network;
	uint64_t created_ms, last_run_ms; /* wall clock; 0: it never ran */
	uint64_t used_ms;		  /* monotonic */
	uint64_t idle_ms; /* how long it may rest; 0: as long as it likes */
	struct isolated *next, *prev;
};

/* The session that the path names, of the sandbox whose token came with it;
 * what follows in this request is for its own sandbox. NULL: answered. */
struct isolated *isolated_enter(struct exchange *exchange);
/* Forget it; its sandbox is ended by somebody else. */
void isolated_free(struct isolated *isolated);
/* When it was used last, on the monotonic clock. */
uint64_t isolated_used_ms(const struct isolated *isolated);
/* What a sandbox may reach has changed: those that share it end. */
void isolated_end_networked(struct api *api, struct bytes sandbox);

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
