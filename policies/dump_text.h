/*
 * A configuration that is written as text for people (`config dump`): YAML
 * again, and behind each value where it comes from.
 */
#ifndef POLICIES_DUMP_TEXT_H
#define POLICIES_DUMP_TEXT_H

#include "common/buf.h"

/* Once anything did not fit, nothing follows. */
struct dump_text {
	struct buf *out;
	bool is_full;
};

#define dump_text_add(dump, ...)                                               \
	((dump)->is_full = (dump)->is_full ||                                  \
			   buf_add_format((dump)->out, __VA_ARGS__) < 0)

/* Control characters are not in it: the reader takes none. */
void dump_text_quoted(struct dump_text *dump, struct bytes text);

/* "  # host.yaml:12" and the end of the line. line 0: where alone; where NULL:
 * the default. */
void dump_text_from(struct dump_text *dump, const char *where, unsigned line);

#endif
