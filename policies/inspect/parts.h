/*
 * What an inspection holds; shared by inspection*.c alone.
 */
#ifndef POLICIES_INSPECT_PARTS_H
#define POLICIES_INSPECT_PARTS_H

#include "common/arena.h"
#include "policies/inspect/decode.h"
#include "policies/inspect/inspection.h"
#include "policies/inspect/media.h"
#include "policies/inspect/prints.h"

enum inspect_kind {
	INSPECT_JSON,
	INSPECT_FORM,
	INSPECT_MULTIPART,
	INSPECT_GRAPHQL,
	INSPECT_SECRET,
	INSPECT_KIND_MAX
};

/* What was asked once. */
struct answer {
	const char *fault; /* NULL: not asked yet; "": read */
	struct arena arena;
	struct fields fields;
};

struct inspection {
	struct inspect_source source;
	struct decoded body;
	struct media media; /* borrows from source */
	bool is_typed;	    /* media was read */
	struct answer answers[INSPECT_KIND_MAX];
	struct fields files; /* of INSPECT_MULTIPART */
	json_t *json;
	struct inspected_graphql *graphql;
	size_t graphql_count;
	json_t *variables;  /* of the URL */
	const char *secret; /* in secret_name, or NULL */
	char secret_name[PRINTS_NAME_MAX + 1];
	const char *fault; /* of the last question */
};

/* Is it asked for the first time? Then its arena is made; the fault becomes
 * that of its answer. */
bool inspection_first(struct inspection *inspection, enum inspect_kind kind,
		      size_t arena_max);
/* The answer's fault; NULL: it was read. */
void inspection_answered(struct inspection *inspection, enum inspect_kind kind,
			 const char *fault);
void inspection_graphql_free(struct inspection *inspection);

#endif
