/*
 * The encoding that a commit says its text is in. git shows all of it as this
 * says, who it is of included: where ASCII is not ASCII, that is not what was
 * read here.
 */
#ifndef POLICIES_COMMIT_ENCODING_H
#define POLICIES_COMMIT_ENCODING_H

#include <stdbool.h>

#include "common/bytes.h"

/* Is it one in which ASCII stands for ASCII? name is untrusted. UTF-16, UTF-7
 * and their like are none, nor is what has no known name. */
bool commit_encoding_is_plain(struct bytes name);

#endif
