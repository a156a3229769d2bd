/*
 * Programs of a sandbox that stay (flow/messages_resident.h), as requests see
 * them: what is known of one is asked for anew each time, and a guest is who
 * holds one.
 *
 *	guest = guest_new(exchange, &wish, on_event, task);
 *	guest_channel(guest, fd);	// of exchange_channel()
 *	... GUEST_TAKEN: guest_start(), where it does not run
 *	... GUEST_RUNS, GUEST_OUTPUT: guest_read() for the next piece, ...
 *	guest_free(guest);		// in the exchange's on_end
 *
 * Until GUEST_RUNS a failure answers the request.
 */
#ifndef SANDBOX_HOST_API_EXECD_RESIDENT_H
#define SANDBOX_HOST_API_EXECD_RESIDENT_H

#include "sandbox-host/api/execd.h"

/* ---- execd_resident.c ---- */

/* Ask about some of a kind (MSG_RESIDENT_*), on a channel of the question's
 * own (its fd is taken); a refusal is answered. */
void resident_ask(struct exchange *exchange, enum resident_kind kind,
		  const struct exchange_question *question,
		  exchange_answer_fn *on_answer);

/* Is it a good answer? Else the request is answered. */
bool resident_is_answer(struct exchange *exchange, enum resident_kind kind,
			const struct rpc_outcome *outcome);

/* ---- execd_guest.c ---- */

enum guest_event {
	GUEST_TAKEN, /* it is ours: guest_view(). Where it runs, GUEST_RUNS is
			next, else guest_start() */
	GUEST_RUNS,
	GUEST_OUTPUT, /* guest_view() */
	GUEST_HEARD,  /* nothing that was written waits; or guest_is_deaf() */
	GUEST_ENDED,  /* guest_exit_code(). The last */
	GUEST_LOST    /* guest_is_taken_over(); else it was dropped. The last */
};

struct guest;
typedef void guest_fn(struct guest *guest, enum guest_event event, void *owner);

struct guest_wish {
	struct resident_take take;
	const struct exec_request *request; /* NULL: take.id is there; else one
					       is made that runs this */
	bool is_default; /* and that may be the one there is already */
};
/* What was taken, with what it wrote before, and for GUEST_OUTPUT alone what it
 * writes. */
struct guest_view {
	struct resident_taken taken;
	struct bytes replay;
	struct resident_output piece;
};

/* wish->take.id has at most RESIDENT_ID_MAX bytes. NULL: the request was
 * answered. */
struct guest *guest_new(struct exchange *exchange,
			const struct guest_wish *wish, guest_fn *fn,
			void *owner);
/* Make it, where that is wanted, and take it, on a channel (taken). */
void guest_channel(struct guest *guest, int *fd);
/* Whoever holds it goes; what runs in a context is interrupted. The guest may
 * not be touched any more. May be NULL. */
void guest_free(struct guest *guest);
const char *guest_id(const struct guest *guest);
const struct guest_view *guest_view(const struct guest *guest);
void guest_start(struct guest *guest, bool is_pipe);
/* One piece of output may come. */
void guest_read(struct guest *guest);
/* At most GUEST_INPUT_MAX bytes wait until they are heard. 0, or -1. */
#define GUEST_INPUT_MAX (1024 * 1024)
int guest_write(struct guest *guest, struct bytes bytes);
/* Does anything wait? GUEST_HEARD comes when that is over. */
bool guest_is_waiting(const struct guest *guest);
/* Its input has ended, or is full: what waited is lost. */
bool guest_is_deaf(const struct guest *guest);
void guest_resize(struct guest *guest, uint16_t rows, uint16_t columns);
void guest_signal(struct guest *guest, int number);
/* Nothing runs in it that is not wanted. */
void guest_leave(struct guest *guest);
/* It is not to stay. */
void guest_drop(struct guest *guest);
int guest_exit_code(const struct guest *guest); /* -1: a signal */
bool guest_is_taken_over(const struct guest *guest);

#endif
