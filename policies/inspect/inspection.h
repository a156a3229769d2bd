/*
 * What a request's body holds, for the rules that look inside: decoded
 * (gzip, deflate, br, zstd, with caps), then read as what its media type
 * says, once, when a rule first asks. Pure: bytes in, answers out.
 * Everything comes from untrusted bytes; what cannot be read is unreadable,
 * and a rule that needs it does not match: it is refused.
 *
 *	struct inspection *seen = inspection_new(&source, &err);
 *	json = inspection_json(seen);
 *	inspection_free(seen);
 */
#ifndef POLICIES_INSPECT_INSPECTION_H
#define POLICIES_INSPECT_INSPECTION_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/err.h"
#include "common/fields.h"

struct graphql_document;
struct secret_prints; /* policies/inspect/prints.h */

#define INSPECT_FIELDS_MAX     1000 /* of a form, parts of a multipart body */
#define INSPECT_RATIO_MAX      200  /* decoded bytes for one that was sent */
#define INSPECT_CODINGS_MAX    2    /* Content-Encoding: "gzip, br" */
#define INSPECT_JSON_DEPTH_MAX 100
#define INSPECT_BATCH_MAX      50 /* GraphQL requests of one body */

/* All borrow, for the life of the inspection. */
struct inspect_source {
	struct bytes type;     /* Content-Type, as sent; may be empty */
	struct bytes encoding; /* Content-Encoding, as sent; may be empty */
	struct bytes query;    /* of the URL: GraphQL by GET stands there */
	struct bytes body;     /* whole, as sent */
	uint64_t decoded_max;  /* bytes */
	const struct secret_prints *prints; /* may be NULL */
	/* Worthless look-alikes, such as placeholders: no secrets. */
	const struct bytes *exempt;
	size_t exempt_count;	      /* at most SECRET_EXEMPT_MAX */
	const uint8_t *exempt_digest; /* SHA-256 of one more; may be NULL */
};

struct inspection;

/* NULL when it cannot be decoded within its bounds (unknown coding, bomb,
 * damaged, trailing bytes); *err says why. */
struct inspection *inspection_new(const struct inspect_source *source,
				  struct err *err);
void inspection_free(struct inspection *inspection);

/* The decoded body. */
struct bytes inspection_content(const struct inspection *inspection);

/* Why the last question had no answer: one static line, or "". */
const char *inspection_fault(const struct inspection *inspection);

/* application/json, +json: strict (no duplicate keys, depth, UTF-8). NULL:
 * it is none. */
json_t *inspection_json(struct inspection *inspection);
/* application/x-www-form-urlencoded, decoded. NULL: it is none. */
const struct fields *inspection_form(struct inspection *inspection);
/* multipart/form-data: names and contents of its parts. NULL: it is none. */
const struct fields *inspection_multipart(struct inspection *inspection);
/* Those of its parts that have a filename, or the type of any bytes: most
 * servers take them for files, and for no fields. NULL: it is none. */
const struct fields *inspection_files(struct inspection *inspection);

/* One GraphQL request of a batch: the document and its variables. */
struct inspected_graphql {
	struct graphql_document *document; /* policies/inspect/graphql.h */
	struct bytes operation;		   /* operationName; empty: not given */
	const json_t *variables;	   /* an object, or NULL */
};
/* GraphQL over HTTP: a JSON object, a JSON array of them (batch),
 * application/graphql, or the query of the URL when there is no body. NULL:
 * it is none; also when a member, a parameter or an extension stands there
 * that is not GraphQL's own, such as one that asks for a stored document,
 * which cannot be seen. Every entry runs: graphql_operation_read(). */
const struct inspected_graphql *
inspection_graphql(struct inspection *inspection, size_t *count);

/* The kind of token, or the name of the session's secret, that the decoded
 * body (or one of its decoded fields, the query included) holds: "github
 * token". NULL: none when the fault is "" then; else it could not be looked
 * for (a damaged JSON text, form ...), which is to be refused. */
const char *inspection_secret(struct inspection *inspection);

#endif
