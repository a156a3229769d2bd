/*
 * What a command wrote, line by line, as text: what is not UTF-8 becomes
 * U+FFFD, and a line that is longer than LINE_BYTES_MAX comes in pieces.
 *
 *	while (lines_next(in, has_ended, &line))
 *		send(buf_view(&line));
 */
#ifndef SANDBOX_HOST_COMMANDS_LINES_H
#define SANDBOX_HOST_COMMANDS_LINES_H

#include "common/buf.h"

#define LINE_BYTES_MAX (32 * 1024)
/* Each byte of it may become a U+FFFD. */
#define LINE_TEXT_MAX (3 * LINE_BYTES_MAX)

/* Take the next line out of in (untrusted; its bound must be at least
 * LINE_BYTES_MAX) into line (bound: LINE_TEXT_MAX), without its newline; an
 * empty one is "\n". has_ended: what is left is a line, too. False: there is
 * no whole line yet, or no memory. */
bool lines_next(struct buf *in, bool has_ended, struct buf *line);

/* Append bytes (untrusted) as well-formed UTF-8: each byte that is not part
 * of a character becomes U+FFFD. 0, or -1 when out has no room. */
int lines_add_text(struct bytes bytes, struct buf *out);

/* How much of bytes ends with a whole character: less than all of it when
 * the last one may go on. */
size_t lines_whole_len(struct bytes bytes);

/* How much of text to show: at most max bytes, cut between two characters. */
size_t lines_shown_len(struct bytes text, size_t max);

#endif
