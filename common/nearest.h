/*
 * "Did you mean": the name that somebody probably wanted who wrote another.
 */
#ifndef COMMON_NEAREST_H
#define COMMON_NEAREST_H

#include "common/bytes.h"

/* Longer words, and longer names, have no nearest. */
#define NEAREST_WORD_MAX 32

/* The one of count names that is fewest changes of a letter away from word
 * (untrusted), without case: at most a third of its letters and one. NULL: none
 * is. */
const char *nearest(struct bytes word, const char *const *names, size_t count);

/* The long option that help names ("--policy") which is nearest to word
 * ("--polcy", or "--polcy=x"); borrows from help. Empty: none is. */
struct bytes nearest_option(struct bytes word, const char *help);

/* getopt_long(3) refused a word of argv: where that is a long option that it
 * does not know, tell the nearest one that help names on stderr. */
void nearest_tell_option(char *const *argv, const char *help);

#endif
