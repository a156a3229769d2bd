/*
 * Content-Type and what looks like it (RFC 9110 8.3.1, RFC 6266 4.1): a
 * value, then parameters, read strictly. Everything is untrusted.
 */
#ifndef POLICIES_INSPECT_MEDIA_H
#define POLICIES_INSPECT_MEDIA_H

#include <stdbool.h>

#include "common/bytes.h"

#define MEDIA_PARAMS_MAX 8

struct media_param {
	struct bytes name;
	struct bytes value; /* without quotes */
};

/* Borrows from the text. */
struct media {
	struct bytes value; /* "application/json", "form-data" */
	struct media_param params[MEDIA_PARAMS_MAX];
	size_t count;
};

/* Read `value *(OWS ; OWS name=value)`. -1: it is not that, a parameter
 * stands twice, or a quoted value holds '\', '"' or a control. */
int media_parse(struct bytes text, struct media *media);
/* The parameter, or NULL. */
const struct bytes *media_param(const struct media *media, const char *name);
/* No charset is said, or utf-8. */
bool media_is_utf8(const struct media *media);
/* type/subtype, both tokens. */
bool media_is_type(const struct media *media);
/* application/json, or a type with the suffix +json (RFC 6839). */
bool media_is_json(const struct media *media);

#endif
