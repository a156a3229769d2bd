/*
 * What a policy says that the host must have. What it lacks makes a sandbox
 * weaker, and is a reason not to have one where the policy says so.
 */
#ifndef SANDBOX_HOST_REQUIRE_H
#define SANDBOX_HOST_REQUIRE_H

#include "sandbox-host/limits.h"
#include "sandbox-host/sandbox.h"

/* After limits_prepare(). 0, or -1 with what is missing (ERR_UNSUPPORTED). */
int require_check(const struct sandbox_spec *spec, const struct limits *limits,
		  struct err *err);

#endif
