/*
 * sallyport-host: many sandboxes, one small daemon. It keeps who they are and
 * what became of them, starts a supervisor for each, and passes requests on;
 * it reads no byte of what runs inside, and no policy.
 *
 *	config  -> host.yaml; configure -> read, and read again
 *	state   -> what may become of a sandbox
 *	entry   -> one sandbox, as it is known here and in its record
 *	images  -> roots of their own
 *	snapshots -> what sandboxes wrote, to begin others with
 *	jobs    -> processes that unpack and copy
 *	pool    -> sandboxes that are built before anybody asks
 *	ready   -> one more of each kind that was asked for
 *	claim   -> who gets one of them
 *	spawn   -> a new one: its directory, its supervisor
 *	spare   -> processes of supervisors, one of which waits
 *	adopt   -> those that were there before us
 *	keep    -> the channel to a supervisor: what it says, its loss
 *	answers -> what may be asked of us
 *	isolate -> sandboxes beside others, in their workspace
 *	follow  -> those who wait for events and logs
 *	askers  -> who asks: the channels of host.sock
 *	serve_api -> the process that serves the HTTP API
 *
 * Killed at any time: the sandboxes go on, and the next daemon finds them.
 */
#ifndef SANDBOX_HOST_DAEMON_DAEMON_H
#define SANDBOX_HOST_DAEMON_DAEMON_H

#include <limits.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "common/io.h"
#include "sandbox-host/daemon/built.h"
#include "sandbox-host/daemon/configure.h"
#include "sandbox-host/daemon/record.h"
#include "sandbox-host/daemon/serve_api.h"
#include "sandbox-host/daemon/state.h"
#include "sandbox-host/flow/files.h"

#define EVENTS_KEPT	      256 /* of a sandbox */
#define SWEEP_MS	      5000
#define POOL_FILL_MS	      20
#define POOL_UNKNOWN	      SIZE_MAX	     /* of another daemon */
#define POOL_READY	      (SIZE_MAX - 1) /* of no pool (ready.h) */
#define START_TIMEOUT_MS      60000
#define END_TIMEOUT_MS	      20000
#define SUPERVISOR_TIMEOUT_MS 10000

struct kept_event {
	uint64_t sequence, time_ms;
	char *kind, *rule;
	struct bytes text; /* allocated */
};

/* Somebody who asked for a start or an end, and waits for it. */
struct waiter {
	struct rpc_ticket ticket;
	bool is_for_end;
	struct waiter *next, *prev;
};

struct entry {
	struct daemon *daemon;
	struct arena arena; /* of sandbox */
	struct host_sandbox sandbox;
	char id[HOST_ID_MAX + 1];
	int dir;   /* run/sandboxes/ID */
	pid_t pid; /* of the supervisor; 0: there is none */
	uint64_t start;
	uint64_t over_ms; /* first seen to be over, monotonic; 0 */
	bool owns_workspace;
	bool is_bounded;	/* struct spawn_for */
	bool is_ahead, is_late; /* killed, since its end took too long */
	bool is_pooled;		/* nobody's yet; of pool */
	size_t pool;
	struct built_of built;
	bool is_claimed;     /* somebody gets it (claim.c) */
	struct claim *claim; /* once it runs; NULL */
	int request;	     /* to start it with once it has its files; -1 */
	struct rpc *rpc;     /* to it; NULL */
	struct waiter *waiters;
	struct io_timer *deadline; /* of a start or an end */
	struct kept_event *events; /* EVENTS_KEPT, a ring */
	uint64_t event_last;	   /* the newest's sequence */
	struct entry *next, *prev;
};

struct asker {
	struct daemon *daemon;
	struct rpc *rpc;
	uid_t uid;
	struct asker *next, *prev;
};

struct daemon {
	struct host_options options;
	struct host_config config;
	struct io_loop *loop;
	int run_dir, sandboxes_dir;
	int store_dir; /* images/, snapshots/ and what is being made, tmp/ */
	struct io_listener *listener;
	struct asker *askers;
	size_t asker_count;
	struct entry *entries; /* the newest first */
	size_t entry_count, live_count;
	struct snapshot *snapshots; /* the newest first */
	struct ready *ready;
	struct spare *spare;
	struct follow *follows;
	size_t follow_count;
	struct io_timer *follow_timer, *sweep_timer;
	struct serve_api api;
	struct rlimit files; /* as we were given it */
	bool is_draining;
};

/* ---- entry.c ---- */

/* A new one, in no list until it is inserted; dir is taken. NULL. */
struct entry *entry_new(struct daemon *daemon, const char *id, int dir);
void entry_insert(struct entry *entry);
struct entry *entry_find(const struct daemon *daemon, struct bytes id);
/* Become a copy of *sandbox; write the record of that; both. 0, or -1. */
int entry_take(struct entry *entry, const struct host_sandbox *sandbox,
	       struct err *err);
void entry_record(const struct entry *entry);
int entry_store(struct entry *entry, const struct host_sandbox *sandbox,
		struct err *err);
/* Another state with a reason; whoever waits for it is answered. */
void entry_become(struct entry *entry, enum host_state state,
		  const char *reason, const char *message);
/* Take over what its supervisor says it is. False: that can not be. */
bool entry_follow(struct entry *entry, const struct supervisor_state *state);
/* Wait for its start or end. 0, or -1 when memory is out. */
int entry_wait(struct entry *entry, struct rpc_ticket ticket, bool is_for_end);
void entry_add_event(struct entry *entry, const struct host_event *event);
/* Remove it and its directory; the second leaves memory only. */
void entry_forget(struct entry *entry);
void entry_free(struct entry *entry);

/* ---- spawn.c ---- */

struct spawn_for {
	uid_t uid;
	bool is_bounded; /* the policy is that of an asker from outside: it
			    brings in nothing of the host's files */
	bool is_pooled;	 /* nobody's yet */
	bool is_ahead;	 /* nobody asks for it yet */
};
/* The first words of an entrypoint, each cut. How many. */
size_t spawn_shown(const struct sandbox_request *request,
		   struct text_item shown[SHOWN_ARGS_MAX]);
/* Start one; request stays the caller's. NULL. */
struct entry *spawn(struct daemon *daemon, int request_fd,
		    const struct sandbox_request *request,
		    const struct spawn_for *asker, struct err *err);

/* ---- adopt.c ---- */

/* Find what is in run/sandboxes. 0, or -1. */
int adopt_all(struct daemon *daemon, struct err *err);

/* ---- keep.c ---- */

/* Talk to its supervisor over fd (taken). 0, or -1. */
int keep_open(struct entry *entry, int fd, struct err *err);
/* It is gone without a last word: sweep what it left. */
void keep_lost(struct entry *entry, const char *why);
/* Remove what it left, in a process of its own. */
void keep_sweep(const struct entry *entry);
/* Of that its workspace alone, where its supervisor could not. */
void keep_drop_workspace(const struct entry *entry);
/* End the supervisor by force. */
void keep_kill(struct entry *entry);

/* ---- answers.c: what may be asked; channel_owner is a struct asker ---- */

extern const struct rpc_permit answers_permits[];
extern const size_t answers_permit_count, answers_api_permit_count;

/* ---- follow.c ---- */

int follow_open(struct daemon *daemon, struct err *err);
void follow_add(struct daemon *daemon, struct rpc_ticket ticket,
		const struct host_after *after, bool is_log);
/* Something happened: answer those who waited for it. */
void follow_look(struct daemon *daemon);
void follow_close(struct daemon *daemon);

/* ---- askers.c ---- */

int askers_open(struct daemon *daemon, struct err *err);
/* Serve a channel (taken) for a user, or the API. NULL. */
struct asker *askers_add(struct daemon *daemon, int fd, uid_t uid, bool is_api,
			 struct err *err);
void askers_close(struct daemon *daemon);

#endif
