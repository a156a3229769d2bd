/*
 * What a sandbox has beside, or instead of, the host's own files (sandbox.h).
 */
#ifndef SANDBOX_HOST_ROOT_H
#define SANDBOX_HOST_ROOT_H

#include <stdbool.h>

#include "common/bytes.h"

/* A file of ours in SANDBOX_FILES. */
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
