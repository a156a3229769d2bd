/*
 * Group commit: what arrived in one turn of the loop becomes one
 * transaction, and who asked for durability is answered after it.
 *
 *	records + tickets --(end of the turn)--> begin, add..., commit
 *		--> every ticket answered, followers told
 *
 * Rows that nobody waits for may wait BATCH_WAIT_MS for company, and the
 * outcome of one that does becomes a part of it (join.h).
 *
 * When the store fails (disk full, EIO; security F6): rows that somebody
 * waits for are dropped and their askers refused, since what they announce
 * must then not happen; the others happened, so they are kept, up to
 * BATCH_BYTES_MAX, and stored when the store works again, which is tried
 * every BATCH_RETRY_MS. What did not fit is counted. After a failure a row
 * of its own says how long it lasted, why, how many were refused and how many
 * lost: nothing disappears silently.
 */
#ifndef GATEWAY_LEDGER_BATCH_H
#define GATEWAY_LEDGER_BATCH_H

#include "gateway/ledger/join.h"
#include "gateway/ledger/store.h"

#define BATCH_ROWS_MAX	1024 /* then it is committed at once */
#define BATCH_BYTES_MAX (4 * 1024 * 1024)
#define BATCH_ASKS_MAX	1024
#define BATCH_WAIT_MS	20
#define BATCH_RETRY_MS	250

#define BATCH_FAILING_MAX 384 /* with a zero at its end */

struct batch_row;

struct batch_hooks {
	/* The records of a ticket are on disk, or (why) could not be. */
	void (*answer)(struct rpc_ticket ticket, const char *why);
	/* Rows were committed. */
	void (*on_stored)(void *owner);
	void *owner;
};

struct batch {
	struct io_loop *loop;
	struct store *store;
	const struct batch_hooks *hooks;
	struct io_timer *timer;
	struct batch_row *first, *last;
	size_t row_count;
	size_t bytes;
	struct rpc_ticket asks[BATCH_ASKS_MAX];
	size_t ask_count;
	struct join join;
	bool is_deferred;   /* a flush is due at the end of this turn */
	bool is_timed;	    /* a flush is due when the timer fires */
	uint64_t failed_ms; /* wall clock; 0: the store works */
	uint64_t lost;
	uint64_t refused;
	char why[256];
};

/* 0, or -1. Everything pointed to outlives the batch. */
int batch_init(struct batch *batch, struct io_loop *loop, struct store *store,
	       const struct batch_hooks *hooks, struct err *err);
/* Free what it holds; flush first. */
void batch_release(struct batch *batch);

/* Take records (copied). session, when not NULL, is whose they are, whatever
 * they say. ticket, when not NULL, is answered once they are stored or
 * cannot be. */
void batch_add(struct batch *batch, const struct msg_records *records,
	       const char *session, const struct rpc_ticket *ticket);

/* Store now what is held. 0, or -1 when the store fails. */
int batch_flush(struct batch *batch);

/* Since when nothing can be stored, and why; "" while the store works. */
void batch_failing(const struct batch *batch, char out[BATCH_FAILING_MAX]);

#endif
