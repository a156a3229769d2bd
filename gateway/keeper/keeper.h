/*
 * The frame of every process but the warden: the descriptors it is born
 * with, its confinement, its loop, its table of sessions, and its channels
 * to peers, each with the permit table for the peer's role. A process is
 * this frame, a list of permits and what answers them.
 *
 *	static const struct rpc_permit edge_permits[] = {
 *		{MSG_MINT, &msg_mint_schema, answer_mint, false, 200},
 *	};
 *	static const struct keeper_service services[] = {
 *		{ROLE_EDGE, edge_permits, ARRAY_SIZE(edge_permits)},
 *	};
 *	static const struct keeper_spec spec = {
 *		.role = ROLE_MINTER, .services = services, ...
 *	};
 *	int main(void) { return keeper_main(&spec, &minter); }
 *
 * In a permit's answer function channel_owner is the struct keeper_peer *.
 */
#ifndef GATEWAY_KEEPER_KEEPER_H
#define GATEWAY_KEEPER_KEEPER_H

#include "common/confine.h"
#include "common/rpc.h"
#include "gateway/flow/config.h"
#include "gateway/flow/messages.h"
#include "gateway/session/session.h"

#define KEEPER_PEERS_MAX 20000

struct keeper;
struct batch; /* records.c */

/* A channel to another process. Freed after on_peer_closed returns. */
struct keeper_peer {
	struct keeper *keeper;
	struct rpc *rpc;
	enum role role;
	char session[SESSION_ID_MAX + 1]; /* an edge's session, else "" */
	void *owner;			  /* what this process keeps for it */
	struct keeper_peer *next, *prev;
};

struct keeper_service {
	enum role role; /* of the peer */
	const struct rpc_permit *permits;
	size_t permit_count;
};

/* All hooks may be NULL but confine. owner is keeper_main's. */
struct keeper_spec {
	enum role role;
	const struct keeper_service *services;
	size_t service_count;
	/* Before confinement: open files, load keys and bundles, fill in what
	 * confine() must leave reachable. 0, or -1: the process exits 1. */
	int (*prepare)(struct keeper *keeper, struct confine_spec *confine,
		       struct err *err);
	const char *const *syscalls; /* beside confine's base set */
	/* After confinement, before the first foreign byte. */
	int (*start)(struct keeper *keeper, struct err *err);
	/* Also when a session is renewed: its end is another then. */
	void (*on_session_open)(struct keeper *keeper, struct session *session);
	/* Its policy is another: nothing may go on that the new package does
	 * not allow. 0, or -1 with *err: the session ends. */
	int (*on_session_change)(struct keeper *keeper, struct session *session,
				 struct err *err);
	/* The session is freed after this returns. */
	void (*on_session_close)(struct keeper *keeper, struct session *session,
				 struct bytes reason);
	void (*on_peer)(struct keeper *keeper, struct keeper_peer *peer);
	void (*on_peer_closed)(struct keeper *keeper, struct keeper_peer *peer);
	/* Messages of the peer wait, and none is being handled. */
	void (*on_waiting)(struct keeper *keeper, struct keeper_peer *peer);
	/* keeper->config is another; what before holds stays where it is. 0, or
	 * -1: the process ends, and the next one begins with it. */
	int (*on_config)(struct keeper *keeper,
			 const struct gateway_config *before, struct err *err);
	/* fd is the callee's. Without this hook a listener is refused. */
	void (*on_listener)(struct keeper *keeper, enum listener_kind kind,
			    int fd);
	/* Finish what runs and call io_loop_stop(). Without it: at once. */
	void (*on_drain)(struct keeper *keeper);
};

struct keeper {
	const struct keeper_spec *spec;
	void *owner;
	struct io_loop *loop;
	struct arena arena; /* of config */
	struct gateway_config config;
	struct session_table sessions;
	struct keeper_peer *peers;
	size_t peer_count;
	struct rpc *warden;
	int state_fd; /* ROLE_FD_STATE */
	/* Records that wait to be told, in batches of one message each. */
	struct {
		struct batch *first, *last;
		size_t bytes; /* in all of them */
		bool is_flush_due;
		struct io_timer *timer; /* NULL until one waits longer */
		bool is_timed;
	} records;
	/* The end of an edge's session, which is answered once the ledger has
	 * the records; NULL timer: none ended yet. */
	struct {
		struct io_timer *timer;
		struct rpc_ticket ticket;
		uint64_t until_ms;
	} closing;
};

/* Run the process until the warden says MSG_DRAIN or goes away. Returns the
 * exit code. */
int keeper_main(const struct keeper_spec *spec, void *owner);

/* What keeper_main() does last: take the warden's channel and say READY.
 * For tests that play the warden; their keeper has a loop, a config and was
 * prepared. 0, or -1. */
int keeper_join(struct keeper *keeper, int channel, struct err *err);

/* The (newest) channel to a process of that role, or NULL. */
struct keeper_peer *keeper_peer_of(const struct keeper *keeper, enum role role);
/* The session that a peer speaks for; NULL when it is none of ours (any
 * more). */
struct session *keeper_peer_session(const struct keeper_peer *peer);

/* Close a peer's channel because it broke the rules. */
void keeper_drop_peer(struct keeper_peer *peer, const char *why);

/* ---- records: see gateway/flow/record.h ---- */

/* Tell the ledger, without waiting: records of one turn travel together.
 * time_ms is filled in when it is 0. When the ledger is away they wait, at
 * most KEEPER_RECORDS_MAX bytes; -1 when there is no room (the thing that
 * is recorded must then not happen: audit_unavailable). */
#define KEEPER_RECORDS_MAX (1 << 20)
int keeper_record(struct keeper *keeper, const struct record *record);
/* Do so many wait, here and for room in the ledger's socket, that whoever can
 * wait with what is to be recorded does? They would be lost with this process;
 * what the socket has is not. */
#define KEEPER_RECORDS_MANY (64 * 1024)
bool keeper_records_are_many(const struct keeper *keeper);

/* The same for how something ended whose decision was told before: it may
 * wait KEEPER_OUTCOME_MS for the next record's company, since each message
 * wakes the ledger. */
#define KEEPER_OUTCOME_MS 5
int keeper_record_outcome(struct keeper *keeper, const struct record *record);

/* So long an edge whose session ended waits at most until the ledger has read
 * what it was told: who hears that it closed the session kills it. */
#define KEEPER_CLOSE_MS 300

/* Tell the ledger and be called (never inside this call) when it is on disk
 * (ok), or could not be (within 5 s). 0, or -1: not called. */
typedef void keeper_durable_fn(bool ok, void *owner);
int keeper_record_durable(struct keeper *keeper, const struct record *record,
			  keeper_durable_fn *fn, void *owner);

#endif
