/*
 * YAML of our own making: every text in it is either one of ours, or quoted
 * so that nothing in it can end the quotes or the line.
 */
#ifndef CLI_POLICY_YAML_H
#define CLI_POLICY_YAML_H

#include "common/buf.h"
#include "policies/text.h"

struct yaml {
	struct buf *out;
	bool is_full; /* something had no room: the text is worth nothing */
};

/* Words of ours, at most 511 bytes at once. */
void yaml_put(struct yaml *yaml, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* What such functions wrote. */
void yaml_raw(struct yaml *yaml, struct bytes text);
/* A text of anybody's in double quotes (YAML 1.2.2, 7.3.1): controls are
 * escaped; UTF-8 stays as it is. */
void yaml_quote(struct yaml *yaml, struct bytes text);
/* "# words" and a text of anybody's, of which what is no printable ASCII
 * becomes '?', on a line of its own. */
void yaml_remark(struct yaml *yaml, int indent, const char *words,
		 struct bytes text);
/* "key: node" of a text that was read, with all that is in it, in block
 * style; plain scalars stay plain. node's own key is its name. */
void yaml_node(struct yaml *yaml, int indent, const struct text_node *node);
/* The same where the line has begun: what follows stands indent bytes in. */
void yaml_pair(struct yaml *yaml, int indent, const struct text_node *node);
/* "- node", the same for an item of a list. */
void yaml_item(struct yaml *yaml, int indent, const struct text_node *node);

#endif
