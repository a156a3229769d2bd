#include "gateway/upstream/upstream.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/dense.h"
#include "common/io_pair.h"
#include "common/io_tls.h"
#include "gateway/http/trailers.h"
#include "gateway/upstream/inside.h"

/* ---- life ---- */

/* Kept ones stay when a crowd of clients has gone. */
static struct dense places = {.size = sizeof(struct upstream)};

struct upstream *upstream_place(void)
{
	return dense_take(&places, sizeof(struct upstream));
}

void upstream_free(struct upstream *up)
{
	buf_release(&up->raw);
	buf_release(&up->trailer);
	arena_release(&up->arena);
	dense_give(&places, up);
}

static void free_deferred(void *owner)
{
	upstream_free(owner);
}

/* Whoever serves the stream hears of it also where it does not read. */
static void close_stream(struct upstream *up)
{
	struct err err;

	err_set(&err, ERR_CLOSED, "the exchange is over");
	io_pair_abort(up->io, &err);
}

void upstream_close(struct upstream *up)
{
	if (up->state == UP_CLOSED)
		return;
	if (up->state == UP_IDLE) {
		DL_DELETE(up->pool->idle, up);
		up->pool->idle_count--;
	}
	up->state = UP_CLOSED;
	if (up->dial)
		dial_cancel(up->dial);
	if (up->asking)
		upstream_cancel_leg(up->asking);
	/* The io's last event frees it; without one it may still be on the
	 * stack of its own event, so it goes at the end of the turn. */
	if (up->io && up->h2)
		close_stream(up);
	else if (up->io)
		io_close(up->io);
	else if (io_loop_defer(up->pool->keeper->loop, free_deferred, up) < 0)
		up->fn = NULL;
}

void upstream_fail(struct upstream *up, enum constraint constraint,
		   const char *format, ...)
{
	va_list args;

	if (up->state == UP_FAILED || up->state == UP_CLOSED)
		return;
	up->constraint = constraint;
	va_start(args, format);
	(void)vsnprintf(up->detail, sizeof(up->detail), format, args);
	va_end(args);
	up->state = UP_FAILED;
	/* Who drops a request without a word gets no other on that connection:
	 * so asking again ends. */
	if (up->h2 &&
	    (constraint == CONSTRAINT_response_malformed || !up->has_said))
		upstream_retire_h2(up);
	if (up->io)
		io_read_stop(up->io);
	up->fn(up, UPSTREAM_FAILED, up->owner);
}

void upstream_ready(struct upstream *up)
{
	up->state = UP_READY;
	io_deadline(up->io, 0);
	up->fn(up, UPSTREAM_READY, up->owner);
}

/* While our body is on its way upstream owes nothing but to take it. */
static void await(struct upstream *up)
{
	bool is_owed = !up->body_is_open || io_is_full(up->io);

	io_deadline(up->io, is_owed ? up->pool->response_ms : 0);
}

/* ---- events of the connection ---- */

static void on_failed(struct upstream *up)
{
	const struct err *err = io_error(up->io);

	if (up->state == UP_CONNECTING)
		upstream_fail(up, tls_client_constraint(err), "%.200s: %.200s",
			      up->target.host, err->text);
	else
		upstream_fail(up,
			      up->h2 && err->code == ERR_INVALID
				      ? CONSTRAINT_response_malformed
				      : CONSTRAINT_upstream_closed,
			      "%.200s", err->text);
}

static void on_timeout(struct upstream *up)
{
	if (up->state == UP_CONNECTING)
		upstream_fail(up, CONSTRAINT_connect_timeout,
			      "%s did not finish its handshake in %d s",
			      up->target.host, UPSTREAM_CONNECT_MS / 1000);
	else
		upstream_fail(up, CONSTRAINT_response_timeout,
			      "%s said nothing for %u s", up->target.host,
			      up->pool->response_ms / 1000);
}

static void fail_closed(struct upstream *up)
{
	upstream_fail(up, CONSTRAINT_upstream_closed,
		      "%s closed the connection", up->target.host);
}

/* Something came before a request was sent: at the latest now it is known
 * that this connection was kept too long. */
static void fail_unasked(struct upstream *up)
{
	if (buf_len(up->kind->source(up)) > 0)
		upstream_fail(up, CONSTRAINT_response_malformed,
			      "bytes before a request");
	else if (up->has_ended || up->is_over)
		fail_closed(up);
}

/* Bring what arrived through the response parser. A leg's frames pass a
 * buffer of their own on the way, so one pass may not take them all. */
static void take_in(struct upstream *up)
{
	struct err err;
	size_t before;

	do {
		before = buf_len(io_in(up->io));
		if (up->kind->receive(up, &err) < 0) {
			upstream_fail(up, CONSTRAINT_internal, "%.200s",
				      err.text);
			return;
		}
		if (up->state == UP_READY)
			fail_unasked(up);
		upstream_parse(up);
		if (up->state != UP_HEAD && up->state != UP_BODY)
			return;
	} while (!up->is_paused && buf_len(io_in(up->io)) < before &&
		 buf_len(io_in(up->io)) > 0);
	/* Also a leg that ended without LEG_EOF. */
	if (up->is_over && !up->is_paused)
		fail_closed(up);
}

static void on_data(struct upstream *up)
{
	await(up);
	take_in(up);
}

static void on_idle_event(struct upstream *up, enum io_event event)
{
	/* Whatever an idle connection says, it is not idle any more. */
	if (event != IO_DRAINED)
		upstream_close(up);
}

static void on_eof(struct upstream *up)
{
	up->is_over = true;
	if (up->kind == &upstream_direct)
		up->has_ended = true;
	take_in(up);
}

void upstream_on_io(struct io *io, enum io_event event, void *owner)
{
	struct upstream *up = owner;

	if (event == IO_RELEASED) {
		up->io = NULL;
		if (!up->is_ready_due)
			upstream_free(up);
		return;
	}
	if (up->state == UP_IDLE) {
		on_idle_event(up, event);
		return;
	}
	if (up->state == UP_CLOSED || up->state == UP_FAILED)
		return;
	switch (event) {
	case IO_DATA:
		on_data(up);
		break;
	case IO_EOF:
		on_eof(up);
		break;
	case IO_DRAINED:
		if (up->body_is_open) {
			await(up);
			up->fn(up, UPSTREAM_DRAINED, up->owner);
		}
		break;
	case IO_FAILED:
		on_failed(up);
		break;
	case IO_TIMEOUT:
		on_timeout(up);
		break;
	case IO_TLS_READY:
		if (up->offers_h2 && bytes_is(io_tls_alpn(io), "h2"))
			upstream_begin_h2(up);
		else
			upstream_ready(up);
		break;
	case IO_TLS_HELLO:
	case IO_RELEASED:
	case IO_EVENT_MAX:
	default:
		break;
	}
}

/* ---- use ---- */

struct fields upstream_trailers(struct upstream *up)
{
	struct fields trailers = {.count = 0};

	if (buf_len(&up->trailer) > 0 &&
	    trailers_read(&up->arena, buf_view(&up->trailer), &trailers) < 0)
		trailers.count = 0;
	return trailers;
}

/* It failed, and nobody was told yet. */
static bool is_dead(const struct upstream *up)
{
	return io_error(up->io)->code != ERR_NONE;
}

/* What could not be written, because the connection just died, is lost with
 * it: FAILED comes later in the turn, after what upstream had to say. */
static int written(const struct upstream *up, int result)
{
	return result < 0 && !is_dead(up) ? -1 : 0;
}

int upstream_send(struct upstream *up, const struct request *request,
		  const struct upstream_labels *labels, struct err *err)
{
	if (up->state != UP_READY)
		return err_set(err, ERR_INVALID, "send request: not ready");
	up->body_is_open = request->framing != FRAMING_NONE;
	up->may_switch = request->is_websocket;
	if (is_dead(up))
		return 0;
	if (up->kind->send(up, request, labels, err) < 0)
		return is_dead(up) ? 0 : -1;
	upstream_expect_response(up, request->method);
	await(up);
	/* A leg's request ends with a frame even without a body, but for one
	 * that asks for a WebSocket. */
	if (!up->body_is_open && !up->may_switch && up->kind == &upstream_leg &&
	    written(up, up->kind->body_end(up)) < 0)
		return err_set(err, ERR_CLOSED, "send request");
	return 0;
}

bool upstream_is_sent(const struct upstream *up)
{
	return up->state != UP_CONNECTING && up->state != UP_READY;
}

int upstream_body(struct upstream *up, struct bytes bytes)
{
	int result;

	if (!up->body_is_open || up->state == UP_FAILED ||
	    up->state == UP_CLOSED)
		return -1;
	if (bytes.len == 0)
		return 0;
	result = up->kind->body(up, bytes);
	await(up);
	return written(up, result);
}

int upstream_body_end(struct upstream *up)
{
	if (!up->body_is_open)
		return -1;
	up->body_is_open = false;
	await(up);
	return written(up, up->kind->body_end(up));
}

bool upstream_is_full(const struct upstream *up)
{
	return io_is_full(up->io);
}

struct response *upstream_response(struct upstream *up)
{
	return &up->response;
}

struct bytes upstream_span(const struct upstream *up)
{
	return up->span;
}

void upstream_pause(struct upstream *up)
{
	up->is_paused = true;
	io_read_stop(up->io);
	io_deadline(up->io, 0);
}

void upstream_resume(struct upstream *up)
{
	if (!up->is_paused || up->state == UP_CLOSED || up->state == UP_FAILED)
		return;
	up->is_paused = false;
	io_read_start(up->io);
	on_data(up);
}

struct upstream_fault upstream_fault(const struct upstream *up)
{
	return (struct upstream_fault){up->constraint, up->detail};
}

const char *upstream_address(const struct upstream *up)
{
	return up->address;
}

bool upstream_was_stale(const struct upstream *up)
{
	return up->state == UP_FAILED && up->is_reused && !up->has_said &&
	       up->constraint == CONSTRAINT_upstream_closed;
}

/* ---- put ---- */

static bool is_fit_for_more(const struct upstream *up)
{
	return up->state == UP_DONE && up->response.keep_alive && !up->h2 &&
	       !up->may_switch && !up->body_is_open && !up->has_ended &&
	       !up->is_over && buf_len(io_in(up->io)) == 0 &&
	       buf_len(&up->raw) == 0 && io_out_len(up->io) == 0 &&
	       up->trust == up->pool->trust;
}

static void keep_tls_session(struct upstream *up)
{
	char key[TLS_CLIENT_KEY_MAX];
	int len;

	if (up->kind != &upstream_direct || !io_is_tls(up->io) ||
	    up->is_reused || !io_tls_is_of(up->io, up->pool->tls->ctx))
		return;
	len = snprintf(key, sizeof(key), "%s:%u", up->target.host,
		       up->target.port);
	tls_client_keep(up->pool->tls, bytes_from(key, (size_t)len),
			io_tls_session(up->io),
			io_loop_now_ms(up->pool->keeper->loop));
}

void upstream_put(struct upstream *up)
{
	if (up->state == UP_CLOSED)
		return;
	if (up->state == UP_DONE)
		keep_tls_session(up);
	if (!is_fit_for_more(up) ||
	    (up->kind == &upstream_leg && upstream_done_leg(up) < 0)) {
		upstream_close(up);
		return;
	}
	up->state = UP_IDLE;
	up->fn = NULL;
	up->owner = NULL;
	arena_release(&up->arena);
	buf_release(&up->raw);
	/* They are of this response alone. */
	buf_release(&up->trailer);
	io_tls_rest(up->io);
	/* The newest is taken first, and the oldest makes room. */
	if (up->pool->idle_count == UPSTREAM_IDLE_MAX)
		upstream_close(up->pool->idle->prev);
	DL_PREPEND(up->pool->idle, up);
	up->pool->idle_count++;
	io_deadline(up->io, UPSTREAM_IDLE_MS);
	io_read_start(up->io);
}

void upstream_pool_review(struct upstream_pool *pool, upstream_may_fn *may,
			  void *owner)
{
	struct upstream *up, *next;

	upstream_review_h2(pool, may, owner);
	DL_FOREACH_SAFE(pool->idle, up, next)
	if (up->binding[0] || !may(&up->target, owner))
		upstream_close(up);
}

void upstream_pool_distrust(struct upstream_pool *pool)
{
	struct upstream *up, *next;

	pool->trust++;
	upstream_distrust_h2(pool);
	DL_FOREACH_SAFE(pool->idle, up, next)
	if (up->target.scheme == SCHEME_HTTPS)
		upstream_close(up);
}

void upstream_pool_release(struct upstream_pool *pool)
{
	upstream_release_h2(pool);
	while (pool->idle)
		upstream_close(pool->idle);
}
