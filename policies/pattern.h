/*
 * A regular expression that must match a whole value: Perl's syntax as far
 * as it can be matched in one pass over the value (pcre2_dfa_match); what
 * has too many states for that is matched by backtracking, within limits.
 * So no value makes it slow: it is unsure instead. Back references,
 * conditions, verbs and \C are errors. Patterns and values are UTF-8; '.'
 * matches a newline too. Immutable.
 */
#ifndef POLICIES_PATTERN_H
#define POLICIES_PATTERN_H

#include "common/arena.h"
#include "common/bytes.h"

#define PATTERN_WHY_MAX 160

struct pattern;

/* Why a text is no pattern. */
struct pattern_fault {
	size_t at; /* offset in the text */
	char why[PATTERN_WHY_MAX];
};

/* The pattern in arena; NULL with *fault when it is none. */
const struct pattern *pattern_new(struct arena *arena, struct bytes text,
				  struct pattern_fault *fault);

enum pattern_answer {
	PATTERN_DIFFERS,
	PATTERN_MATCHES,
	PATTERN_UNSURE /* no UTF-8, or more work than a value may cost */
};
/* Ask it about an untrusted value. */
enum pattern_answer pattern_ask(const struct pattern *pattern,
				struct bytes value);

/* As it was written. */
struct bytes pattern_text(const struct pattern *pattern);

#endif
