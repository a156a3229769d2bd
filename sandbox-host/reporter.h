/*
 * The reporter's own process (notify.h): it alone looks at the memory of
 * programs inside and at what their paths lead to. It is born before there is
 * a command, gives up the rest (outside.h), and says what it denied to the
 * caller's process, which looks at nothing inside. What it says is untrusted.
 *
 * It ends with the caller, or when nobody inside can ask any more. If it dies
 * before, the calls that it judges fail.
 */
#ifndef SANDBOX_HOST_REPORTER_H
#define SANDBOX_HOST_REPORTER_H

#include "sandbox-host/identity.h"
#include "sandbox-host/plan.h"
#include "sandbox-host/report.h"

#define REPORTER_FDS_MAX 2

struct reporter {
	int fd; /* readable: reporter_hear(); -1: there is none */
	pid_t pid;
};

/* Start it, for what is below process 1 (init). The plan may be released
 * later. 0, or -1. */
int reporter_start(struct reporter *reporter, const struct plan *plan,
		   const struct identity *identity, pid_t init,
		   struct err *err);
/* Wait until it can serve. 0, or -1, with its own words where it says why it
 * can not. */
int reporter_wait(const struct reporter *reporter, struct err *err);
/* Let it serve: "/" inside, and what came with CONTROL_NOTIFY (control.h; count
 * of them). All are closed, also when it fails. 0, or -1. */
int reporter_serve(struct reporter *reporter, int root, const int *fds,
		   size_t count, struct err *err);
/* Take what it said, to be told. Does not wait. False: it has ended. */
bool reporter_hear(struct reporter *reporter, struct report *report);
/* Nobody inside can ask any more: take the rest of what it said. Waits for its
 * end, a second at most. */
void reporter_finish(struct reporter *reporter, struct report *report);
/* notify_know(). */
void reporter_know(const struct reporter *reporter, pid_t inside, bool is_ours);
/* Calls that wait for an answer get one: there is nobody left. */
void reporter_end(struct reporter *reporter);

#endif
