/*
 * Times and sizes as people write them: a whole number and, right behind it,
 * a unit. One parser for policies, configurations and the command line.
 */
#ifndef COMMON_QUANTITY_H
#define COMMON_QUANTITY_H

#include "common/bytes.h"

#define QUANTITY_TIME_WORDS "a whole number and ms, s, m, h or d, like 90s"
#define QUANTITY_SIZE_WORDS                                                    \
	"a whole number and B, KiB, MiB, GiB or TiB, like 64KiB"

/* "90s", in milliseconds. 0, or -1: it is none, it is 0, it begins with 0, or
 * it is beyond uint64_t. */
int quantity_time(struct bytes word, uint64_t *ms);
/* "64KiB", in bytes. The same. */
int quantity_size(struct bytes word, uint64_t *bytes);

#define QUANTITY_TEXT_SIZE 24

/* As quantity_time() reads it, in the largest unit that leaves no rest: "7d".
 * 0 is "0". */
void quantity_time_text(uint64_t ms, char text[QUANTITY_TEXT_SIZE]);

#endif
