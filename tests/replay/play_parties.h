/*
 * What the edge's peers say in a scenario.
 */
#ifndef TESTS_REPLAY_PLAY_PARTIES_H
#define TESTS_REPLAY_PLAY_PARTIES_H

#include "tests/replay/play.h"

/* A command of minter, dialer, courier, warden or packcheck, or of any
 * process to leave or join. False: it is none. */
bool play_parties(struct play *play, const struct cue *step);
/* "leg refuses CONSTRAINT TEXT" */
void play_leg_refuses(struct end *leg, const struct cue *step);

#endif
