/*
 * Which of our files a text is by its keys, for whoever gave it to a command
 * that checks another.
 */
#ifndef CLI_FILE_KIND_H
#define CLI_FILE_KIND_H

#include "common/buf.h"

enum file_kind {
	FILE_KIND_NONE, /* it can not be told */
	FILE_KIND_POLICY,
	FILE_KIND_GATEWAY,  /* gateway.yaml */
	FILE_KIND_HOST,	    /* host.yaml */
	FILE_KIND_SETTINGS, /* of sandbox-runtime */
	FILE_KIND_MAX
};

/* The kind of text (any bytes, of a file of at most POLICY_TEXT_MAX): the one
 * that alone has keys which stand in it. Settings have those of a policy at
 * the top; what stands in them tells. */
enum file_kind file_kind_of(struct bytes text);

/* Does text begin as an object in JSON? */
bool file_kind_is_object(struct bytes text);

/* Append a line to out, where text is of another kind than wanted: which, and
 * what checks it. path: how the file is called. */
void file_kind_tell(struct bytes text, enum file_kind wanted, const char *path,
		    struct buf *out);

#endif
