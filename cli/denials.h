/*
 * The session's denials on stderr as they happen, one line each, and all of
 * its events in a file: read from control by a process of its own, which
 * ends with the command.
 */
#ifndef CLI_DENIALS_H
#define CLI_DENIALS_H

#include <stdio.h>
#include <sys/types.h>

#include "cli/client.h"

struct denials {
	pid_t teller; /* 0: none */
	struct client stream;
};

/* Start telling; events may be NULL. 0, or -1. */
int denials_start(struct denials *denials, const char *session, FILE *events,
		  struct err *err);
/* A denied row's line for people, without a line feed. */
void denials_line(const json_t *row, char *out, size_t size);
/* The line of a row that asks for an approval, with the command that gives
 * it. */
void denials_wanted_line(const json_t *row, char *out, size_t size);
/* Let it tell what it has not yet, and end it. The session must still be:
 * whoever is no administrator sees no rows of one that has ended. */
void denials_stop(struct denials *denials);

#endif
