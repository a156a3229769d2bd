/*
 * Absolute names, and what is above them, as a table: whether a path is one of
 * them, below one or above one takes a look or a few, however many there are.
 */
#ifndef SANDBOX_HOST_NAMES_H
#define SANDBOX_HOST_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

/* Zeroed: none. */
struct names {
	struct names_entry *entries; /* of uthash */
	uint32_t seed;		     /* nobody can choose names that meet */
};

/* Add a name (absolute, without a '/' at its end, below PATH_MAX), which
 * outlives the table. 0, or -1. */
int names_add(struct names *names, const char *name, struct err *err);
void names_release(struct names *names);

/* Is path (absolute) one of the names, or below one? */
bool names_cover(const struct names *names, const char *path);
/* Is it one, or above one? */
bool names_are_below(const struct names *names, const char *path);

#endif
