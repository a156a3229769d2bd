/*
 * What a struct sandbox holds; private to sandbox.c and supervise.c.
 */
#ifndef SANDBOX_HOST_HANDLE_H
#define SANDBOX_HOST_HANDLE_H

#include <signal.h>

#include "sandbox-host/disk.h"
#include "sandbox-host/identity.h"
#include "sandbox-host/limits.h"
#include "sandbox-host/news.h"
#include "sandbox-host/plan.h"
#include "sandbox-host/report.h"
#include "sandbox-host/reporter.h"
#include "sandbox-host/seccomp.h"
#include "sandbox-host/terminal.h"

struct sandbox {
	struct plan plan;
	struct identity identity;
	struct seccomp_program program;
	struct limits limits;
	struct base base; /* what its root began with */
	bool has_base;	  /* not a root of its own */
	struct report report;
	struct reporter reporter;
	struct terminal terminal;
	pid_t pid; /* of init; -1 once it was waited for */
	int pidfd;
	int control;
	int root;    /* "/" inside, until the reporter has it; -1 */
	int changes; /* the lock on the changes of an overlay; -1 */
	uint64_t time_ms, start_ms;
	struct disk_watch disk;
	struct sandbox_news news; /* fd_of NULL: none */
	int signals;		  /* signalfd from sandbox_go() on; -1 */
	sigset_t old_mask;
};

/* Tell what the plan has to say. */
void sandbox_say_notes(struct sandbox *sandbox);
/* Take the caller's signals: from now on they are the command's. 0, or -1. */
int supervise_begin(struct sandbox *sandbox, struct err *err);
/* Give them back. */
void supervise_end(struct sandbox *sandbox);

#endif
