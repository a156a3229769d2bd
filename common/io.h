/*
 * One descriptor, one callback, one event enum. libevent stands behind it
 * (io_libevent.c); in tests a fake one does (io_fake.c, io_fake.h), so that
 * a whole edge can run text scenarios with a scripted clock. Which one is
 * the linker's choice: nothing above this header can tell.
 *
 * Ownership: an io owns its descriptor. io_close() may be called anywhere,
 * also inside the io's own callback; afterwards the io delivers exactly one
 * more event, IO_RELEASED, at the end of the loop turn, and there alone its
 * owner frees what belongs to it. No event follows IO_RELEASED.
 *
 * Flow: what arrives is read into io_in() while reading is on and there is
 * room (io_limits.in_max). When io_in() is full, reading stalls; whoever
 * then consumes from it calls nothing: reading goes on by itself at the next
 * turn. IO_DATA is delivered for new bytes only: whoever leaves bytes in
 * io_in(), or takes an io over, must remember to look at them.
 *
 * io_write() in a callback queues, and what was queued is sent soon after the
 * outermost callback returned, in the same turn: several writes make one
 * system call and one TLS record, and readers that wait are woken by sends
 * that follow each other. An io that a later callback closes has sent before.
 * Outside of callbacks, and from 16 KiB on, it is sent at once.
 * When the queue is above out_high the owner must stop its source until
 * IO_DRAINED. No owner is called from inside io_write(): a failure found
 * there is delivered as IO_FAILED later in the turn, after what the peer
 * still had to say (IO_DATA).
 *
 *	struct io *io = io_new(loop, fd, &limits, on_event, lane);
 *	io_read_start(io);
 *	io_deadline(io, 30000);
 */
#ifndef COMMON_IO_H
#define COMMON_IO_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/buf.h"
#include "common/bytes.h"
#include "common/err.h"

enum io_event {
	IO_DATA,      /* io_in() has new bytes */
	IO_EOF,	      /* the peer ended its side; io_in() holds the rest */
	IO_DRAINED,   /* the out queue is empty after it was above out_high,
			 or after something could not be sent at once */
	IO_FAILED,    /* the connection is dead; io_error() says why. Only
			 io_close() makes sense now */
	IO_TIMEOUT,   /* the deadline passed; it is off now */
	IO_TLS_HELLO, /* server handshake paused at the ClientHello:
			 io_tls_name() is known, answer with
			 io_tls_certificate() or close */
	IO_TLS_READY, /* the handshake is complete (either side) */
	IO_RELEASED,  /* the last event: free what the io kept alive */
	IO_EVENT_MAX
};

struct io_loop;
struct io;
struct io_timer;

typedef void io_fn(struct io *io, enum io_event event, void *owner);
typedef void io_timer_fn(void *owner);
/* A descriptor is ready: readable and/or writable. For libraries that poll
 * their own descriptors (c-ares) and for SOCK_SEQPACKET and UDP sockets. */
typedef void io_watch_fn(int fd, bool readable, bool writable, void *owner);
/* A connection was accepted: fd is the callee's. local is where the client
 * wanted to go before a redirect (SO_ORIGINAL_DST), or the listener's own
 * address when there was no redirect. */
typedef void io_accept_fn(int fd, const struct sockaddr_storage *peer,
			  const struct sockaddr_storage *original,
			  bool was_redirected, void *owner);

struct io_limits {
	size_t in_max;	 /* bytes that wait in io_in() */
	size_t out_high; /* above: stop the source until IO_DRAINED */
	size_t out_max;	 /* io_write() fails above */
};

/* ---- loop ---- */

/* A loop, or NULL. One per process, which from then on ignores SIGPIPE:
 * whoever executes another program sets it back first. Not to be used
 * across fork(2). */
struct io_loop *io_loop_new(struct err *err);
/* Close every io that is left, delivering its IO_RELEASED. Watches, timers
 * and listeners are freed by their owners, before. */
void io_loop_free(struct io_loop *loop);
/* Run until io_loop_stop(). 0, or -1. */
int io_loop_run(struct io_loop *loop, struct err *err);
/* One turn: wait at most wait_ms for events, deliver them, then deliver
 * what is owed at the end of a turn. 0, or -1. */
int io_loop_turn(struct io_loop *loop, unsigned wait_ms, struct err *err);
void io_loop_stop(struct io_loop *loop);
/* Overwrite the buffers of this loop's ios when they are given back: for a
 * process that secrets pass through (security D12). */
void io_loop_wipe(struct io_loop *loop);
/* Milliseconds on the monotonic clock as of this turn. */
uint64_t io_loop_now_ms(const struct io_loop *loop);
/* Call fn(owner) once at the end of this turn. May be called from there
 * again, for the next turn. 0, or -1 when memory is out. */
int io_loop_defer(struct io_loop *loop, io_timer_fn *fn, void *owner);

/* ---- stream sockets and pipes ---- */

/* Take fd (made non-blocking). Reading is off at first. NULL when memory
 * is out; fd is then closed. */
struct io *io_new(struct io_loop *loop, int fd, const struct io_limits *limits,
		  io_fn *fn, void *owner);
/* Give the io another callback and owner (a pooled connection). */
void io_set_owner(struct io *io, io_fn *fn, void *owner);

void io_read_start(struct io *io);
void io_read_stop(struct io *io);
/* What arrived; the owner consumes from it with buf_consume(). */
struct buf *io_in(struct io *io);

/* Queue bytes and send what goes. 0; -1 when out_max or memory forbids or
 * the io is dead (nothing is queued then). */
int io_write(struct io *io, struct bytes bytes);
/* Bytes that wait to be sent. */
size_t io_out_len(const struct io *io);
/* Must the source pause? True while the queue is above out_high. */
bool io_is_full(const struct io *io);
/* After what is queued: end our side (shutdown, or close_notify); nothing
 * can be written any more. A pipe ends only with io_close_flushed(). */
void io_end(struct io *io);

/* Deliver IO_TIMEOUT in ms milliseconds unless changed; 0 turns it off. */
void io_deadline(struct io *io, unsigned ms);

/* Drop what is queued, close the descriptor, deliver IO_RELEASED last. */
void io_close(struct io *io);
/* Send what is queued, end our side, then io_close(). While the peer still
 * sends, its bytes are thrown away until it ends, so that no reset overtakes
 * the last answer. All this takes at most linger_ms; 0: what does not go now
 * is lost. No event but IO_RELEASED is delivered any more. */
void io_close_flushed(struct io *io, unsigned linger_ms);
/* The same, but what is queued goes for as long as the peer reads it: until
 * nothing of it went for stalled_ms to twice that. linger_ms is for what comes
 * after it; io_close_flushed() makes that be all. */
void io_close_read(struct io *io, unsigned stalled_ms, unsigned linger_ms);

/* Why IO_FAILED came. Valid until IO_RELEASED. */
const struct err *io_error(const struct io *io);
int io_fd(const struct io *io);
/* Take the descriptor away (the io then only delivers IO_RELEASED). Only
 * for an io without TLS; what io_in() holds is lost unless copied. */
int io_detach(struct io *io);

/* ---- listeners, watches, timers ---- */

struct io_listener;
/* Accept on fd (taken), a bounded number of connections a turn; pauses
 * 100 ms when descriptors or memory run out instead of spinning. */
struct io_listener *io_listen(struct io_loop *loop, int fd, io_accept_fn *fn,
			      void *owner, struct err *err);
void io_listener_pause(struct io_listener *listener, bool paused);
void io_listener_free(struct io_listener *listener);

struct io_watch;
/* Watch fd, which stays the caller's. */
struct io_watch *io_watch_new(struct io_loop *loop, int fd, io_watch_fn *fn,
			      void *owner);
void io_watch_set(struct io_watch *watch, bool readable, bool writable);
/* No call of fn follows, also not in this turn. */
void io_watch_free(struct io_watch *watch);

/* One-shot; io_timer_set() arms it again. 0 ms disarms. */
struct io_timer *io_timer_new(struct io_loop *loop, io_timer_fn *fn,
			      void *owner);
void io_timer_set(struct io_timer *timer, unsigned ms);
void io_timer_free(struct io_timer *timer);

/* Call fn at SIGTERM, SIGHUP, SIGCHLD... in a turn (real loop only). 0, or
 * -1. */
int io_signal(struct io_loop *loop, int number, io_timer_fn *fn, void *owner);

/* ---- message sockets (SOCK_SEQPACKET, SOCK_DGRAM) ---- */

/* Receive one message into out[size]; *fd gets the descriptor that came
 * with it, or -1. Returns the length; 0 at the end of the stream; -1 with
 * *err ERR_SYSTEM/EAGAIN when there is none, ERR_TOO_LARGE when the message
 * or its control data was cut (any descriptor is closed), else a failure. */
ssize_t io_message_receive(int socket, uint8_t *out, size_t size, int *fd,
			   struct err *err);
/* Send one message, fd (>= 0, stays the caller's) with it. 0, -1 as above. */
int io_message_send(int socket, struct bytes bytes, int fd, struct err *err);
/* A connected pair of message (seqpacket) or stream sockets, close-on-exec,
 * non-blocking. 0, or -1. */
int io_message_pair(int fds[2], struct err *err);
int io_stream_pair(int fds[2], struct err *err);

#endif
