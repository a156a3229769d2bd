/*
 * Ref names (git-check-ref-format(1), stricter) and patterns.
 */
#ifndef POLICIES_REF_H
#define POLICIES_REF_H

#include "common/bytes.h"

#define REF_NAME_MAX 255

/* May this untrusted ref name be thought about at all? check-ref-format's
 * rules, and: only printable ASCII, at most REF_NAME_MAX bytes, starts with
 * "refs/", not refs/heads/HEAD, no component "refs" after the second
 * (refs/heads/refs/...), no "@{". */
bool ref_is_valid(struct bytes ref);

/* Does a branch pattern of a policy ("agent/42", "agent/" followed by "*"
 * within a component or "**" across) match the name? Byte for byte. */
bool ref_matches(struct bytes pattern, struct bytes name);

#endif
