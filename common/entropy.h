/*
 * How much a text tells, by how often its letters are in it (Shannon).
 */
#ifndef COMMON_ENTROPY_H
#define COMMON_ENTROPY_H

#include "common/bytes.h"

/* Bits of the whole text: its length times those a letter, at most 8. Without
 * libm, which a process would load for this alone. Right to 1e-12 of it; what
 * is a whole number of bits a letter is exact. */
double entropy_bits(struct bytes text);

#endif
