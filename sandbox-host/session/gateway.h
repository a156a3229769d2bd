/*
 * A gateway for one command: the one that runs, or one started for it, and
 * the session in it.
 */
#ifndef SANDBOX_HOST_SESSION_GATEWAY_H
#define SANDBOX_HOST_SESSION_GATEWAY_H

#include <limits.h>
#include <sys/types.h>

#include "common/io.h"
#include "common/rpc.h"
#include "sandbox-host/sandbox.h"
#include "sandbox-host/session/client.h"

/* Beyond the time in which one that was there stops. */
#define GATEWAY_START_MS 10000

/* Where a program of ours that is not on PATH stands: ../libexec/sallyport,
 * installed or built. 0, or -1. */
int gateway_find_program(const char *name, char path[PATH_MAX],
			 struct err *err);

/* Connect to the gateway; when none runs, start one that ends two seconds
 * after its last session, with the configuration of the one that ran there
 * before (gateway/flow/run_config.h). 0, or -1. */
int gateway_open(struct client *client, struct err *err);

/* What a session is created from. */
struct session_request {
	struct bytes policy;		/* text */
	const char *repo;		/* or NULL */
	const char *branch;		/* or NULL */
	const char *const *permissions; /* of the lease, NULL behind the last;
					   or NULL: the policy's alone */
	unsigned ttl_s;			/* 0: control's default */
	bool has_proxy; /* clients outside may come by the proxy port */
	bool holds;	/* ends with the client, unless it is attached before */
	/* It takes the place of one that ended with its gateway: its id, and
	 * the lease it had; or NULL, both. */
	const char *again, *lease;
};

/* POST /v1/sessions, and its answer: *reply holds id, lease, ca_pem,
 * ca_pkcs12. 0, or -1. */
int gateway_ask_create(struct client *client,
		       const struct session_request *request, struct err *err);
int gateway_take_created(struct client *client, struct reply *reply,
			 struct err *err);
/* The gateway makes so many sessions in a second, begins so many of them at
 * one time and has so many in all. Was that why (429), and is there time left
 * until until_ms (monotonic)? Then a moment later it is, *reply is empty, and
 * it may be asked again over a new connection. */
#define GATEWAY_BUSY_MS 20000
bool gateway_wait_turn(struct reply *reply, uint64_t until_ms);
/* DELETE /v1/sessions/{id}. 0, or -1. */
int gateway_end(struct client *client, const char *id, const char *reason,
		struct err *err);

/* The attach channel: as long as it is open the session lives. It stays where
 * it is while it is open; all zero is a closed one. */
struct attachment {
	struct io_loop *loop;
	struct rpc *rpc;  /* NULL: it was closed */
	unsigned waiting; /* so many answers */
	struct err err;	  /* of the first that was refused */
	bool has_own_loop;
	void (*on_lost)(void *owner); /* the other end hung up; or NULL */
	/* A session of it has another policy; or NULL. */
	void (*on_changed)(void *owner);
	/* One that begins now has other terms (MSG_TERMS_CHANGED); or NULL. */
	void (*on_terms)(void *owner);
	void *owner;
	int fd; /* rpc's own, to be waited for where has_own_loop */
};
int attachment_open(struct attachment *attachment, struct err *err);
/* On a loop of the caller's (borrowed). */
int attachment_open_on(struct attachment *attachment, struct io_loop *loop,
		       void (*on_lost)(void *owner), void *owner,
		       struct err *err);
void attachment_close(struct attachment *attachment);
/* Give the session its listening sockets (taken), and wait until it has all of
 * them: without one it would not be whole. 0, or -1. */
int attachment_give(struct attachment *attachment, const char *id,
		    const struct sandbox_listeners *listeners, struct err *err);
/* The same, without waiting: *waiting* and *err* of the attachment tell. */
int attachment_offer(struct attachment *attachment, const char *id,
		     const struct sandbox_listeners *listeners,
		     struct err *err);
/* Let the session live as long as this channel, without a listener: for one
 * that was attached over another. 0, or -1 when it could not be sent. */
int attachment_hold(struct attachment *attachment, const char *id,
		    struct err *err);
/* Ask for the terms (MSG_SESSION_TERMS) of a session that would begin now;
 * on_outcome as rpc_ask() says. 0, or -1. */
int attachment_ask_terms(struct attachment *attachment,
			 rpc_outcome_fn *on_outcome, void *owner,
			 struct err *err);
/* Is there still somebody at its other end? With a loop of its own what came
 * is served, too. */
bool attachment_is_open(struct attachment *attachment);
/* Wait until all that were given have been taken. 0, or -1. */
int attachment_wait(struct attachment *attachment, struct err *err);

#endif
