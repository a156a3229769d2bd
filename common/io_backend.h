/*
 * The seam under io.h: what the two backends (io_libevent*.c on the kernel,
 * io_fake*.c in memory) must do, and all that io*.c may ask of them. Calls
 * are as thin as the system's: -1 and errno, no policy, no queue.
 *
 * A program is linked with exactly one backend. io_message_*(),
 * io_*_pair() and io_signal() of io.h are the backend's as well.
 */
#ifndef COMMON_IO_BACKEND_H
#define COMMON_IO_BACKEND_H

#include <sys/socket.h>
#include <sys/types.h>

#include "common/io.h"

#define IO_READABLE 1u
#define IO_WRITABLE 2u

#define IO_WAIT_FOREVER (-1)

struct io_backend;
struct io_poll;

/* The descriptor is ready: some of IO_READABLE and IO_WRITABLE. */
typedef void io_poll_fn(unsigned ready, void *owner);

struct io_backend *io_backend_new(struct err *err);
void io_backend_free(struct io_backend *backend);
/* Wait at most wait_ms (IO_WAIT_FOREVER: no bound) and call the io_poll_fn
 * of what is ready. 0, or -1. */
int io_backend_poll(struct io_backend *backend, int wait_ms, struct err *err);
uint64_t io_backend_now_ms(const struct io_backend *backend);

/* Readiness of fd, level-triggered; nothing is wanted at first. NULL when
 * memory is out. */
struct io_poll *io_poll_new(struct io_backend *backend, int fd, io_poll_fn *fn,
			    void *owner);
/* Want exactly these bits; errors of the descriptor come with any. 0, or -1
 * with errno. */
int io_poll_set(struct io_poll *poll, unsigned wanted);
/* No call follows, also not in this turn. Call it before fd is closed. */
void io_poll_free(struct io_poll *poll);

/* Make fd non-blocking. */
int io_sys_prepare(int fd);
ssize_t io_sys_read(int fd, void *out, size_t size);
/* Send bytes, and of `then` behind them what the descriptor takes with the
 * same call, which may be nothing. What has_more comes right behind: the
 * kernel may wait for it instead of sending a part of a segment. */
ssize_t io_sys_write(int fd, struct bytes bytes, struct bytes then,
		     bool has_more);
/* End our side of a stream. */
int io_sys_shutdown(int fd);
void io_sys_close(int fd);

struct io_accepted {
	int fd; /* non-blocking, close-on-exec */
	struct sockaddr_storage peer;
	struct sockaddr_storage original;
	bool was_redirected;
};
/* Accept one connection. 0, or -1 with errno. */
int io_sys_accept(int listener, struct io_accepted *out);

/* What the loop stands on, and around every call that a backend makes to an
 * owner by itself (signals). */
struct io_backend *io_loop_backend(const struct io_loop *loop);
void io_loop_enter(struct io_loop *loop);
void io_loop_leave(struct io_loop *loop);

#endif
