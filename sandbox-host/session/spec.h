/*
 * From a policy and the session that was made for it to what a sandbox is
 * built from.
 */
#ifndef SANDBOX_HOST_SESSION_SPEC_H
#define SANDBOX_HOST_SESSION_SPEC_H

#include <jansson.h>
#include <limits.h>

#include "common/arena.h"
#include "policies/policy.h"
#include "sandbox-host/sandbox.h"

struct session_spec {
	const struct policy *policy;
	const char *policy_path;   /* its file, to be protected; or NULL */
	json_t *session;	   /* control's answer, when it was created */
	const char *workspace;	   /* a real path */
	const char *changes;	   /* of an overlay; else NULL or "" */
	const char *home;	   /* or NULL */
	const char *const *caller; /* the caller's variables, NULL-ended */
	/* of an image: over the caller's that pass unnamed, under all else */
	const struct sandbox_variable *image;
	size_t image_count;
	const char *const *given; /* "NAME=value": set these inside */
	size_t given_count;
};

/* Fill spec: everything but argv, has_terminal and who hears of events. Its
 * strings are in arena, or borrowed from *from. 0, or -1. */
int session_spec_make(const struct session_spec *from, struct arena *arena,
		      struct sandbox_spec *spec, struct err *err);
/* The name path, in the directory that it really is in: it may have gone, or be
 * a link. False: there is no telling. */
bool session_find_name(const char *path, char name[PATH_MAX]);

#endif
