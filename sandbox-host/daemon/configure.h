/*
 * The configuration that holds: from the file and the command line, at the
 * start and again (SIGHUP, MSG_HOST_RELOAD) while the daemon runs. All of a
 * file holds, or nothing of it.
 */
#ifndef SANDBOX_HOST_DAEMON_CONFIGURE_H
#define SANDBOX_HOST_DAEMON_CONFIGURE_H

#include "common/rpc.h"
#include "sandbox-host/daemon/config.h"

struct daemon;

/* The command line's part. */
struct host_options {
	const char *file;     /* NULL: fallback, if it is there */
	const char *fallback; /* once it was read, it is file */
	const char *run;
};

/* Read everything into config, which is to be released whatever comes of it.
 * Errors are appended to report, as people read them. 0, or -1. */
int configure_load(struct host_options *options, struct host_config *config,
		   struct buf *report, struct err *err);

/* Names of host.yaml, in a list for people. */
#define CONFIGURE_NAMES_MAX 512

/* What differs between the two and is settled when the daemon starts; empty:
 * nothing. */
void configure_fixed(const struct host_config *old,
		     const struct host_config *next,
		     char names[CONFIGURE_NAMES_MAX]);
/* What differs and can be taken, in the same way. */
void configure_taken(const struct host_config *old,
		     const struct host_config *next,
		     char names[CONFIGURE_NAMES_MAX]);
/* Does anything differ that a sandbox is built from? */
bool configure_rebuilds(const struct host_config *old,
			const struct host_config *next);

/* What became of a configuration that was read again. */
struct configured {
	bool holds;
	char taken[CONFIGURE_NAMES_MAX];
	struct buf report;
	struct err err;
};
/* Read it again; the log says what became of it. */
void configure_again(struct daemon *daemon, struct configured *configured);
void configured_release(struct configured *configured);

/* MSG_HOST_CONFIG, MSG_HOST_RELOAD */
void answer_config(struct rpc_ticket ticket, const void *message, int *fd,
		   void *owner);
void answer_reload(struct rpc_ticket ticket, const void *message, int *fd,
		   void *owner);

#endif
