/*
 * The process that a sandbox belongs to, once it runs: what neither it nor the
 * sandbox's end needs is given up (outside.h).
 */
#ifndef SANDBOX_HOST_CALLER_H
#define SANDBOX_HOST_CALLER_H

#include "sandbox-host/outside.h"
#include "sandbox-host/sandbox.h"

#define CALLER_PLACES_MAX 8

/* places: what the caller itself needs of files (CALLER_PLACES_MAX at most),
 * beside the sandbox's groups and what /proc shows. 0, or -1. */
int caller_confine(const struct sandbox *sandbox,
		   const struct outside_place *places, size_t count,
		   struct err *err);

#endif
