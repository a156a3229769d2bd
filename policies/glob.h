/*
 * Globs over paths, matched in one pass: no pattern and no path is slow.
 *
 *	*       anything within a component     ?   one character of it
 *	[a-z]   one of a set; [!a] or [^a] one that is not; [[:alpha:]]
 *	**      as a component: none or more of them; at the end: everything
 *	\x      x itself
 *
 * In the policy's lists `{a,b}` stands for either (glob_expand()), and what
 * has no meaning is an error. In ignore files (gitignore(5)) braces mean
 * themselves and a double star that is no component is a single one.
 */
#ifndef POLICIES_GLOB_H
#define POLICIES_GLOB_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"

#define GLOB_TOKENS_MAX	    1024
#define GLOB_SETS_MAX	    32
#define GLOB_SET_BYTES	    32
#define GLOB_EXPANSIONS_MAX 64
#define GLOB_TEXT_MAX	    4096

enum glob_flavour { GLOB_POLICY, GLOB_IGNORE };

struct glob {
	uint16_t tokens[GLOB_TOKENS_MAX];
	uint16_t count;
	uint16_t set_count;
	uint8_t sets[GLOB_SETS_MAX][GLOB_SET_BYTES]; /* bits of characters */
};

/* Why a text is no glob. */
struct glob_fault {
	size_t at; /* offset in the text */
	const char *why;
};

/* 0, or -1 with *fault. */
int glob_parse(struct glob *glob, struct bytes text, enum glob_flavour flavour,
	       struct glob_fault *fault);
/* Does it match the whole of path? */
bool glob_matches(const struct glob *glob, struct bytes path);

/* Does all that it matches below one directory match below the other, too?
 * NULL: nothing below that one does. */
bool glob_keeps(const struct glob *glob, const struct bytes *from,
		const struct bytes *to);

/* Does text mean more than itself? */
bool glob_is_one(struct bytes text);
/* Take the escapes out of a text without any other meaning. out has text.len
 * + 1 bytes. */
void glob_unescape(struct bytes text, char *out);
/* Put them in, so that text means itself. out has 2 * text.len + 1 bytes. */
void glob_escape(struct bytes text, char *out);

/* Call on_text for each text that the braces stand for: GLOB_EXPANSIONS_MAX
 * at most, of GLOB_TEXT_MAX bytes. 0; what on_text returned if it is not 0;
 * -1 with *fault. */
int glob_expand(struct bytes text,
		int (*on_text)(void *owner, struct bytes text), void *owner,
		struct glob_fault *fault);
/* May it stand in a policy's list? 0, or -1 with *fault. */
int glob_check(struct bytes text, struct glob_fault *fault);

#endif
