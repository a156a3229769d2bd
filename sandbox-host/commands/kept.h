/*
 * The commands in the background of one sandbox, those that run and those
 * that have ended, until they are forgotten: which they were, how they ended,
 * and the newest of what they wrote. Of the sandbox's supervisor, which lives
 * as long as they do.
 *
 *	kept = kept_add(&list, text, &err);
 *	... kept_write() ...
 *	kept_finish(kept, exit_code, signal, reason);
 *
 * What a command writes has a cursor: the number of the byte, from the first
 * one on. When it is more than is kept, the oldest is gone, and a cursor in
 * it means the oldest byte there is.
 */
#ifndef SANDBOX_HOST_COMMANDS_KEPT_H
#define SANDBOX_HOST_COMMANDS_KEPT_H

#include "sandbox-host/flow/messages.h"

#define KEPT_RUNNING_MAX 200 /* inside are 256 of all kinds */
#define KEPT_ENDED_MAX	 512 /* the oldest go first */
#define KEPT_MS		 (60ull * 60 * 1000)
#define KEPT_OUTPUT_MAX	 BACKGROUND_OUTPUT_MAX /* of one */
#define KEPT_OUTPUTS_MAX (8 * 1024 * 1024)     /* of all of them */

/* All zeroes: none. */
struct kept_list {
	struct kept *all; /* the oldest first */
	size_t running, ended;
	size_t memory; /* that their outputs take */
};

struct kept {
	struct kept_list *list;
	char id[BACKGROUND_ID_MAX + 1];
	char *text; /* what was asked for, cut */
	bool is_running;
	int exit_code; /* of one that ended: 128+n for a signal */
	int signal;    /* 0: none */
	char reason[HOST_MESSAGE_MAX + 1];
	uint64_t started_ms, finished_ms; /* wall clock */
	uint64_t forget_ms;		  /* monotonic */
	void *runner;			  /* the supervisor's, while it runs */
	uint8_t *ring;
	size_t size;   /* of ring: grows up to KEPT_OUTPUT_MAX */
	uint64_t base; /* the cursor of what was first put at ring[0] */
	uint64_t end;  /* the cursor behind its last byte */
	struct kept *next, *prev;
};

/* A new one, which runs. NULL with ERR_TOO_LARGE: so many run already. */
struct kept *kept_add(struct kept_list *list, struct bytes text,
		      struct err *err);
/* NULL: there is none, or none any more. */
struct kept *kept_find(struct kept_list *list, struct bytes id);
void kept_finish(struct kept *kept, int exit_code, int number,
		 const char *reason);
/* Forget it as if it had never been. */
void kept_drop(struct kept *kept);
void kept_drop_all(struct kept_list *list);

/* Keep what it wrote. */
void kept_write(struct kept *kept, struct bytes bytes);
/* Append what is kept from *cursor on, which becomes where it begins. 0, or
 * -1: out has no room. */
int kept_read(const struct kept *kept, uint64_t *cursor, struct buf *out);

#endif
