/*
 * The session's denials on stderr as they happen, one line each, and all of
 * its events in a file: read from control by a process of its own, which
 * ends with the command.
 */
#ifndef CLI_DENIALS_H
#define CLI_DENIALS_H

#include <sys/types.h>

/* Start telling; events_path may be NULL. The process' id, or -1. */
pid_t denials_start(const char *session, const char *events_path);
/* Let it tell what is still on its way, and end it. */
void denials_stop(pid_t teller);

#endif
