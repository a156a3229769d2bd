/*
 * Names that must not appear, and host sockets that may be connected to:
 * the part of a plan that the reporter enforces.
 */
#ifndef SANDBOX_HOST_GUARD_H
#define SANDBOX_HOST_GUARD_H

#include "sandbox-host/pattern.h"
#include "sandbox-host/plan.h"

struct guard {
	const char **names; /* borrowed from the plan */
	size_t name_count;
	struct pattern *patterns;
	size_t pattern_count;
	const char **sockets;
	size_t socket_count;
};

/* Take the guards of a plan. 0, or -1. */
int guard_open(struct guard *guard, const struct plan *plan, struct err *err);
void guard_close(struct guard *guard);

/* Is path (absolute, real) a guarded name, or below one? */
bool guard_covers(const struct guard *guard, const char *path);
/* Is it above one? */
bool guard_is_above(const struct guard *guard, const char *path);
/* Was this socket brought in by name? */
bool guard_allows_socket(const struct guard *guard, const char *path);

#endif
