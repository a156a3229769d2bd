/*
 * The commands of a scenario (NAME defaults to client, upstream, leg):
 *
 * policy, block                 the session begins; `expires 60s` before it
 * client connects [NAME] | client redirected ADDRESS PORT [NAME]
 * NAME tls HOST                 a client handshake with the edge
 * NAME serves tls HOST          an upstream does its side of one
 * NAME sends [gzip] [chunk] [last] [times N], block
 * NAME sends raw, block         on a leg: not in frames
 * NAME receives [dechunked], block     all that came, once nothing moves
 * NAME receives nothing
 * NAME ends | resets | closes | is open | is ended | is closed | is cut
 * NAME pieces N                 what it sends is read N bytes at a time; 0: all
 * NAME window N                 how much the edge may have on the way to it
 * dialer answers HOST:PORT [NAME] | dialer refuses CONSTRAINT TEXT
 * minter answers NAME [refuse]  | minter refuses CONSTRAINT TEXT
 * courier answers BINDING HOST:PORT [NAME] | courier refuses ...
 * leg refuses CONSTRAINT TEXT
 * warden starts packcheck | warden refuses ...
 * packcheck answers QUESTION RESULT [INDEX [WANT...]] (bases: fetch them so)
 * "later" behind what an end does: the edge has not seen it when the next
 * step begins
 * ROLE is idle | ROLE leaves | ROLE joins
 * ledger receives, block        all records since the last look
 * edge holds N                  at most that many bytes wait for each client
 * session is revoked | session is renewed 60s
 * time passes 30s
 */
#ifndef TESTS_REPLAY_PLAY_H
#define TESTS_REPLAY_PLAY_H

#include "tests/replay/ends.h"

struct play {
	struct house house;
	struct ends ends;
	struct buf policy;
	bool has_windows; /* what is received makes room for more */
	bool only_looked; /* all is as it was before the last step */
};

/* Carry out one step and let the edge run until nothing moves. */
void play_step(struct play *play, const struct cue *step);

#endif
