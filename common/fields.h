/*
 * A list of fields, as an HTTP head or a form has them. Views borrow; the
 * array is its maker's, with a fixed room. Everything in it is untrusted.
 */
#ifndef COMMON_FIELDS_H
#define COMMON_FIELDS_H

#include <stddef.h>

#include "common/bytes.h"

struct field {
	struct bytes name;  /* as sent; compare without case */
	struct bytes value; /* without surrounding OWS */
};

struct fields {
	struct field *items;
	size_t count;
	size_t room; /* of items */
};

/* The first field of that name, or NULL. */
const struct field *fields_find(const struct fields *fields, const char *name);
/* How many fields have that name. */
size_t fields_count_of(const struct fields *fields, const char *name);
/* Remove every field of that name. */
void fields_remove(struct fields *fields, const char *name);
/* Append; -1 when there is no room. */
int fields_add(struct fields *fields, struct bytes name, struct bytes value);

#endif
