/*
 * How a contract test plays the other side of an io, the same on both
 * backends: loopback TCP and Unix sockets on the real one, memory on the
 * fake one (io_fake.h).
 */
#ifndef CONTRACT_ENDS_H
#define CONTRACT_ENDS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/io.h"

/* A connected pair: fds[0] for the code under test, fds[1] for the test. */
void ends_pair(int fds[2]);
/* The test's side of ends_pair sends; all must fit. */
void ends_send(int fd, struct bytes bytes);
/* What came to the test's side and was not consumed yet. */
struct buf *ends_received(int fd);
/* The test ends its side, drops the connection with a reset, or closes. */
void ends_end(int fd);
void ends_reset(int fd);
void ends_close(int fd);
/* Has the code under test ended its side, or closed? */
bool ends_is_ended(int fd);
/* A pair on which fds[0] can send about len bytes before writes block. */
void ends_pair_narrow(int fds[2], size_t len);

/* A pair of which both ends are for the code under test; each can send about
 * len bytes before writes block (0: the default), and bytes arrive chunk at
 * a time where the backend can do that (0: no bound). */
void ends_pair_inner(int fds[2], size_t len, size_t chunk);

/* A listener for io_listen(), and connections to it (the test's side). */
int ends_listener(void);
int ends_connect(int listener);

/* Turns until nothing happens any more. */
void ends_run(struct io_loop *loop);
/* At least ms pass, and what was due by then has happened. */
void ends_advance(struct io_loop *loop, unsigned ms);
/* How much more than that it may be: the machine may be busy with others. */
#ifdef SP_IO_FAKE
#define ENDS_LATE_MS 0
#else
#define ENDS_LATE_MS 10000
#endif
/* Close the test's sides; at the end of each test, after io_loop_free(). */
void ends_finish(void);

#ifdef SP_IO_FAKE
#include "tests/contract/ends_fake.h"
#else
#include "tests/contract/ends_real.h"
#endif

#endif
