/*
 * Small steps with jansson that this folder shares.
 */
#ifndef GATEWAY_LFS_JSON_H
#define GATEWAY_LFS_JSON_H

#include <jansson.h>

#include "common/buf.h"
#include "gateway/lfs/request.h"

static inline void lfs_json_drop(json_t **json)
{
	json_decref(*json);
}

/* An object (untrusted text), no key twice; NULL with *err. */
json_t *lfs_json_parse(struct bytes text, struct err *err);
/* Append it in one line; it is dropped. NULL: it could not be made. 0/-1. */
int lfs_json_write(json_t *json, struct buf *out);
/* The string of that key; empty when there is none. Borrows. */
struct bytes lfs_json_text(const json_t *object, const char *key);
/* {oid, size} of an object; unknown keys are the caller's matter. 0/-1. */
int lfs_json_object(const json_t *json, struct lfs_object *object,
		    struct err *err);
json_t *lfs_json_string(struct bytes text);

#endif
