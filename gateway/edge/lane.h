/*
 * A lane is a transition table: for each state its step, the events that it
 * accepts, a deadline, and where it goes. Only the tables know the order. A
 * step cannot name a state: it says STAY, NEXT, OTHER (the second way on),
 * DENY or END. An event that a state does not accept ends the connection.
 *
 * EV_ENTER is delivered to a state when it is entered, and always accepted.
 */
#ifndef GATEWAY_EDGE_LANE_H
#define GATEWAY_EDGE_LANE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "policies/constraint.h"

struct conn;

/* X(event) */
#define LANE_EVENTS(X)                                                         \
	X(ENTER)                                                               \
	X(DATA)	     /* io_in(client) has bytes */                             \
	X(EOF)	     /* the client ended its side */                           \
	X(DRAINED)   /* what we sent to the client has left */                 \
	X(TLS_HELLO) /* the client's handshake waits for a certificate */      \
	X(TLS_READY)                                                           \
	X(ANSWER) /* a process that was asked has answered */                  \
	X(WAKE)	  /* what is waited for may have come */                       \
	X(UP_READY)                                                            \
	X(UP_HEAD)                                                             \
	X(UP_BODY)                                                             \
	X(UP_END)                                                              \
	X(UP_DRAINED)                                                          \
	X(UP_FAILED)                                                           \
	X(PEER_DATA) /* tunnel: the far side */                                \
	X(PEER_EOF)                                                            \
	X(PEER_DRAINED)

enum lane_event {
#define X(event) EV_##event,
	LANE_EVENTS(X)
#undef X
		EV_MAX
};

#define EV_BIT(event) (1u << (event))
#define EV_UP_RESPONSE                                                         \
	(EV_BIT(EV_UP_HEAD) | EV_BIT(EV_UP_BODY) | EV_BIT(EV_UP_END) |         \
	 EV_BIT(EV_UP_FAILED))

enum step {
	STEP_STAY,
	STEP_NEXT,
	STEP_OTHER,
	STEP_DENY, /* conn->refusal says why */
	STEP_END   /* close */
};

/* Every state of every lane; the tables are http_states, ... */
enum lane_state_id {
	AT_ARRIVE,
	AT_CONNECT,
	AT_PEEK,
	AT_SILENT,
	AT_TARGET,
	AT_INSPECT,
	AT_MINT,
	AT_TURN,
	AT_TLS,
	AT_H2,
	AT_HEAD,
	AT_ROUTE,
	AT_INTERNAL,
	AT_DECIDE,
	AT_LOOK,
	AT_VERIFY,
	AT_SCRIPT,
	AT_APPROVE,
	AT_PERMIT,
	AT_EXCHANGE,
	AT_DENY,
	AT_LINGER,
	AT_TUNNEL_APPROVE,
	AT_TUNNEL_DIAL,
	AT_TUNNEL_RELAY,
	AT_TUNNEL_HALF,
	AT_GIT_BEGIN,
	AT_GIT_OPEN,
	AT_GIT_COMMANDS,
	AT_GIT_TIPS,
	AT_GIT_DECIDE,
	AT_GIT_SPOOL,
	AT_GIT_PROVE,
	AT_GIT_CAPABILITIES,
	AT_GIT_ANCESTRY,
	AT_GIT_SEND,
	AT_GIT_REFUSE,
	AT_LFS,
	AT_LFS_OPEN,
	AT_LFS_ASK,
	AT_FIRST,
	AT_SOCKS,
	AT_WEBSOCKET_OPEN,
	AT_WEBSOCKET,
	AT_WEBSOCKET_CLOSE,
	AT_END, /* not a state: the connection is closed */
	AT_NONE /* not a state: the step never says so */
};

enum deadline_kind {
	DEADLINE_FIXED,	  /* from entering the state */
	DEADLINE_PROGRESS /* from the last event */
};

struct lane_state {
	const char *name;
	enum step (*step)(struct conn *conn, enum lane_event event);
	uint32_t accepts; /* EV_BITs beside EV_ENTER */
	uint32_t deadline_ms;
	enum deadline_kind deadline_kind;
	enum lane_state_id next, other, denied;
};

/* Indexed by lane_state_id; each lane's file fills its own. */
extern const struct lane_state http_states[];
extern const struct lane_state tunnel_states[];
extern const struct lane_state git_states[];
extern const struct lane_state lfs_states[];
extern const struct lane_state socks_states[];
extern const struct lane_state websocket_states[];

/* Put a new connection into its first state. */
void lane_begin(struct conn *conn);
/* Put a connection whose target is decided before its first request. */
void lane_begin_request(struct conn *conn);
/* Deliver an event. The connection may be closed by it (not freed before
 * the end of the turn). */
void lane_deliver(struct conn *conn, enum lane_event event);
/* The deadline of the state has passed. */
void lane_timeout(struct conn *conn);

/* End what the connection does, with words where the client can hear them. */
void lane_refuse(struct conn *conn, enum constraint constraint,
		 const char *text);

/* All tables as a Graphviz digraph: states with their deadlines, dashed edges
 * for what happens when one passes. */
void lanes_dump(FILE *out);

#endif
