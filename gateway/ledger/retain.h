/*
 * How long rows are kept (audit.retain). Rows are removed from the beginning
 * of the chain only, up to the first that is not older than that, some at a
 * time. What remains is still proven: in the same transaction
 *
 *	- a row is added that says which rows were removed and the hash of the
 *	  last of them: no cut can be made that the chain does not tell of;
 *	- the anchor (that sequence and hash, and where the row stands that
 *	  tells of it) is stored beside the rows; verification begins there, and
 *	  wants to see that row.
 */
#ifndef GATEWAY_LEDGER_RETAIN_H
#define GATEWAY_LEDGER_RETAIN_H

#include "gateway/ledger/store.h"

#define RETAIN_ROWS_MAX	  500 /* of one cut */
#define RETAIN_EVERY_MS	  60000
#define RETAIN_FIRST_MS	  1000 /* after the start */
#define RETAIN_MORE_MS	  100  /* after a cut that was as long as may be */
#define RETAIN_DETAIL_MAX 192

/* Make the anchor's table if need be, and read the anchor. 0, or -1. */
int retain_open(struct store *store, struct err *err);
/* Remove rows from the beginning that are older than before_ms, at most
 * RETAIN_ROWS_MAX. How many, or -1: nothing was changed. */
int retain_cut(struct store *store, uint64_t before_ms, uint64_t now_ms,
	       struct err *err);
/* The words of the row that tells of the anchor. */
void retain_words(const struct chain *anchor, char out[RETAIN_DETAIL_MAX]);

#endif
