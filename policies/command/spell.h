/*
 * A command in one line, for whoever is to say whether it may run: what a
 * shell would read as exactly these words, and no byte that a terminal or a
 * reader could take for something else. Two commands that differ have two
 * texts.
 */
#ifndef POLICIES_COMMAND_SPELL_H
#define POLICIES_COMMAND_SPELL_H

#include "common/buf.h"

/* Append words (count of them, untrusted) as a shell reads them, and the
 * directory where they run, unless it is empty:
 *
 *	rm -r 'my files' $'a\x07' # in /tmp
 *
 * 0, or -1: out has no room. */
int command_spell(const char *const *words, size_t count, struct bytes cwd,
		  struct buf *out);

#endif
