/*
 * JSON (RFC 8259) from untrusted bytes, through jansson: no key twice, no
 * NUL, at most INSPECT_JSON_DEPTH_MAX levels, valid UTF-8, nothing after it.
 */
#ifndef POLICIES_INSPECT_JSON_H
#define POLICIES_INSPECT_JSON_H

#include <jansson.h>

#include "common/bytes.h"

/* The value, the caller's to json_decref(); NULL when it is none. */
json_t *json_read(struct bytes text);

#endif
