/* One io on a pair of ends, and what happened to it as a line of letters. */
#ifndef CONTRACT_RIG_H
#define CONTRACT_RIG_H

#include <errno.h>

#include "tests/contract/ends.h"

#define IN_MAX	 1024
#define OUT_HIGH 4096
#define OUT_MAX	 (256 << 10)
#define NARROW	 4096

/* One io and what happened to it, as a line of letters. */
struct rig {
	struct io_loop *loop;
	int fds[2];
	struct io *io;
	char seen[256];
	size_t seen_len;
	uint64_t seen_ms; /* when the last was */
	void (*then)(struct rig *rig, enum io_event event);
	enum io_event closes_at;
	struct io *second;   /* another io with the same callback */
	unsigned data_count; /* of both */
};

static inline void rig_on_event(struct io *io, enum io_event event, void *owner)
{
	static const char letters[IO_EVENT_MAX] = "DEWFTHYR";
	struct rig *rig = owner;

	if (io == rig->io) {
		assert_true(rig->seen_len < sizeof(rig->seen) - 1);
		rig->seen[rig->seen_len++] = letters[event];
		rig->seen_ms = io_loop_now_ms(rig->loop);
	}
	rig->data_count += event == IO_DATA;
	if (rig->then)
		rig->then(rig, event);
	if (event == IO_RELEASED && io == rig->io)
		rig->io = NULL;
}

static inline void rig_set_up_on(struct rig *rig, void (*pair)(int fds[2]))
{
	static const struct io_limits limits = {IN_MAX, OUT_HIGH, OUT_MAX};
	struct err err;

	*rig = (struct rig){.io = NULL};
	rig->loop = io_loop_new(&err);
	assert_non_null(rig->loop);
	pair(rig->fds);
	rig->io = io_new(rig->loop, rig->fds[0], &limits, rig_on_event, rig);
	assert_non_null(rig->io);
}

static inline void rig_set_up(struct rig *rig)
{
	rig_set_up_on(rig, ends_pair);
}

static inline void narrow_pair(int fds[2])
{
	ends_pair_narrow(fds, NARROW);
}

static inline void rig_tear_down(struct rig *rig)
{
	io_loop_free(rig->loop);
	assert_null(rig->io);
	ends_finish();
}

/* ms pass; the last of these came then, and no sooner. The machine may be busy
 * with others for longer than that: what is no proof is that nothing came. */
static inline void assert_seen_after(struct rig *rig, const char *seen,
				     uint64_t began_ms, unsigned ms)
{
	ends_advance(rig->loop, ms);
	assert_string_equal(rig->seen, seen);
	assert_true(rig->seen_ms >= began_ms + ms);
}

static inline void assert_in(struct rig *rig, const char *text)
{
	assert_true(bytes_is(buf_view(io_in(rig->io)), text));
}

static inline void assert_received(struct rig *rig, const char *text)
{
	struct buf *got = ends_received(rig->fds[1]);

	assert_true(bytes_is(buf_view(got), text));
	buf_consume(got, buf_len(got));
}

#endif
