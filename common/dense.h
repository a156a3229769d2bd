/*
 * Places for things of one size that are many and stay long: what every
 * connection has. They lie side by side in pages of their own, the first free
 * one is taken first, and dense_give_back() returns the pages in which none is
 * used. On the heap they would lie between what was freed around them, one in
 * each page. For one thread; in a build with ASan each is the heap's, so that
 * what points into one that was given is found.
 *
 *	static struct dense ios = {.size = sizeof(struct io)};
 *	struct io *io = dense_take(&ios, sizeof(*io));
 *	...
 *	dense_give(&ios, io);
 */
#ifndef COMMON_DENSE_H
#define COMMON_DENSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DENSE_PLACES_MAX 16384 /* by default; more are the heap's */

struct dense {
	size_t size;	    /* of a place in bytes: a multiple of 8 */
	size_t max;	    /* places, a multiple of 64; 0: the default */
	uint8_t *places;    /* NULL: none was taken yet */
	uint64_t *used;	    /* a bit for each, before the places */
	size_t low;	    /* in used: no word before it has a free place */
	size_t high;	    /* and none from it on a used one */
	bool has_given;	    /* since dense_give_back() */
	struct dense *next; /* of the process */
};

/* len zeroed bytes, aligned to 8: a place, or the heap's if there is none or
 * they do not fit. NULL when memory is out. */
void *dense_take(struct dense *dense, size_t len);
/* Give back what dense_take() gave; NULL is nothing. */
void dense_give(struct dense *dense, void *taken);
/* Is it a place, and not the heap's? */
bool dense_has(const struct dense *dense, const void *taken);

/* Return to the kernel the pages of all struct dense in which nothing is
 * used: for the loop alone (io_rest.c), which knows when the process rests. */
void dense_give_back(void);

#endif
