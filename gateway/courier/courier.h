/*
 * The courier: owns the upstream TLS connections of requests that carry a
 * credential. It takes structured requests from edges (gateway/flow/leg.h),
 * checks each again against its own copy of the session's scope, gets the
 * one token from the vault, waits until the use is on record, writes the
 * request itself, and passes upstream's bytes back without parsing them.
 *
 *	leg.c      one leg: frames of an edge, events of an upstream
 *	grant.c    may this session ask this of that host?
 *	request.c  what goes out, credential included
 *	attach.c, swap.c, sign.c, sigv4.c  the credential in it
 *	body.c     the body that follows
 *	pass.c     upstream's bytes on their way back
 *	reflect.c, reflect_matches.c  is the credential among them?
 *	h2.c, framers.c  a leg that speaks HTTP/2, and who decodes it
 *	frames.c, fields.c  what such a one may say, and the head for it
 *	upgrade.c  a request for a WebSocket, and the leg that becomes one
 *	opening.c, certificate.c  a client certificate for the handshake
 *	prints.c   what an edge may know of its session's secrets
 *	proxy.c    connections through the operator's upstream proxy
 */
#ifndef GATEWAY_COURIER_COURIER_H
#define GATEWAY_COURIER_COURIER_H

#include "common/io_tls.h"
#include "common/secret.h"
#include "gateway/courier/reflect.h"
#include "gateway/flow/leg.h"
#include "gateway/flow/limits.h"
#include "gateway/flow/target.h"
#include "gateway/keeper/keeper.h"
#include "gateway/tls/client.h"
#include "policies/scope.h"

#define LEGS_MAX	 4096
#define LEG_HANDSHAKE_MS 15000
#define LEG_IDLE_MS	 60000
#define LEG_RESPONSE_MS	 600000
/* The edge's own bounds of a WebSocket come first, in order. */
#define LEG_RAW_IDLE_MS	 (WEBSOCKET_IDLE_MS + 15000)
#define LEG_RAW_TOTAL_MS (WEBSOCKET_TOTAL_MS + 15000)
#define LEG_ARENA_MAX	 (16 * 1024 * 1024)
#define BINDING_NAME_MAX 128

struct courier {
	struct keeper *keeper;
	struct tls_client tls;
	struct leg *legs;
	size_t leg_count;
	struct framer *framers;
	size_t tunnel_count; /* that are being made through the proxy */
};

/* The courier as a keeper; its owner is a zeroed struct courier. */
extern const struct keeper_spec courier_spec;

enum leg_state {
	LEG_CONNECTING, /* TLS with upstream */
	LEG_IDLE,	/* waits for a request */
	LEG_GRANTING,	/* token and record are asked for */
	LEG_SENDING,	/* the body is on its way; upstream may answer */
	LEG_RECEIVING,	/* the request is complete */
	LEG_UPGRADING,	/* a WebSocket was asked for; nothing was answered */
	LEG_ANSWERING,	/* it was refused: nothing goes out any more */
	LEG_RAW,	/* it is one, to the end */
	LEG_CLOSED
};

struct opening;
struct leg_h2;
struct framer;

struct leg {
	struct courier *courier;
	const struct keeper_peer *peer; /* the edge that opened it */
	char session[SESSION_ID_MAX + 1];
	char binding[BINDING_NAME_MAX + 1];
	uint8_t mark[DIGEST_LEN]; /* of that binding, when it was opened */
	enum policy_scrub scrub;  /* when it comes back */
	struct target target;
	enum leg_state state;
	struct io *edge;
	struct io *upstream;
	unsigned released;	  /* of the two ios */
	struct rpc_ticket ticket; /* of LEG_OPEN, while CONNECTING */
	/* the request at hand; views borrow from copy */
	struct arena arena;
	enum leg_kind kind;
	struct leg_request request;
	struct leg_push push;
	struct leg_upgrade upgrade; /* request has the rest of it */
	uint64_t raw_until_ms;	    /* of LEG_RAW */
	bool has_length;
	uint64_t body_left;
	bool offers_h2;		 /* by ALPN */
	struct leg_h2 *h2;	 /* upstream took it; else NULL */
	struct framer *framer;	 /* then */
	bool is_certificate;	 /* the binding is shown in the handshake */
	struct opening *opening; /* waits for the vault, before TLS */
	struct grant *grant;	 /* waits for vault and ledger */
	struct reflect reflect;	 /* what must not come back */
	struct io_timer *quiet;	 /* while bytes are held back */
	size_t passed;		 /* of leg_said(): it has passed, and stays
				    until it is known not to matter */
	bool is_reflected;	 /* the request at hand has it on record */
	/* body.h */
	EVP_MD_CTX *body_digest;   /* it must have a hash that was given */
	struct secret body_secret; /* written into it; empty: none is */
	uint64_t body_at;	   /* bytes of it that were taken */
	size_t body_swap;	   /* how many placeholders are behind */
	struct leg *next, *prev;
};

/* ---- leg.c ---- */

/* Open a leg over a connected upstream descriptor (taken); the ticket is
 * answered when TLS stands, or refused. */
void leg_open(struct courier *courier, const struct keeper_peer *peer,
	      const struct msg_leg_open *message, int fd,
	      struct rpc_ticket ticket);
/* Close both sides. Freed when both ios are released. */
void leg_close(struct leg *leg);
/* Tell the edge why its request was not sent, then close. */
void leg_refuse(struct leg *leg, enum constraint constraint, const char *format,
		...) __attribute__((format(printf, 3, 4)));
/* The grant is complete: send the request's head with this credential. */
void leg_granted(struct leg *leg, const struct msg_token *token);
/* TLS stands, and a framer if one is needed: answer LEG_OPEN. */
void leg_stands(struct leg *leg);
/* Go on with the edge's frames, if there is room for them. */
void leg_pump(struct leg *leg);
/* One of its ios was released. */
void leg_released(struct leg *leg);
/* The session's policy is another: close its legs that may not be any
 * more. */
void legs_review(struct courier *courier, const char *session);
/* Whom to trust was told anew: close legs that wait for a request, which was
 * verified before; others once theirs is answered. */
void legs_distrust(struct courier *courier);
/* Close every leg of a session; of an edge that is gone. */
void legs_close(struct courier *courier, const char *session);
void legs_close_of(struct courier *courier, const struct keeper_peer *peer);

struct certificate;
/* Begin TLS with upstream; certificate may be NULL. 0, or -1. */
int leg_start_tls(struct leg *leg, const struct certificate *certificate,
		  struct err *err);
/* Refuse LEG_OPEN, and close. */
void leg_fail_opening(struct leg *leg, enum constraint constraint,
		      const char *why);

/* ---- proxy.c ---- */

#define PROXY_TUNNELS_MAX 1024
#define PROXY_TALK_MS	  8000

/* Make of a connection to the upstream proxy (fd, taken) one to the target;
 * the ticket is answered with it, or refused: proxy_failed. */
void proxy_connect(struct courier *courier,
		   const struct msg_proxy_connect *message, int fd,
		   struct rpc_ticket ticket);

/* ---- prints.c ---- */

/* MSG_PRINTS_GET of an edge. */
void courier_answer_prints(struct rpc_ticket ticket, const void *message,
			   int *fd, void *owner);

/* ---- upgrade.c ---- */

/* Check leg->upgrade, and make leg->request of it. 0, or -1 with *err. */
int upgrade_take(struct leg *leg, struct err *err);
/* Fields that an upgrade's head has of us alone. */
bool upgrade_is_ours(struct bytes name);
/* Write what asks for a WebSocket. 0, or -1. */
int upgrade_write(const struct leg *leg, struct buf *out);
/* Upstream's first words came: LEG_RAW, LEG_ANSWERING, or too few yet. */
void upgrade_look(struct leg *leg);
/* Raw bytes of the edge. 0, or -1 with *err. */
int upgrade_send(struct leg *leg, struct bytes bytes, struct err *err);
/* Something moved: wait so long for more. False: no longer at all. */
bool leg_wait(struct leg *leg);

/* ---- grant.c ---- */

/* The leg's session, if it lives and its scope has the binding for the
 * leg's host and port; else NULL. */
const struct scope *leg_scope(const struct leg *leg);
/* Check leg->request or leg->push against the scope. 0, or -1 with *err. */
int grant_check(const struct leg *leg, struct err *err);
/* Ask the vault for the token and the ledger for the record; then
 * leg_granted() or leg_refuse(). */
void grant_start(struct leg *leg);
/* Nobody waits any more. */
void grant_cancel(struct grant *grant);

#endif
