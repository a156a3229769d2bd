/*
 * What the sandbox denied, told on stderr and brought to the ledger: posted
 * by a process of its own, which is made at the first event. Neither a slow
 * gateway nor a flood of events holds the sandbox up: what does not fit into
 * the queue is counted, and the count is posted.
 */
#ifndef SANDBOX_HOST_SESSION_RECORDER_H
#define SANDBOX_HOST_SESSION_RECORDER_H

#include <sys/types.h>

#include "sandbox-host/sandbox.h"

struct recorder {
	const char *session; /* id; borrowed */
	int queue;	     /* -1: none yet */
	pid_t poster;	     /* 0: none yet */
	unsigned dropped;
	bool failed; /* there will be no poster */
};

void recorder_open(struct recorder *recorder, const char *session);
/* A sandbox_on_event; owner is the recorder. */
void recorder_on_event(void *owner, const struct sandbox_event *event);
/* The same, without telling it. */
void recorder_put(struct recorder *recorder, const struct sandbox_event *event);
/* Wait, for RECORDER_LAST_MS at most, until all of it was posted. */
#define RECORDER_LAST_MS 2000
void recorder_close(struct recorder *recorder);

/* The body of POST /v1/sessions/{id}/records for an event; text (untrusted)
 * that is no UTF-8 gets '?' for its bytes beyond ASCII. NULL: no memory.
 * Free it. */
char *recorder_body(enum constraint constraint, const char *rule,
		    const char *text);

#endif
