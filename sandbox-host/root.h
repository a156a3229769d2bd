/*
 * What a sandbox has beside, or instead of, the host's own files (sandbox.h).
 */
#ifndef SANDBOX_HOST_ROOT_H
#define SANDBOX_HOST_ROOT_H

#include <stdbool.h>

#include "common/bytes.h"

/* Our files inside; a read-only mount. */
#define SANDBOX_FILES	  "/run/sallyport"
#define SANDBOX_CA_PEM	  SANDBOX_FILES "/ca.pem"     /* ours alone */
#define SANDBOX_CA_BUNDLE SANDBOX_FILES "/bundle.pem" /* the host's + ours */
#define SANDBOX_CA_PKCS12 SANDBOX_FILES "/ca.p12"     /* the same, for Java */
#define SANDBOX_CA_DIR	  SANDBOX_FILES "/ca.d" /* empty: the bundle has all */

/* One more of these. */
struct sandbox_file {
	const char *name;
	struct bytes content;
	bool is_program;
};

/* Another root than the host's. path is never written, whatever stands in it
 * (untrusted) is not followed outside. */
struct sandbox_root {
	const char *path;   /* NULL: the host's own */
	const char *layers; /* 0700, the caller's: what becomes of it is kept in
			       "upper", which may be there before */
	bool is_read_only;
	/* Of a service: where its commands begin that say nothing, if it can be
	 * entered then. Inside; absolute; or NULL. */
	const char *cwd;
};

/* Something of the host's at another place inside: a directory or a file. */
struct sandbox_volume {
	const char *source, *target; /* absolute; no link is in source */
	bool is_writable;
};

#endif
