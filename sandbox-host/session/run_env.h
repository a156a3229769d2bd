/*
 * The environment of a command: what sandbox-host makes of the caller's, and
 * what this run adds.
 */
#ifndef SANDBOX_HOST_SESSION_RUN_ENV_H
#define SANDBOX_HOST_SESSION_RUN_ENV_H

#include <jansson.h>

#include "policies/policy.h"
#include "sandbox-host/sandbox.h"

#define RUN_ENV_MAX	  256 /* -e options */
#define RUN_GIT_HOSTS_MAX 16

struct run_env {
	const struct policy *policy;
	json_t *placeholders;	   /* NAME: text, as control told them */
	json_t *signing;	   /* the same; an object if it signs */
	const char *const *caller; /* its variables, NULL-ended; or NULL */
	const struct sandbox_variable *image; /* environment.h */
	size_t image_count;
	const char *const *given; /* "NAME=VALUE": -e */
	size_t given_count;	  /* <= RUN_ENV_MAX */
};

/* Set spec->env; spec has its CA already. Later ones win: git's remotes for
 * ssh rewritten to HTTPS, how it signs, the policy's, placeholders, given.
 * Lives in arena and where the arguments do. 0, or -1. */
int run_env_make(const struct run_env *from, struct arena *arena,
		 struct sandbox_spec *spec, struct err *err);

#endif
