/*
 * application/x-www-form-urlencoded (WHATWG URL 5.1) and queries, decoded
 * from untrusted bytes.
 */
#ifndef POLICIES_INSPECT_FORM_H
#define POLICIES_INSPECT_FORM_H

#include "common/arena.h"
#include "common/fields.h"

/* Arena bytes that form_read() needs at most for len bytes of text. */
size_t form_arena_max(size_t len);

/* Names and values in arena, in their order: '+' is a space, escapes are
 * decoded, empty pairs are left out. NULL when read; else why not (static):
 * an invalid escape, a raw ';' (some take it for '&'), a control, what is
 * not UTF-8 once decoded, more than INSPECT_FIELDS_MAX pairs. */
const char *form_read(struct bytes text, struct arena *arena,
		      struct fields *fields);

#endif
