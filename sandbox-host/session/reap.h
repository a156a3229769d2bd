/*
 * The end of a helper process.
 */
#ifndef SANDBOX_HOST_SESSION_REAP_H
#define SANDBOX_HOST_SESSION_REAP_H

#include <sys/types.h>

/* Wait for a child, so many milliseconds at most, then kill it. */
void reap_within(pid_t child, int ms);

#endif
