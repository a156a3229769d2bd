/*
 * What the io*.c files share and nobody else includes: the loop's lists,
 * the io itself, and the layer between an io and its descriptor (plain, or
 * io_tls.c).
 *
 * Turn order (io_loop.c): what is ready, timers, what is owed to an io
 * (resumed reading, IO_DRAINED, IO_FAILED found while writing), deferred
 * calls, IO_RELEASED. Bytes written inside a callback are sent when the
 * outermost callback returns, so several io_write() make one record and one
 * system call; those of what is ready, when up to GATHER_MAX callbacks have
 * returned, or all. Sending itself never calls an owner.
 */
#ifndef COMMON_IO_CORE_H
#define COMMON_IO_CORE_H

#include <sys/queue.h>

#include "common/dense.h"
#include "common/io_backend.h"
#include "common/io_rest.h"
#include "common/io_timers.h"

/* Bytes read in one go, and the size of the memory that goes round. */
#define IO_CHUNK     65536
#define IO_SPARE_MAX 4

/* What a layer did when it moved no bytes. */
#define IO_ENDED 0  /* read: the peer ended its side; else: done */
#define IO_AGAIN -1 /* wait for io->read_needs / write_needs / shake_needs */
#define IO_DEAD	 -2 /* io_kill() was called */
#define IO_PAUSE -3 /* handshake: wait for the owner */

struct io_deferred {
	io_timer_fn *fn;
	void *owner;
};

struct io_deferrals {
	struct io_deferred *calls;
	size_t count;
	size_t size;
};

/* io_rest.c */
struct io_rest {
	struct io_timer timer;
	uint64_t activity; /* of the loop when the timer was set */
	uint64_t latest_ms;
	bool is_due;
};

TAILQ_HEAD(io_list, io);

struct io_loop {
	struct io_backend *backend;
	uint64_t now_ms;
	bool is_now_fresh; /* now_ms was read in this turn */
	bool is_stopping;
	bool is_polling;    /* callbacks for what is ready run */
	unsigned depth;	    /* callbacks that run */
	unsigned gathered;  /* of those, since the last sending */
	uint32_t callbacks; /* outermost ones, ever */
	uint64_t activity;  /* callbacks and steps, ever */
	struct io_list open;
	struct io_list unsent;	 /* flush when callbacks have returned */
	struct io_list owed;	 /* settle in this turn */
	struct io_list stalled;	 /* io_in() was full */
	struct io_list released; /* closed, IO_RELEASED is owed */
	struct io_deferrals deferred;
	struct io_deferrals deferred_idle; /* its other memory */
	struct io_timers timers;
	struct io_rest rest;
	uint8_t *spare[IO_SPARE_MAX];
	size_t spare_count;
	bool is_wiping; /* io_loop_wipe() */
};

/* How bytes pass between an io and its descriptor. */
struct io_layer {
	ssize_t (*read)(struct io *io, uint8_t *out, size_t size);
	/* `then` follows: some of it may go too, or tell that more comes. */
	ssize_t (*write)(struct io *io, struct bytes bytes, struct bytes then);
	/* End our side: IO_ENDED, IO_AGAIN or IO_DEAD. */
	int (*end)(struct io *io);
	/* Before bytes can pass; IO_ENDED when the handshake is done. */
	int (*shake)(struct io *io);
	/* Does read have bytes that the descriptor will not announce? */
	bool (*has_pending)(const struct io *io);
	/* At io_close(); what it has lives on until the io is freed. */
	void (*close)(struct io *io);
	void (*release)(struct io *io);
};

extern const struct io_layer io_layer_plain;

struct io_tls;
struct io_pair;

struct io {
	struct io_loop *loop;
	const struct io_layer *layer;
	struct io_poll *poll;
	struct io_tls *tls;
	struct io_pair *pair;
	struct err *error; /* NULL unless dead */
	io_fn *fn;
	void *owner;
	struct buf in;
	struct buf out;
	struct io_timer deadline;
	TAILQ_ENTRY(io) open_link; /* in open or released */
	TAILQ_ENTRY(io) unsent_link;
	TAILQ_ENTRY(io) owed_link;
	TAILQ_ENTRY(io) stalled_link;
	int fd;		    /* -1: none, nothing is polled */
	uint32_t unsent_in; /* loop->callbacks when it became unsent */
	uint32_t out_high;
	/* Lingering, while what is queued may take as long as it is read: */
	uint32_t stalled_ms; /* 0: it may not */
	uint32_t linger_ms;
	size_t linger_left; /* that was queued when that was looked at */
	/* IO_READABLE and IO_WRITABLE: what poll was told to want, ... */
	uint8_t armed : 2;
	uint8_t read_needs : 2;
	uint8_t write_needs : 2;
	uint8_t shake_needs : 2;
	bool is_reading : 1;
	bool is_eof : 1;
	bool is_dry : 1; /* the last read was short: the socket is empty */
	bool is_shaking : 1;
	bool is_ending : 1; /* io_end() was called */
	bool is_ended : 1;  /* and carried out */
	bool is_lingering : 1;
	bool is_discarding : 1; /* lingering, and the peer still sends */
	bool is_dead : 1;
	bool is_closed : 1;
	bool is_unsent : 1; /* in loop->unsent */
	bool is_owed : 1;   /* in loop->owed */
	bool is_stalled : 1;
	bool owes_read : 1;
	bool owes_shake : 1;
	bool owes_drained : 1;
	bool owes_failed : 1;
	bool owes_rest : 1;   /* writing failed: read before IO_FAILED */
	bool was_blocked : 1; /* a write could not send all */
};

/* Where all of them are. */
extern struct dense io_places;

/* An io for a layer that needs no descriptor; NULL when memory is out. */
struct io *io_new_without_fd(struct io_loop *loop,
			     const struct io_limits *limits, io_fn *fn,
			     void *owner);
/* The connection is dead of why, or of errno; IO_FAILED comes in this turn. */
void io_kill(struct io *io, const struct err *why);
void io_kill_of_errno(struct io *io, const char *what);
/* Settle the io later in this turn, or in the next without waiting. */
void io_owe(struct io *io);
/* Send what goes; calls no owner. */
void io_flush(struct io *io);
/* Have it sent when the callback that runs, or some more, have returned. */
void io_flush_later(struct io *io);
/* Deliver what is owed. */
void io_settle(struct io *io);
/* Take ios off the stalled list whose owner has consumed. */
void io_resume_stalled(struct io_loop *loop);
/* Deliver IO_RELEASED, free the io. */
void io_release(struct io *io);
/* Go on with io_close_flushed(). */
void io_linger(struct io *io);
/* Its time is over: has its peer another? */
void io_linger_late(struct io *io);

/* io_sys_read() and _write() for layers: bytes, IO_ENDED, IO_AGAIN, or
 * IO_DEAD with errno and no io_kill() yet. */
ssize_t io_raw_read(struct io *io, void *out, size_t size);
ssize_t io_raw_write(struct io *io, struct bytes bytes, struct bytes then,
		     bool has_more);

/* 0, or -1 when memory is out. */
int io_rest_init(struct io_loop *loop);

/* Memory of the round: give an empty buffer's memory back (or move the few
 * bytes of a large one), and get room to read into. */
void io_buf_settle(struct io_loop *loop, struct buf *buf);
uint8_t *io_buf_space(struct io_loop *loop, struct buf *buf, size_t *size);
/* Before a first buf_add() to a buffer that is about to be settled. */
void io_buf_warm(struct io_loop *loop, struct buf *buf, size_t want);

#endif
