/* One program that stays, and who holds it: see residents.h. */
#ifndef SANDBOX_HOST_SUPERVISOR_RESIDENT_H
#define SANDBOX_HOST_SUPERVISOR_RESIDENT_H

#include "common/buf.h"
#include "sandbox-host/commands/exec_client.h"
#include "sandbox-host/supervisor/supervisor.h"

/* Who looks: a channel. */
struct looker {
	struct supervisor *supervisor;
	struct rpc *rpc;
	struct resident *held;	    /* NULL: none (any more) */
	struct rpc_ticket starting; /* of MSG_RESIDENT_START, until it is
				       answered */
	bool wants_piece;	    /* there is room for one */
	bool waits;		    /* its input was not heard yet */
	struct looker *next, *prev;
};

enum resident_phase {
	PHASE_NONE, /* no process */
	PHASE_STARTING,
	PHASE_RUNNING,
	PHASE_ENDED /* the holder has not got all of its output */
};

struct resident {
	struct supervisor *supervisor;
	struct residents *residents;
	enum resident_kind kind;
	bool is_default;
	char id[RESIDENT_ID_MAX + 1];
	int request; /* what it runs, sealed */
	enum resident_phase phase;
	struct exec_client *exec; /* NULL: PHASE_NONE */
	bool is_pipe;		  /* no terminal */
	bool is_busy;		  /* what was written to it may run */
	bool is_had;		  /* somebody got it: wrote to it, or left it */
	struct pace_turn turn;
	struct buf replay;
	uint64_t written;
	struct looker *holder;
	uint64_t used_ms; /* monotonic */
	struct resident *next, *prev;
};

/* Start its process for its holder, whose ticket is kept: it is answered
 * later. 0, or -1: it is not. */
int resident_start(struct resident *resident, bool is_pipe,
		   struct rpc_ticket ticket, struct err *err);
/* What its holder says. */
void resident_read(struct resident *resident);
void resident_write(struct resident *resident, struct bytes bytes);
void resident_signal(struct resident *resident, int number);
/* Its turn (pace.h). */
void resident_go_on(void *resident);
/* Nobody holds it from now on; a context that nobody got is over. It may be
 * gone afterwards. */
void resident_leave(struct resident *resident);
/* End what runs. Its holder, and its place among the others, are the
 * caller's. */
void resident_free(struct resident *resident);

/* ---- residents.c ---- */

/* Take it from those that are there, and free it; nobody holds it. */
void residents_remove(struct resident *resident);

#endif
