/*
 * openapi.json, as it was when this was built: what the API serves.
 */
#ifndef SANDBOX_HOST_API_DESCRIPTION_H
#define SANDBOX_HOST_API_DESCRIPTION_H

#include <stddef.h>

extern const unsigned char api_description[];
extern const size_t api_description_len;

#endif
