/*
 * The fake backend of io.h: descriptors are numbers from FAKE_FD_FIRST up,
 * bytes travel in memory, and the clock moves only when the test says so.
 * Linked instead of io_libevent.c. The same contract tests run on both.
 *
 *	int fds[2];
 *	fake_stream_pair(fds);         // fds[0] goes to the code under test
 *	fake_send(fds[1], bytes);      // the test plays the other side
 *	fake_run(loop);                // turns until nothing happens any more
 *	got = fake_received(fds[1]);   // a buf to look at and consume
 *	fake_advance(loop, 5000);      // 5 s pass, timers fire in order
 */
#ifndef COMMON_IO_FAKE_H
#define COMMON_IO_FAKE_H

#include "common/io.h"

#define FAKE_FD_FIRST 100000

/* A connected stream pair of fake descriptors. */
void fake_stream_pair(int fds[2]);
/* The test's side: queue bytes for the other end. */
void fake_send(int fd, struct bytes bytes);
/* Deliver at most n bytes per read of the other end from now on (1 = one at
 * a time; 0 = no bound). */
void fake_set_chunk(int fd, size_t n);
/* The other end reads EOF after what is queued. */
void fake_end(int fd);
/* The other end's connection fails (ECONNRESET). */
void fake_reset(int fd);
/* How many bytes the other end may write before its writes would block. */
void fake_set_window(int fd, size_t n);
/* What the other end wrote and the test did not yet consume. */
struct buf *fake_received(int fd);
/* Has the other end ended its side, or closed? */
bool fake_is_ended(int fd);
bool fake_is_closed(int fd);

/* A listener descriptor, and a connection to it: returns the test's side. */
int fake_listener(void);
int fake_connect(int listener, const struct sockaddr_storage *original,
		 bool was_redirected);

/* Message sockets come from io_message_pair(), which is fake here as well:
 * use io_message_send/receive on the test's side. */

/* Turns until a turn delivers nothing. */
void fake_run(struct io_loop *loop);
/* Move the clock by ms, firing timers in order, running in between. */
void fake_advance(struct io_loop *loop, uint64_t ms);

/* Forget every fake descriptor; asserts that the code under test closed
 * all of its own. Call at the end of each test. */
void fake_reset_all(void);

#endif
