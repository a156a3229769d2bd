/*
 * How much a text tells, by how often its letters are in it (Shannon).
 */
#ifndef COMMON_ENTROPY_H
#define COMMON_ENTROPY_H

#include "common/bytes.h"

/* Bits of the whole text: its length times those a letter, at most 8. */
double entropy_bits(struct bytes text);

#endif
