/*
 * What goes wrong when nobody expects it, and what must hold whatever did:
 * in the end every connection is closed and freed, in bounded time.
 */
#ifndef TESTS_REPLAY_FAULTS_H
#define TESTS_REPLAY_FAULTS_H

#include "tests/replay/play.h"

/* In a copy of this process for each fault: let it happen, then settle. */
void faults_try(struct play *play, const struct cue *step);
/* Let time pass and the session end; fail if anything is left. */
void faults_settle(struct play *play, const struct cue *step);

#endif
