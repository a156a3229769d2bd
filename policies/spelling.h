/*
 * Names that some server takes for another: what a rule asks of a name must
 * hold of all of them.
 */
#ifndef POLICIES_SPELLING_H
#define POLICIES_SPELLING_H

#include "common/bytes.h"

enum spelling {
	/* Of a JSON object: in any case. Letters beyond ASCII that fold to
	 * one of ASCII (U+017F, U+212A: Go; U+0130, U+0131: Java) are it. */
	SPELLING_KEY,
	/* Of a query, a form, a part: as a key; also with blanks before it,
	 * ' ' and '.' for '_' (PHP), and "name[...]" where wanted has no
	 * bracket (PHP, Rails, Express). */
	SPELLING_PARAMETER,
	/* Of a header: as a key; '_' and '-' are one (CGI). */
	SPELLING_HEADER,
};

/* Both as they are decoded; name need not be UTF-8. */
bool spelling_matches(enum spelling kind, struct bytes name,
		      struct bytes wanted);

#endif
