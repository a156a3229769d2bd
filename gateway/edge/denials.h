/*
 * How many refusals of a session get a row of their own (security F5): a
 * burst, then so many a second (gateway/flow/limits.h). What is beyond is
 * counted, and told in one row a second for each kind of row and
 * constraint. Nothing that was allowed, or that carries a credential, is
 * ever only counted.
 */
#ifndef GATEWAY_EDGE_DENIALS_H
#define GATEWAY_EDGE_DENIALS_H

#include "common/io.h"
#include "gateway/decide/bucket.h"
#include "gateway/flow/record.h"

/* So many refusals of one kind that got no row. */
struct denial_sum {
	uint64_t count;
	uint64_t first_ms, last_ms; /* wall clock */
};

struct denials {
	struct bucket rows;
	struct denial_sum sums[RECORD_KIND_MAX][CONSTRAINT_MAX];
	bool has_sums;
	struct io_timer *timer; /* runs while has_sums */
	int (*write)(void *owner, const struct record *record);
	void *owner;
};

/* Rows go to write(owner). 0, or -1 when memory is out. */
int denials_init(struct denials *denials, struct io_loop *loop,
		 int (*write)(void *owner, const struct record *record),
		 void *owner);

/* Does the record get a row? Else it is counted. */
bool denials_pass(struct denials *denials, const struct record *record,
		  uint64_t now_ms);

/* Write the sums now: the session ends. */
void denials_flush(struct denials *denials);

#endif
