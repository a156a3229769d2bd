/*
 * What was denied, in lines for people.
 */
#ifndef SANDBOX_HOST_SESSION_DENIALS_H
#define SANDBOX_HOST_SESSION_DENIALS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "policies/quiet.h"

#define DENIALS_LINE_BYTES 1024
#define DENIALS_REMEMBERED 64

/* What was told: of the last connection or push, since the request on it
 * that fails for the same reason says nothing new; and the last lines, since
 * a program that tries again says nothing new either. */
struct told {
	char host[256];
	char constraint[64];
	uint64_t lines[DENIALS_REMEMBERED]; /* their digests */
	unsigned next;
};

/* The line for a row of the record, if it says something new. */
bool denials_tell(struct told *told, const json_t *row, char *out, size_t size);
/* Does a pattern of ignore-violations cover a denied row's line? */
bool denials_are_known(const struct policy_strings *quiet, const json_t *row);
/* What to do about a denied row; "" for others. */
const char *denials_remedy(const json_t *row);
/* A denied row's line for people, without a line feed. */
void denials_line(const json_t *row, char *out, size_t size);
/* The line of an approval that is asked for (id: of the proposal; what it is
 * about), with the command that gives it. */
void denials_wanted_line(struct bytes id, struct bytes what, char *out,
			 size_t size);

#endif
