/*
 * The edge: the one process that parses what a session's sandbox sends. It
 * holds the session's policy and no secret; it can neither connect nor open
 * a file; what it needs it asks for (minter, dialer, courier, packcheck).
 *
 * listener -> conn (one per client connection) -> lanes:
 *	http_lane   proxy and transparent HTTP, TLS terminated or not
 *	tunnel_lane bytes as they are, after the target was decided
 *	git_lane    the git endpoints of the policy's repositories
 * dns.c serves the sandbox's names.
 */
#ifndef GATEWAY_EDGE_EDGE_H
#define GATEWAY_EDGE_EDGE_H

#include "gateway/dns/answer.h"
#include "gateway/edge/backlog.h"
#include "gateway/edge/denials.h"
#include "gateway/edge/grants.h"
#include "gateway/edge/law.h"
#include "gateway/edge/turns.h"
#include "gateway/keeper/keeper.h"
#include "gateway/lfs/permits.h"
#include "gateway/tls/server.h"
#include "gateway/upstream/upstream.h"
#include "policies/decide.h"

#define EDGE_LISTENERS_MAX 8
/* A session that wants more than this wants to harm the host. */
#define EDGE_MEMORY_MAX ((size_t)2 << 30)

struct approval;
struct conn;
struct recent;
struct edge_dns;
struct secret_prints;

struct edge {
	struct keeper *keeper;
	char session_id[SESSION_ID_MAX + 1];
	uint64_t expires_ms; /* wall clock */
	uint8_t lease_hash[DIGEST_LEN];
	struct law *law; /* what holds now; NULL: no session yet */
	struct denials denials;
	/* Not none: everything is refused for this (lease_expired,
	 * session_revoked), also before the session is known (internal). */
	enum constraint over;
	bool has_ended;		  /* and what was open then is closed */
	struct tls_server server; /* edge_tls_server() */
	struct tls_leaves leaves;
	struct turns turns;
	struct backlog backlog;
	struct tls_client client;
	struct upstream_pool pool;
	struct names *names;
	struct dns dns;
	struct edge_dns *dns_sockets;
	struct rpc *script;	/* NULL: there is none now */
	bool is_script_started; /* one was asked for, no answer yet */
	struct io_listener *listeners[EDGE_LISTENERS_MAX];
	size_t listener_count;
	struct conn *conns;
	size_t conn_count;
	size_t conns_max;
	uint64_t request_count;
	size_t pushes;	 /* whose commands are held */
	size_t lfs_asks; /* whose LFS bodies are held */
	struct lfs_permits lfs_permits;
	uint64_t spooled;    /* bytes of packs held, of all connections */
	uint64_t held_bytes; /* of bodies under inspection, likewise */
	struct io_timer *expiry;
	struct io_timer *warm_up;
	struct grants grants;
	struct approval *held; /* requests that wait for a person */
	size_t held_count;
	struct recent *recent; /* the last refusals; NULL: none yet */
	struct {
		struct secret_prints *prints; /* NULL: not known yet */
		uint64_t had_ms;
		bool is_asking;
		bool is_stale; /* they may be others since it was asked */
	} own;		       /* the session's own secrets */
};

/* The edge as a keeper; its owner is a zeroed struct edge. */
extern const struct keeper_spec edge_spec;

/* Why everything is refused now, or CONSTRAINT_none. */
enum constraint edge_over(struct edge *edge);

/* The TLS side towards the sandbox, made when it is first needed; the session
 * is known then. NULL with *err: it cannot be made. */
struct tls_server *edge_tls_server(struct edge *edge, struct err *err);

/* Apply what the session's law bounds, beside what every session is bound by.
 */
void edge_limit(struct edge *edge);

/* ---- change.c ---- */

/* Put another law (taken) in the place of the session's. What it denies is
 * closed; what is under way and allowed goes on. */
void edge_change_law(struct edge *edge, struct law *law);
/* A connection begins its next request: by the law that holds now. */
void conn_renew_law(struct conn *conn);

/* Record for this session: fills in time and session. -1: it could not be
 * kept (audit_unavailable). */
int edge_record(struct edge *edge, const struct record *record);

/* ---- own_secrets.c ---- */

/* Does a rule look for the session's own secrets? It must not before their
 * fingerprints are there. */
bool own_secrets_are_wanted(const struct edge *edge);
/* Ask for them when they are wanted and not there, or old. */
void own_secrets_refresh(struct edge *edge);
/* They may be others from now on: ask, whatever was asked before. */
void own_secrets_renew(struct edge *edge);
/* Look for these and for tokens of known kinds, as long as edge->own.prints
 * lives. NULL: refusal set. */
struct secret_scan *own_secrets_scan(struct conn *conn);

/* ---- dns.c ---- */

/* Serve DNS on a UDP socket or TCP listener (taken). 0, or -1. */
int edge_dns_udp(struct edge *edge, int fd, struct err *err);
int edge_dns_tcp(struct edge *edge, int fd, struct err *err);

/* ---- conn.c ---- */

/* An accepted connection (io_accept_fn; owner is the edge). */
void conn_accept(int fd, const struct sockaddr_storage *peer,
		 const struct sockaddr_storage *original, bool was_redirected,
		 void *owner);
/* A connection that the door gives us (fd is taken), with the bytes it has
 * read of it (untrusted): an explicit proxy client's. */
void conn_take(struct edge *edge, int fd, struct bytes read);
/* Close every connection: the session is over. */
void conns_close(struct edge *edge);

#endif
