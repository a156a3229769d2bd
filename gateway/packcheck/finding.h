/*
 * What is against a rule in a push, in words for whoever pushes.
 */
#ifndef GATEWAY_PACKCHECK_FINDING_H
#define GATEWAY_PACKCHECK_FINDING_H

#include <git2.h>

#include "common/bytes.h"
#include "policies/constraint.h"

#define FINDING_TEXT_MAX 256
#define FINDING_NAME_MAX 128

struct finding {
	enum constraint constraint; /* none: nothing was found */
	char text[FINDING_TEXT_MAX];
};

/* Keep the first finding: format and its arguments as in printf. */
__attribute__((format(printf, 3, 4))) void
finding_set(struct finding *finding, enum constraint constraint,
	    const char *format, ...);

/* An untrusted name (a path, a tree's entry) for a text: bytes that are not
 * printable ASCII as '?', what is too long cut at its start. Returns out. */
const char *finding_name(struct bytes name, char out[FINDING_NAME_MAX]);

/* The first digits of an object's id. Returns out. */
#define FINDING_ID_LEN 12
const char *finding_id(const git_oid *oid, char out[FINDING_ID_LEN + 1]);

#endif
