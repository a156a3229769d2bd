/*
 * Where an exchange gets its connection from: one that was kept, a stream of
 * one that speaks HTTP/2, or a new one.
 */
#include <stdlib.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "gateway/upstream/inside.h"

static void on_dialed(struct dial_outcome *outcome, void *owner)
{
	struct upstream *up = owner;
	struct err err;
	bool is_leg = up->kind == &upstream_leg;
	int started;

	up->dial = NULL;
	if (outcome->fd < 0) {
		upstream_fail(up, outcome->constraint, "%.*s",
			      BYTES_ARGS(outcome->detail));
		return;
	}
	(void)snprintf(up->address, sizeof(up->address), "%.*s",
		       BYTES_ARGS(outcome->detail));
	if (is_leg)
		started = upstream_start_leg(up, take_fd(&outcome->fd), &err);
	else
		started =
			upstream_start_direct(up, take_fd(&outcome->fd), &err);
	if (started < 0)
		upstream_fail(up,
			      !is_leg && err_is_hangup(&err)
				      ? CONSTRAINT_upstream_closed
				      : CONSTRAINT_internal,
			      "%.200s", err.text);
}

static bool is_for(const struct upstream *up, const struct target *target,
		   struct bytes binding)
{
	return up->target.port == target->port &&
	       up->target.scheme == target->scheme &&
	       !strcmp(up->target.host, target->host) &&
	       bytes_is(binding, up->binding);
}

static void ready_deferred(void *owner)
{
	struct upstream *up = owner;

	up->is_ready_due = false;
	if (up->state == UP_READY)
		up->fn(up, UPSTREAM_READY, up->owner);
	else if (up->state == UP_CLOSED && !up->io)
		upstream_free(up);
}

/* With a credential it is HTTP/2 where it is needed, and nowhere else. */
static bool speaks_for(const struct upstream *up, bool offers_h2)
{
	if (up->kind == &upstream_leg)
		return up->offers_h2 == offers_h2;
	return up->offers_h2 || !offers_h2;
}

/* An idle connection to the same origin with the same credential. */
static struct upstream *take_idle(struct upstream_pool *pool,
				  const struct target *target,
				  struct bytes binding, bool offers_h2)
{
	struct upstream *up;

	DL_FOREACH(pool->idle, up)
	if (is_for(up, target, binding) && speaks_for(up, offers_h2))
		break;
	if (!up)
		return NULL;
	DL_DELETE(pool->idle, up);
	pool->idle_count--;
	io_deadline(up->io, 0);
	up->state = UP_READY;
	up->is_reused = true;
	up->has_said = false;
	return up;
}

static struct upstream *upstream_new(struct upstream_pool *pool,
				     const struct target *target,
				     struct bytes binding)
{
	struct upstream *up = upstream_place();

	if (!up)
		return NULL;
	up->pool = pool;
	up->target = *target;
	up->state = UP_CONNECTING;
	up->trust = pool->trust;
	up->kind = binding.len ? &upstream_leg : &upstream_direct;
	memcpy(up->binding, binding.data ? binding.data : (const uint8_t *)"",
	       binding.len);
	buf_init(&up->raw, UPSTREAM_IN_MAX + LEG_FRAME_MAX);
	buf_init(&up->trailer, GUARD_TRAILER_MAX);
	arena_init(&up->arena, HEAD_ARENA_BYTES);
	return up;
}

/* READY comes later in the turn. */
static bool defer_ready(struct upstream *up)
{
	up->is_ready_due = true;
	if (io_loop_defer(up->pool->keeper->loop, ready_deferred, up) == 0)
		return true;
	up->is_ready_due = false;
	upstream_close(up);
	return false;
}

static struct upstream *connect_new(struct upstream_pool *pool,
				    const struct target *target,
				    struct bytes binding, enum h2_wish wish,
				    struct err *err)
{
	struct upstream *up = upstream_new(pool, target, binding);

	if (!up) {
		(void)err_set(err, ERR_SYSTEM, "open upstream");
		return NULL;
	}
	up->offers_h2 = wish != H2_UNWANTED;
	up->is_wide = wish == H2_WIDE;
	if (up->offers_h2 && up->kind == &upstream_direct &&
	    upstream_join_h2(up) == 0) {
		up->state = UP_READY;
		up->is_reused = true;
		if (defer_ready(up))
			return up;
		(void)err_set(err, ERR_SYSTEM, "open upstream");
		return NULL;
	}
	up->dial = dial_start(pool->keeper, target, on_dialed, up, err);
	if (!up->dial) {
		upstream_free(up);
		return NULL;
	}
	return up;
}

static struct upstream *get(struct upstream_pool *pool,
			    const struct target *target, struct bytes binding,
			    enum h2_wish wish, struct err *err)
{
	struct upstream *up =
		take_idle(pool, target, binding, wish != H2_UNWANTED);

	if (up && defer_ready(up))
		return up;
	return connect_new(pool, target, binding, wish, err);
}

static struct upstream *owned(struct upstream *up, upstream_fn *fn, void *owner)
{
	if (up) {
		up->fn = fn;
		up->owner = owner;
	}
	return up;
}

static bool may_bind(const struct target *target, struct bytes binding,
		     struct err *err)
{
	if (binding.len <= UPSTREAM_BINDING_MAX_LEN &&
	    (binding.len == 0 || target->scheme == SCHEME_HTTPS))
		return true;
	(void)err_set(err, ERR_INVALID, "a credential needs HTTPS to %s",
		      target->host);
	return false;
}

struct upstream *upstream_get(struct upstream_pool *pool,
			      const struct target *target, struct bytes binding,
			      upstream_fn *fn, void *owner, struct err *err)
{
	return may_bind(target, binding, err)
		       ? owned(get(pool, target, binding, H2_UNWANTED, err), fn,
			       owner)
		       : NULL;
}

struct upstream *upstream_get_leg_h2(struct upstream_pool *pool,
				     const struct target *target,
				     struct bytes binding, upstream_fn *fn,
				     void *owner, struct err *err)
{
	return may_bind(target, binding, err)
		       ? owned(get(pool, target, binding, H2_NARROW, err), fn,
			       owner)
		       : NULL;
}

struct upstream *upstream_get_h2(struct upstream_pool *pool,
				 const struct target *target, bool is_wide,
				 upstream_fn *fn, void *owner, struct err *err)
{
	enum h2_wish wish = is_wide ? H2_WIDE : H2_NARROW;

	if (target->scheme != SCHEME_HTTPS)
		wish = H2_UNWANTED;
	return owned(get(pool, target, bytes_from(NULL, 0), wish, err), fn,
		     owner);
}
