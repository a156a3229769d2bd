/*
 * What a sandbox needs whose session has commits and tags signed: git's
 * signing program, which asks the gateway (sandbox-host/signer), and whose
 * public key it is. No private one is ever inside.
 */
#ifndef SANDBOX_HOST_SESSION_SIGNING_H
#define SANDBOX_HOST_SESSION_SIGNING_H

#include <jansson.h>

#include "common/arena.h"
#include "sandbox-host/sandbox.h"

#define SIGNING_PROGRAM	 "sallyport-sign"
#define SIGNING_KEY	 "sign.pub"
#define SIGNING_ALLOWED	 "allowed_signers"
#define SIGNING_FILE_MAX (4 * 1024 * 1024)

/* Set spec->files; signing is of control's answer, an object. They live in
 * arena. 0, or -1. */
int signing_files(json_t *signing, struct arena *arena,
		  struct sandbox_spec *spec, struct err *err);

#endif
