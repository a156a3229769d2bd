/*
 * Upstream connections that speak HTTP/2. To struct upstream a stream of one
 * is a direct connection like any other, on an io in memory, good for one
 * exchange; several share the connection that stands behind them.
 */
#include "gateway/h2/h2.h"

#include <stdlib.h>
#include <utlist.h>

#include "common/io_pair.h"
#include "common/io_tls.h"
#include "gateway/upstream/inside.h"

struct upstream_h2 {
	struct upstream_pool *pool;
	struct target target;
	struct io *io;
	struct h2_session *session; /* NULL: closed */
	bool is_kept;		    /* its TLS session, for the next one */
	struct upstream_h2 *next, *prev;
};

static const struct h2_stream_limits stream_limits = {
	.wide = {H2_BEHIND_IN_MAX, H2_BEHIND_OUT_HIGH, UPSTREAM_OUT_MAX},
	.narrow = {H2_NARROW_BEHIND_IN_MAX, H2_NARROW_BEHIND_OUT_HIGH,
		   UPSTREAM_OUT_MAX},
};

static void connection_close(struct upstream_h2 *h2)
{
	if (!h2->session)
		return;
	DL_DELETE(h2->pool->h2, h2);
	h2_session_free(h2->session);
	h2->session = NULL;
	io_close_flushed(h2->io, 0);
}

static void keep_tls_session(struct upstream_h2 *h2)
{
	char key[TLS_CLIENT_KEY_MAX];
	int len = snprintf(key, sizeof(key), "%s:%u", h2->target.host,
			   h2->target.port);

	if (!h2->is_kept && io_tls_is_of(h2->io, h2->pool->tls->ctx))
		tls_client_keep(h2->pool->tls, bytes_from(key, (size_t)len),
				io_tls_session(h2->io),
				io_loop_now_ms(h2->pool->keeper->loop));
	h2->is_kept = true;
}

/* Close what is over, or odd and without streams; bound how long it idles. */
static void tend(struct upstream_h2 *h2)
{
	if (h2_session_is_over(h2->session)) {
		connection_close(h2);
	} else if (h2_session_streams(h2->session) > 0) {
		io_deadline(h2->io, 0);
	} else if (!h2_client_has_room(h2->session)) {
		connection_close(h2);
	} else {
		keep_tls_session(h2);
		io_deadline(h2->io, UPSTREAM_IDLE_MS);
	}
}

static void on_moved(void *owner)
{
	tend(owner);
}

static void on_io(struct io *io, enum io_event event, void *owner)
{
	struct upstream_h2 *h2 = owner;

	(void)io;
	if (event == IO_RELEASED) {
		free(h2);
		return;
	}
	if (!h2->session)
		return;
	if (event == IO_DATA)
		h2_session_receive(h2->session);
	else if (event == IO_DRAINED)
		h2_session_drained(h2->session);
	if (event == IO_DATA || event == IO_DRAINED)
		tend(h2);
	else
		connection_close(h2);
}

static struct upstream_h2 *connection_new(struct upstream *up)
{
	static const struct h2_events events = {.on_moved = on_moved};
	struct upstream_h2 *h2 = calloc(1, sizeof(*h2));

	if (!h2)
		return NULL;
	h2->session =
		h2_client_new(up->pool->keeper->loop, up->io, &events, h2);
	if (!h2->session) {
		free(h2);
		return NULL;
	}
	h2->pool = up->pool;
	h2->target = up->target;
	h2->io = up->io;
	io_set_owner(h2->io, on_io, h2);
	DL_APPEND(up->pool->h2, h2);
	return h2;
}

static int open_stream(struct upstream *up, struct upstream_h2 *h2)
{
	struct io *io = h2_client_open(h2->session,
				       up->is_wide ? &stream_limits.wide
						   : &stream_limits.narrow,
				       up->is_wide);

	if (!io)
		return -1;
	up->io = io;
	up->h2 = h2;
	up->keeps_trailers = true;
	io_set_owner(io, upstream_on_io, up);
	io_read_start(io);
	io_deadline(h2->io, 0);
	return 0;
}

void upstream_begin_h2(struct upstream *up)
{
	struct upstream_h2 *h2 = connection_new(up);

	if (h2)
		up->io = NULL;
	if (!h2 || open_stream(up, h2) < 0) {
		if (h2)
			connection_close(h2);
		upstream_fail(up, CONSTRAINT_internal, "memory is out");
		return;
	}
	if (!io_tls_is_of(h2->io, h2->pool->tls->ctx))
		h2_client_retire(h2->session);
	upstream_ready(up);
}

int upstream_join_h2(struct upstream *up)
{
	struct upstream_h2 *h2;

	DL_FOREACH(up->pool->h2, h2)
	if (h2->target.port == up->target.port &&
	    !strcmp(h2->target.host, up->target.host) &&
	    h2_client_has_room(h2->session))
		break;
	return h2 ? open_stream(up, h2) : -1;
}

/* Its connection may be closed, and gone. */
void upstream_retire_h2(struct upstream *up)
{
	struct upstream_h2 *h2;

	DL_FOREACH(up->pool->h2, h2)
	if (h2 == up->h2)
		h2_client_retire(h2->session);
}

void upstream_review_h2(struct upstream_pool *pool, upstream_may_fn *may,
			void *owner)
{
	struct upstream_h2 *h2, *next;

	DL_FOREACH_SAFE(pool->h2, h2, next)
	if (!may(&h2->target, owner))
		connection_close(h2);
}

/* Those with streams close when these have ended. */
void upstream_distrust_h2(struct upstream_pool *pool)
{
	struct upstream_h2 *h2, *next;

	DL_FOREACH_SAFE(pool->h2, h2, next)
	if (!io_tls_is_of(h2->io, pool->tls->ctx)) {
		h2_client_retire(h2->session);
		tend(h2);
	}
}

void upstream_release_h2(struct upstream_pool *pool)
{
	while (pool->h2)
		connection_close(pool->h2);
}
