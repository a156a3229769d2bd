/*
 * Memory that OpenSSL takes for connections to upstream, apart from the heap.
 * They are kept when the clients' have gone: among what those had on the heap
 * each would hold a dozen pages. Pieces of some sizes lie in pages of their
 * own (dense.h), whatever is larger is the heap's.
 *
 *	apart_begin();
 *	...
 *	apart_set(true);
 *	SSL_do_handshake(upstream);
 *	apart_set(false);
 */
#ifndef COMMON_APART_H
#define COMMON_APART_H

#include <stdbool.h>

#define APART_MAX  7680	     /* bytes of a piece: an SSL of OpenSSL 3 fits */
#define APART_AREA (4 << 20) /* address space for each size */

/* Be OpenSSL's memory from now on: before anything else that it does in the
 * process. Without this apart_set() changes nothing. */
void apart_begin(void);
/* Is what OpenSSL takes from now on apart? For one thread. What it gives back
 * goes to where it came from. */
void apart_set(bool is_apart);
/* Does it lie apart? */
bool apart_has(const void *taken);

#endif
