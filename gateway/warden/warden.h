/*
 * The warden: starts, confines, wires and restarts the other processes, and
 * keeps what must outlive them: the sessions' packages and listeners. It
 * reads no network byte; what its children say to it are a few
 * fixed messages.
 *
 *	children -> fork, exec, reap, restart
 *	wiring   -> which two processes get a channel
 *	sessions -> packages, edges, listeners, ends
 *	change   -> another policy for one that runs
 *	spare    -> the one edge that has no session yet
 *	config, configure, reload -> what to run, and another while it runs
 *	source   -> files and programs that secrets come from
 */
#ifndef GATEWAY_WARDEN_WARDEN_H
#define GATEWAY_WARDEN_WARDEN_H

#include <sys/types.h>

#include "gateway/flow/messages.h"
#include "gateway/flow/package.h"
#include "gateway/warden/config.h"
#include "gateway/warden/group.h"

#define LISTENERS_MAX		   8 /* of one session */
#define SCRIPTS_OF_SESSION_MAX	   1
#define FRAMERS_MAX		   128 /* at one time */
#define FRAMERS_OF_SESSION_MAX	   8   /* of them */
#define RESTART_DELAY_MAX_MS	   5000
#define RESTART_READY_DELAY_MAX_MS 100
#define RESTART_FORGIVEN_MS	   1000
/* One that never came to serve, and says so by its exit code, will not: it is
 * tried for more than a second, since what another gateway held may be free by
 * then. */
#define START_TRIES_MAX	       7
#define STATE_ROOM_BYTES       (1024 * 1024) /* less is worth a word */
#define REVOKED_EDGE_LINGER_MS 300000
/* How long a process has to say that it closed a session; in a second all
 * access must have ended. */
#define SESSION_EDGE_CLOSE_MS 500
#define SESSION_CLOSE_MS      900
#define WARDEN_RECORDS_MAX    256
#define SPARE_DELAY_MS	      50

struct warden;
struct warden_session;
struct packcheck_queue;

struct child {
	struct warden *warden;
	enum role role;
	/* Of who works for one alone, else NULL; the spare edge: NULL. */
	struct warden_session *session;
	pid_t pid;	 /* 0: not running */
	struct rpc *rpc; /* NULL: not running */
	bool is_ready;
	bool has_served; /* it, or one before it, was ready */
	unsigned restarts;
	unsigned quick_ends; /* one after the other */
	uint64_t started_ms; /* monotonic */
	struct io_timer *restart_timer;
	unsigned scratch; /* packcheck: number of its directory */
	struct child *next, *prev;
};

struct warden_listener {
	int fd;
	enum listener_kind kind;
};

struct warden_session {
	struct warden *warden;
	struct package *package;
	char id[SESSION_ID_MAX + 1];
	int package_fd;
	struct child *edge;
	struct warden_listener listeners[LISTENERS_MAX];
	size_t listener_count;
	uint64_t end_ms;	      /* its expiry, by clock_boot_ms() */
	bool is_revoked, is_changing; /* ended; getting another policy */
	bool had_credentials;	      /* by the policy before, if is_changing */
	struct io_timer *end_timer;   /* expiry, then the edge's end */
	struct warden_session *next, *prev;
};

struct warden {
	struct config_options options;
	struct warden_config config;
	struct io_loop *loop;
	int config_fd;		   /* sealed struct gateway_config */
	int executables[ROLE_MAX]; /* O_PATH; executables.c */
	int state_dir;
	struct group packchecks; /* their cgroup */
	struct child *children;
	struct child *spare; /* or NULL */
	struct io_timer *spare_timer;
	struct packcheck_queue *queue; /* packchecks.h */
	struct warden_session *sessions;
	size_t session_count;
	int control_fd; /* listening sockets that control gets */
	int attach_fd;
	int proxy_fds[CONFIG_PROXY_LISTENERS_MAX]; /* that the door gets */
	size_t proxy_count;
	struct program *programs; /* that run now */
	struct rpc *ledger;	  /* the warden's own records */
	struct io_timer *idle_timer;
	bool is_draining;
	bool has_failed; /* what it can not be without does not start */
	uint64_t revoke_until_ms; /* the vault's last work; 0: none */
};

/* ---- executables.c ---- */

/* Hold the programs of all roles as they are now: what an upgrade puts in their
 * places is of the next gateway, whose messages are others. 0, or -1. */
int executables_open(struct warden *warden, struct err *err);

/* ---- children.c ---- */

/* Add a child and start it. NULL when it cannot be started at all. */
struct child *child_add(struct warden *warden, enum role role,
			struct warden_session *session, struct err *err);
/* End it for good (SIGKILL), and forget it once it is reaped. */
void child_end(struct child *child);
/* Reap every child that exited; restart those that should live. */
void children_reap(struct warden *warden);
struct child *child_of(const struct warden *warden, enum role role);

/* ---- spare.c: one edge that is confined and waits for a session ---- */

/* Start it a little later, so that it takes no time of what is wanted now.
 * 0, or -1. */
int spare_begin(struct warden *warden);
/* The spare edge, which from now on is this session's and nobody's else, or
 * one that is started now; the next spare follows. NULL with *err. */
struct child *spare_take(struct warden *warden, struct warden_session *session,
			 struct err *err);

/* ---- wiring.c ---- */

/* Give a child that just started everything it needs: the sessions, its
 * channels, its listeners. 0, or -1. */
int wire_child(struct child *child, struct err *err);
/* Does it keep a copy of that session? An edge keeps its own alone, the door
 * those that are for it. */
bool keeps_session(const struct child *child,
		   const struct warden_session *session);
/* Tell one child of one session. */
int wire_session(struct child *child, const struct warden_session *session,
		 struct err *err);
int wire_listener(struct child *child, const struct warden_listener *listener,
		  struct err *err);

/* ---- proxy.c ---- */

/* Open the proxy ports of the configuration for the door. 0, or -1. */
int warden_listen_proxy(struct warden *warden, struct err *err);

/* ---- sessions.c ---- */

/* Take a package descriptor, tell the keepers, start the edge. 0, or -1. */
int warden_session_create(struct warden *warden, int package_fd,
			  struct err *err);
struct warden_session *warden_session_find(const struct warden *warden,
					   struct bytes id);
/* Give the session's edge a listening socket (taken). 0, or -1. */
int warden_session_attach(struct warden_session *session,
			  enum listener_kind kind, int fd, struct err *err);
/* Let it end at another time, and tell everyone who keeps it. 0, or -1
 * (ERR_DENIED: it has ended already). */
int warden_session_renew(struct warden_session *session, uint64_t expires_ms,
			 struct err *err);
/* Is it over, or has its time come? */
bool warden_session_is_over(const struct warden_session *session);
/* End it everywhere; ticket is answered when every process said so, or was
 * killed. An "ended" session is forgotten; a "revoked" or "expired" one
 * keeps its edge for a while, to say why it refuses. */
void warden_session_end(struct warden_session *session, struct bytes reason,
			const struct rpc_ticket *ticket);
/* Forget it: kill the edge, close what is held. */
void warden_session_forget(struct warden_session *session);
void warden_idle_check(struct warden *warden);

/* ---- answers.c: the permit table ---- */

extern const struct rpc_permit warden_permits[];
extern const size_t warden_permit_count;
void warden_child_closed(struct rpc *rpc, const char *why, void *owner);

/* ---- record.c ---- */

/* Tell the ledger something of the warden's own; while none is there the
 * first WARDEN_RECORDS_MAX wait. */
void warden_record(struct warden *warden, enum record_kind kind,
		   const struct child *child, const char *detail);
/* A ledger is there: tell it what waits. */
void warden_records_flush(struct warden *warden);

#endif
