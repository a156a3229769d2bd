/*
 * Git's endpoints as a lenient server may read them.
 */
#ifndef POLICIES_GIT_SPELLING_H
#define POLICIES_GIT_SPELLING_H

#include "common/bytes.h"

/* Does a normalised path (policies/path.h) end in an endpoint of git's smart
 * protocol for some server, though git itself spells it otherwise: in
 * another case, with escapes, with '/', '.' or blanks after it, or with an
 * escaped ';', '?' or '#' and anything? *rest (borrowing): what stands
 * before it. Of git's own spelling it holds as well. */
bool git_is_spelled_loosely(struct bytes path, struct bytes *rest);

#endif
