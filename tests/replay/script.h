/*
 * A scenario as text. One command a line, in words ("quoted" keeps spaces);
 * the lines after it that start with one of these are its block of bytes:
 *
 *	| text	 text and CRLF
 *	> text	 text alone
 *	~ text	 text and LF
 *	= text	 a pkt-line of text; =0000 and =0001 are flush and delimiter
 *	=N text	 a pkt-line of band N
 *
 * In text: \r \n \0 \\ \xHH; \o{c} is an object id of 40 times c, \k a pack
 * of one object in 32 bytes, \p{text} a pkt-line, \{N,c} N times c. In what
 * is expected <*> stands for any bytes. '#' begins a comment; `use FILE`
 * reads another file in its place.
 */
#ifndef TESTS_REPLAY_SCRIPT_H
#define TESTS_REPLAY_SCRIPT_H

#include "common/arena.h"
#include "common/buf.h"

#define STEP_WORDS_MAX 12

struct cue {
	const char *file;
	unsigned line;
	const char *words[STEP_WORDS_MAX];
	size_t word_count;
	struct buf block;
	bool has_block;
};

struct script {
	struct arena arena;
	struct cue *steps;
	size_t count;
};

/* Read a scenario; a mistake in it ends the program. */
void script_load(struct script *script, const char *path);

/* Print where and what, and exit 1. */
void script_fail(const struct cue *step, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/* Does text match pattern, in which "<*>" stands for any bytes? */
bool text_matches(struct bytes pattern, struct bytes text);
/* Print bytes so that people can compare them. */
void bytes_show(const char *title, struct bytes bytes);

#endif
