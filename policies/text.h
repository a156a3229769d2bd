/*
 * YAML 1.2 text (untrusted) to a small tree of our own, and errors as
 * people read them. libfyaml is hidden in text.c.
 *
 * A subset: one document; maps with plain words as keys, each once; lists;
 * scalars. Anchors, aliases, tags, directives, several documents, more than
 * TEXT_DEPTH_MAX levels, control characters and invalid UTF-8 are errors.
 * Scalars stay text: "0443" is not 291, "no" is not false.
 *
 *	struct text_source source = {bytes, "acme.yaml", &errors};
 *	struct text_node *root = text_parse(&source, &arena);
 *	text_error(&source, node->at, "\"%s\" is not a size", value);
 */
#ifndef POLICIES_TEXT_H
#define POLICIES_TEXT_H

#include <stdbool.h>

#include "common/arena.h"
#include "common/bytes.h"
#include "policies/policy.h"

#define TEXT_DEPTH_MAX 16
#define TEXT_KEYS_MAX  1000 /* of one map */

struct text_source {
	struct bytes bytes;
	const char *file;
	struct policy_errors *errors; /* shared by all texts of a policy */
};

enum text_kind { TEXT_SCALAR, TEXT_LIST, TEXT_MAP, TEXT_KIND_MAX };

struct text_node {
	enum text_kind kind;
	size_t at;		 /* offset in the source */
	struct bytes key;	 /* in a map: what it is called */
	size_t key_at;		 /* in a map: where that stands */
	struct bytes value;	 /* scalar */
	bool is_plain;		 /* scalar: not quoted, not a block */
	bool has_lines;		 /* scalar: with line feeds or tabs in it */
	struct text_node *first; /* list, map: its items in their order */
	struct text_node *next;	 /* in the same list or map */
	size_t count;
};

/* The tree in arena; NULL when the text is no such text, told as an error.
 * Views borrow from arena. */
struct text_node *text_parse(const struct text_source *source,
			     struct arena *arena);

/* The item of that key in a map, or NULL. */
struct text_node *text_child(const struct text_node *map, const char *key);

/* Where a setting comes from. */
struct text_place {
	const char *where; /* a file, an option, a variable; NULL: default */
	unsigned line;	   /* of a file, else 0 */
};
/* A key of a text, or one below it. */
struct text_key {
	const char *name, *child; /* NULL */
};
/* Where each of those keys stands in the text whose tree root is; the places
 * of those that do not stay what they were. */
void text_find_keys(const struct text_source *source,
		    const struct text_node *root, const struct text_key *keys,
		    size_t count, struct text_place *places);

/* Tell an error at that offset: "file:line:col: message", the line and a
 * caret below it. The first POLICY_ERRORS_MAX are told, all are counted. */
void text_error(const struct text_source *source, size_t at, const char *format,
		...) __attribute__((format(printf, 3, 4)));

#endif
