/*
 * The end of a helper process.
 */
#ifndef CLI_REAP_H
#define CLI_REAP_H

#include <sys/types.h>

/* Wait for a child, so many milliseconds at most, then kill it. */
void reap_within(pid_t child, int ms);

#endif
