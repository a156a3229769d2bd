/*
 * Questions to other processes. Each process closes the channel of whoever
 * asks too often; control asks for anybody, so it keeps within half of
 * what they allow, and refuses the rest itself.
 */
#ifndef GATEWAY_CONTROL_ASK_H
#define GATEWAY_CONTROL_ASK_H

#include "gateway/control/control.h"

#define ASK_TIMEOUT_MS 8000

struct ask;

typedef void ask_fn(struct rpc_outcome *outcome, void *owner);

struct question {
	enum role role; /* ROLE_WARDEN, or a peer's */
	uint16_t type;
	const struct wire_schema *schema;
	const void *message;
	int fd; /* stays the caller's; -1: none */
	const struct wire_schema *reply_schema;
	ask_fn *fn; /* may be NULL: the answer does not matter */
	void *owner;
	unsigned timeout_ms; /* 0: ASK_TIMEOUT_MS */
	/* When nobody waits for the answer any more, whatever it is, or none
	 * came in time, this session is ended again. Empty: nothing is
	 * undone. */
	struct bytes undo;
	uid_t uid; /* who creates it: that it was not made is recorded */
};

/* Ask. fn is called once, later, unless ask_leave() came first. NULL with
 * *err: ERR_CLOSED, the process is not there; ERR_TOO_LARGE, too many
 * questions; or another failure. */
struct ask *ask_send(struct control *control, const struct question *question,
		     struct err *err);
/* Nobody waits any more. The ask may be NULL. */
void ask_leave(struct ask *ask);

/* End a session, without caring for the answer. 0, or -1: not asked. */
int ask_end_session(struct control *control, struct bytes id, struct err *err);

/* May a question of this type go out now, so many a second? Counted as one
 * that is open. */
bool ask_rate_take(struct control_rate *rate, unsigned per_second,
		   uint64_t now_ms);

#endif
