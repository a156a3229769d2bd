/*
 * Does an upstream send our credential back (security D1, D3)? The courier
 * looks for its secrets in the bytes that it passes to an edge, across any
 * division of them, and parses nothing.
 *
 * Each secret is looked for as it is, in base64 (at the three places where it
 * can start, both alphabets) and in hex; all of these also percent-encoded,
 * escaped as in JSON, and with the borders of HTTP's chunks, or of a
 * WebSocket's frames, between any two characters. What is found is
 * overwritten with as many '*', so that lengths and chunk sizes stay true, or
 * is a reason to stop (reflect_matches.h knows the forms). Of a long secret
 * half is enough, and at least REFLECT_ENOUGH characters: from there on as
 * much is overwritten as the whole of it would be, so that nobody learns where
 * it began to differ. A secret shorter than REFLECT_LEAST is not looked for:
 * it would be found everywhere.
 *
 * What is held back must tell nobody that it is a secret's beginning: else a
 * session finds the secret a character at a time, by whatever echoes its
 * guess. So an end that is a word at all is held back, whatever the word, and
 * let go when upstream says no more; unless it is half a secret.
 *
 * It is best effort: what an upstream compresses, enciphers or spells in yet
 * another way passes, and so does less than half of a secret where upstream
 * pauses within it.
 *
 * Cost: ordinary bytes are skipped over by a table of pairs (Wu and Manber),
 * most are never looked at; only around escapes and borders every place is
 * tried.
 *
 * Owned by a leg. Holds secrets: released with the leg.
 *
 *	reflect_watch(&reflect, token, &err);
 *	may = reflect_scan(&reflect, data, len, passed);
 */
#ifndef GATEWAY_COURIER_REFLECT_H
#define GATEWAY_COURIER_REFLECT_H

#include <sys/types.h>

#include "common/secret.h"

#define REFLECT_SECRETS_MAX 4
/* So much of a secret's beginning is no chance any more: it is held back
 * until what follows is known. */
#define REFLECT_LEAST  8
#define REFLECT_ENOUGH 64
/* So many bytes that have passed must stand before new ones: the beginning
 * of a secret may lie in them. */
#define REFLECT_KEPT_MAX 512
/* No more is ever held back: so long a beginning counts as found. */
#define REFLECT_HELD_MAX (64 * 1024)
/* So much of a word. */
#define REFLECT_WORD_MAX   4096
#define REFLECT_WINDOW_MAX 32
#define REFLECT_PAIRS	   4096
#define REFLECT_BEGINS	   0x80

struct reflect {
	struct secret secrets[REFLECT_SECRETS_MAX];
	size_t count;
	bool masks;	    /* else it says stop */
	bool frames;	    /* what comes is a WebSocket's */
	bool found;	    /* something was overwritten: the owner resets it */
	size_t window;	    /* every form has so many characters */
	bool is_half;	    /* half a secret is held back, or more */
	bool in_word[256];  /* it can stand in a secret's spelling */
	uint8_t first[256]; /* which forms begin with it: bits */
	/* So far may the window move on when it ends with the pair, and
	 * REFLECT_BEGINS when a form begins with it. */
	uint8_t skip[REFLECT_PAIRS];
	/* What was found and may go on in the bytes to come. */
	struct {
		bool is_on;
		size_t secret, chars;
		size_t ahead; /* from what has passed to where it goes on */
		uint8_t form;
		uint8_t escapes;
	} tail;
};

/* Zeroed memory is an empty one. Forget everything, wiped. */
void reflect_release(struct reflect *reflect);
/* Look for this secret too, which holds no line ends. 0, or -1: no memory to
 * lock, or one too many. */
int reflect_watch(struct reflect *reflect, struct bytes secret,
		  struct err *err);
/* Look at len bytes, of which the first `passed` (all of the last
 * REFLECT_KEPT_MAX, where there were so many) have passed already, and
 * overwrite what is to be masked. How many of the others may pass now: all,
 * less an end that is a word; give that again with what comes after it. -1: a
 * secret is in them, and it does not mask. */
ssize_t reflect_scan(struct reflect *reflect, uint8_t *data, size_t len,
		     size_t passed);
/* Upstream says no more, for now or at all: may what is held back pass? All
 * of it does then. False: it is half a secret. */
bool reflect_let_go(struct reflect *reflect);

#endif
