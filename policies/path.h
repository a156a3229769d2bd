/*
 * Paths and queries: one canonical form on which is decided and which is
 * forwarded (security A24).
 */
#ifndef POLICIES_PATH_H
#define POLICIES_PATH_H

#include "common/arena.h"
#include "common/bytes.h"
#include "common/err.h"

#define PATH_MAX_LEN 8192

/* Normalise an untrusted request path (starts with '/', no query) into
 * arena: escapes of unreserved characters decoded, others in upper case,
 * bytes that no path may hold ('"<>[]^`{|}') escaped, "." resolved, and
 * npm's "/@scope%2fname", at the top or below, as "/@scope/name". Refused as
 * ambiguous (-1, ERR_INVALID): "%2f", "%5c", '\', "%00" and other escaped
 * controls, "%25" followed by two hex digits (double escapes), invalid escapes,
 * "..", "//",
 * ";" in a segment, bytes above 0x7e or below 0x21, overlong or invalid
 * UTF-8 once decoded. */
int path_normalise(struct arena *arena, struct bytes path, struct bytes *out,
		   struct err *err);

/* Does the glob match the whole path? '*' within a segment (not '/'), "**"
 * across; every other character is itself. Linear in path x stars. */
bool path_matches(struct bytes glob, struct bytes path);
/* The same with A-Z and a-z taken as equal. */
bool path_matches_nocase(struct bytes glob, struct bytes path);
/* As a server may read it that takes any case, and "%3A" for ":": escapes of
 * both are decoded. The glob's "%2A" is no star. */
bool path_matches_loosely(struct bytes glob, struct bytes path);

#endif
