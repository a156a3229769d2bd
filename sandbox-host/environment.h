/*
 * The variables inside: a few of the caller's that are no secret, what the
 * policy passes and sets, and what makes programs use our proxy and trust
 * our CA. Nothing else of the caller's passes.
 */
#ifndef SANDBOX_HOST_ENVIRONMENT_H
#define SANDBOX_HOST_ENVIRONMENT_H

#include "common/arena.h"
#include "sandbox-host/sandbox.h"

struct environment {
	const char *const *caller; /* environ: "NAME=value", NULL-ended */
	/* Of an image: they win over the few of the caller's that nobody
	 * named, and over no others. */
	const struct sandbox_variable *image;
	size_t image_count;
	struct sandbox_paths pass; /* names to take from it beside ours */
	const struct sandbox_variable *set; /* these win over all others */
	size_t set_count;
	bool has_ca; /* as in the spec of the sandbox */
	void (*on_dropped)(void *owner, const char *name); /* or NULL */
	void *owner;
};

/* Make the list for struct sandbox_spec in arena; strings of *from are
 * borrowed. Later names win; each name stands once. A name in `pass` that
 * looks like a credential's is left out, and told by on_dropped if the caller
 * has it: those belong into the vault, and a placeholder into `set`. 0, or
 * -1. */
int environment_make(const struct environment *from, struct arena *arena,
		     const struct sandbox_variable **list, size_t *count,
		     struct err *err);

/* Is a variable of this name taken from the caller without being named? */
bool environment_is_kept(const char *name);
/* Does a variable of this name usually hold a secret? */
bool environment_is_secret(const char *name);

#endif
