/*
 * The serialized Vectorscan database of secret_kinds, generated when the
 * program is built (tool/).
 */
#ifndef POLICIES_INSPECT_SECRET_DATABASE_H
#define POLICIES_INSPECT_SECRET_DATABASE_H

#include <stddef.h>

extern const unsigned char secret_database[];
extern const size_t secret_database_len;

#endif
