/*
 * A channel between two of our processes: typed messages over a
 * SOCK_SEQPACKET pair, each with at most one descriptor, request ids, a
 * deadline on every call, and on the answering side a permit table: which
 * requests exist, of which shape, how often.
 *
 * Header, before the encoded body: u16 type, u8 kind (rpc_kind), u8 zero,
 * u32 id. Notifications have id 0.
 *
 * The peer is untrusted: an unknown type, a body that does not decode, a
 * descriptor where none belongs, a reply nobody waits for, a rate passed
 * (unless rate_code is set): the channel is closed, on_closed is called with
 * the reason, the process goes on (style: broken peer process).
 *
 * Ownership: rpc_new() takes the socket. rpc_close() may be called
 * anywhere; every pending call then ends with ERR_CLOSED, on_closed is not
 * called. The object is freed at the end of the turn, or when the last
 * ticket is answered. Do not touch it after rpc_close() or on_closed.
 */
#ifndef COMMON_RPC_H
#define COMMON_RPC_H

#include "common/io.h"
#include "common/wire.h"

#define RPC_PENDING_MAX 4096	  /* calls that wait for their reply */
#define RPC_QUEUE_MAX	(4 << 20) /* bytes queued while the socket is full */

enum rpc_kind {
	RPC_NOTIFY,  /* no answer wanted */
	RPC_REQUEST, /* answered by a reply or a refusal of the same id */
	RPC_REPLY,
	RPC_REFUSAL, /* body: struct rpc_refusal */
	RPC_KIND_MAX
};

struct rpc;

/* Why a request was refused: a code of the asker's domain (a constraint)
 * and one line for people. */
struct rpc_refusal {
	uint16_t code;
	struct bytes detail; /* <= 512 bytes of text */
};

/* A request that waits for its answer. Answer it exactly once, now or in a
 * later turn; when the channel is gone by then the answer goes nowhere. */
struct rpc_ticket {
	struct rpc *rpc;
	uint16_t type;
	uint32_t id; /* 0: it was a notification, the answer is dropped */
};

/* What arrived. message is decoded (a struct of the permit's schema), valid
 * for the call only; fd is the callee's to take with take_fd(), or closed
 * afterwards. channel_owner is rpc_config.owner. */
typedef void rpc_answer_fn(struct rpc_ticket ticket, const void *message,
			   int *fd, void *channel_owner);

struct rpc_permit {
	uint16_t type;
	const struct wire_schema *schema;
	rpc_answer_fn *answer;
	bool takes_fd;	     /* a descriptor must come with it; else none may */
	unsigned per_second; /* 0: no bound. Burst: the same number */
};

struct rpc_config {
	const struct rpc_permit *permits;
	size_t permit_count;
	void *owner;
	/* A request past its permit's rate is refused with this code: for
	 * peers whose own clients set the pace. 0: it ends the channel. */
	uint16_t rate_code;
	/* Messages wait here, none of any channel is being handled: what came
	 * before them elsewhere may be received now. May be NULL. */
	void (*on_waiting)(void *owner);
	/* The channel is dead (why: for the log). May be NULL. */
	void (*on_closed)(struct rpc *rpc, const char *why, void *owner);
};

/* The outcome of a call: err is NULL and message decoded with the schema
 * given to rpc_call (fd the callee's to take), or err says what happened
 * (ERR_DENIED: refusal is set; ERR_TIMEOUT; ERR_CLOSED). */
struct rpc_outcome {
	const struct err *err;
	const struct rpc_refusal *refusal;
	const void *message;
	int fd;
};
typedef void rpc_outcome_fn(struct rpc_outcome *outcome, void *owner);

struct rpc *rpc_new(struct io_loop *loop, int socket,
		    const struct rpc_config *config, struct err *err);
void rpc_close(struct rpc *rpc);

struct rpc_call {
	uint16_t type;
	const struct wire_schema *schema; /* of message */
	const void *message;
	int fd; /* stays the caller's; -1 */
	const struct wire_schema *reply_schema;
	unsigned timeout_ms; /* > 0 */
	rpc_outcome_fn *on_outcome;
	void *owner;
};
/* Ask. 0, on_outcome is called once, later, never inside this call; or -1
 * when it could not be sent, and on_outcome is not called. *id, if not
 * NULL, is for rpc_cancel(). */
int rpc_ask(struct rpc *rpc, const struct rpc_call *call, uint32_t *id,
	    struct err *err);
/* Nobody waits any more: on_outcome will not be called, a reply that still
 * comes is dropped (its descriptor closed). */
void rpc_cancel(struct rpc *rpc, uint32_t id);

/* Say, without an answer. 0, or -1 when the queue is full. */
int rpc_tell(struct rpc *rpc, uint16_t type, const struct wire_schema *schema,
	     const void *message, int fd, struct err *err);

/* Answer. fd stays the caller's (-1: none). A message that cannot be encoded
 * becomes a refusal with code 0. */
void rpc_reply(struct rpc_ticket ticket, const struct wire_schema *schema,
	       const void *message, int fd);
void rpc_refuse(struct rpc_ticket ticket, uint16_t code, const char *format,
		...) __attribute__((format(printf, 3, 4)));
/* Say that the ticket is answered in a later turn: the channel object stays
 * until then, also when it is closed. A request that its handler leaves
 * unanswered is held anyway; a notification is not. */
void rpc_ticket_hold(struct rpc_ticket ticket);
/* Is there still a channel for the answer? Whoever asked may have gone before
 * that is seen. */
bool rpc_ticket_is_heard(struct rpc_ticket ticket);

/* While a channel rests, nothing is received: what comes waits in the socket
 * and wakes nobody; nor is its end seen. Sending goes on. */
void rpc_rest(struct rpc *rpc, bool rests);
/* Receive some of what came, resting or not. Never from inside a handler:
 * there is memory for one message. False: nothing is left, or the channel
 * has ended. */
bool rpc_receive(struct rpc *rpc);

/* Bytes queued because the peer does not read. */
size_t rpc_queued(const struct rpc *rpc);

#endif
