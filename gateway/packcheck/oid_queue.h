/*
 * Object ids, each once, taken in the order in which they came.
 */
#ifndef GATEWAY_PACKCHECK_OID_QUEUE_H
#define GATEWAY_PACKCHECK_OID_QUEUE_H

#include <git2.h>
#include <stdbool.h>
#include <stddef.h>

struct oid_seen;

/* Zeroed before use. */
struct oid_queue {
	struct oid_seen *all; /* hash */
	struct oid_seen *first, *last;
	size_t count; /* that ever came */
};

/* 0, also when it was there before; -1 when that would be more than max, or
 * memory is out. */
int oid_queue_push(struct oid_queue *queue, const git_oid *oid, size_t max);
/* Did it ever come? */
bool oid_queue_has(const struct oid_queue *queue, const git_oid *oid);
/* The next one, valid until release; NULL: none. */
const git_oid *oid_queue_pop(struct oid_queue *queue);
void oid_queue_release(struct oid_queue *queue);

#endif
