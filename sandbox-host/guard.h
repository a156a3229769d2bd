/*
 * Names that must not appear, names that must not be read should they
 * appear, and host sockets that may be connected to: the part of a plan that
 * the reporter enforces.
 */
#ifndef SANDBOX_HOST_GUARD_H
#define SANDBOX_HOST_GUARD_H

#include "sandbox-host/names.h"
#include "sandbox-host/pattern.h"
#include "sandbox-host/plan.h"

struct guard_list {
	struct names names; /* borrowed from the plan */
	struct pattern *patterns;
	size_t pattern_count;
};

struct guard {
	struct guard_list kept;	     /* not to be written */
	struct guard_list veiled;    /* nor to be read */
	const struct ignore *ignore; /* the plan's; NULL: none */
	const char **sockets;
	size_t socket_count;
};

/* Take the guards of a plan, which outlives them. 0, or -1. */
int guard_open(struct guard *guard, const struct plan *plan, struct err *err);
void guard_close(struct guard *guard);

/* Is path (absolute, real) a name that must not be written, or below one? */
bool guard_covers(const struct guard *guard, const char *path);
/* One that must not be read either? */
bool guard_veils(const struct guard *guard, const char *path,
		 bool is_directory);
/* Is it above one that must not be written, or what a glob of them is below? */
bool guard_is_above(const struct guard *guard, const char *path);
/* Is what must not be read below one directory, should it appear, still that
 * where the directory is moved to? */
bool guard_keeps(const struct guard *guard, const char *from, const char *to);
/* Was this socket brought in by name? */
bool guard_allows_socket(const struct guard *guard, const char *path);

#endif
