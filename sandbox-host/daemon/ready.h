/*
 * Sandboxes that are kept ready: after one was made, another of its kind (all
 * of the request but what is each one's own, sandbox_request_kind()) is built,
 * and given to the next request of that kind, with its name, entrypoint and
 * end. Nobody sees it before. So many as `limits.ready` says, each for
 * READY_IDLE_MS; it ends by itself then, whether there is a daemon or not. One
 * that another daemon built is ended, as a pool's (pool.h).
 *
 * Kinds that depend on what the host's files are when a sandbox begins are
 * not kept: a workspace that is somebody's, volumes, snapshots, policies about
 * the host's files (the supervisor looks: ahead_check()). Nor is one given
 * out once the default policy, the image or the gateway's terms are others.
 */
#ifndef SANDBOX_HOST_DAEMON_READY_H
#define SANDBOX_HOST_DAEMON_READY_H

#include "sandbox-host/daemon/daemon.h"

#define READY_IDLE_MS	60000
#define READY_REFILL_MS 5		    /* the command goes first */
#define READY_AGAIN_MS	60000		    /* after one could not be built */
#define READY_KIND_MS	(2 * READY_IDLE_MS) /* a kind is known so long */
#define READY_KIND_MAX	(64 * 1024)

/* 0, or -1. */
int ready_open(struct daemon *daemon, struct err *err);
void ready_close(struct daemon *daemon);
/* Answer a request to create with one that is ready, or will be sooner than
 * another. False: there is none, and the ticket is the caller's. request_fd
 * stays the caller's. */
bool ready_take(struct daemon *daemon, struct rpc_ticket ticket, int request_fd,
		const struct sandbox_request *request,
		const struct spawn_for *asker);
/* entry was begun for request: once it runs, keep another like it. */
void ready_want(const struct entry *entry,
		const struct sandbox_request *request,
		const struct spawn_for *asker);
/* The state of one has changed. */
void ready_follow(struct entry *entry);
/* Look soon at what is to be built. */
void ready_refill(struct daemon *daemon);
/* The configuration is another one: all that nobody has yet ends. */
void ready_begin_anew(struct daemon *daemon);
/* So many stand there for nobody, of pools as well: they are in nobody's way.
 * One that somebody waits for is theirs. */
size_t ready_count(const struct daemon *daemon);

/* entry.c: kill its supervisor, unless its start or end is done by then. 0, or
 * -1 when memory is out. */
int entry_bound(struct entry *entry, unsigned ms);

#endif
