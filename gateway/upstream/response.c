#include "gateway/upstream/inside.h"

void upstream_expect_response(struct upstream *up, struct bytes method)
{
	size_t len =
		method.len < GUARD_METHOD_MAX ? method.len : GUARD_METHOD_MAX;

	memcpy(up->method, method.data, len);
	up->method[len] = '\0';
	up->interim = 0;
	arena_reset(&up->arena);
	guard_init(&up->guard, GUARD_RESPONSE);
	up->guard.may_switch = up->may_switch;
	up->state = UP_HEAD;
	io_deadline(up->io, up->pool->response_ms);
}

/* One head. 1: parsed and told; 0: more is needed; -1: failed. */
static int parse_head(struct upstream *up)
{
	struct buf *source = up->kind->source(up);
	struct http_fault fault;
	size_t head_len;

	up->has_said |= buf_len(source) > 0;
	switch (guard_scan(&up->guard, buf_view(source), &head_len)) {
	case GUARD_MORE:
		return 0;
	case GUARD_INVALID:
		upstream_fail(up, CONSTRAINT_response_malformed, "%s",
			      up->guard.fault.reason);
		return -1;
	case GUARD_COMPLETE:
	default:
		break;
	}
	if (head_response(&up->arena, &up->guard,
			  bytes_slice(buf_view(source), 0, head_len),
			  bytes_str(up->method), &up->response, &fault) < 0) {
		upstream_fail(up, fault.constraint, "%s", fault.reason);
		return -1;
	}
	buf_consume(source, head_len);
	if (up->response.is_websocket) {
		/* From here on both sides are streams of their own. */
		up->response.framing = FRAMING_TO_CLOSE;
		up->body_is_open = true;
		io_deadline(up->io, 0);
	} else if (up->response.status < 200) {
		if (++up->interim > HEAD_INTERIM_MAX) {
			upstream_fail(up, CONSTRAINT_response_malformed,
				      "more than %d interim responses",
				      HEAD_INTERIM_MAX);
			return -1;
		}
		arena_reset(&up->arena);
		guard_init(&up->guard, GUARD_RESPONSE);
		up->guard.may_switch = up->may_switch;
		return 1;
	}
	body_decoder_init(&up->decoder, up->response.framing,
			  up->response.body_len);
	if (up->keeps_trailers)
		up->decoder.keep = &up->trailer;
	up->state = UP_BODY;
	up->fn(up, UPSTREAM_HEAD, up->owner);
	return 1;
}

static void response_done(struct upstream *up)
{
	/* Bytes after the body were not asked for: whatever they are, they
	 * are not the next response (security A38, A39). */
	if (buf_len(up->kind->source(up)) > 0)
		up->response.keep_alive = false;
	up->state = UP_DONE;
	/* Its owner has all of it: nothing waits for the client any more. */
	up->is_paused = false;
	io_deadline(up->io, 0);
	up->fn(up, UPSTREAM_END, up->owner);
}

/* One span of the body. 1: told; 0: more is needed; -1: over. */
static int parse_body(struct upstream *up)
{
	struct buf *source = up->kind->source(up);
	struct bytes input = buf_view(source);
	size_t before = input.len;
	enum body_result result = body_decode(&up->decoder, &input, &up->span);

	if (result == BODY_INVALID) {
		upstream_fail(up, CONSTRAINT_response_malformed, "%s",
			      up->decoder.reason);
		return -1;
	}
	if (up->span.len > 0)
		up->fn(up, UPSTREAM_BODY, up->owner);
	/* The owner may have put it: then its bytes are gone. */
	if (up->state != UP_BODY)
		return -1;
	buf_consume(source, before - input.len);
	if (result == BODY_END) {
		response_done(up);
		return -1;
	}
	return before > input.len;
}

/* The stream ended and everything of it was parsed. */
static void parse_end(struct upstream *up)
{
	if (up->state == UP_BODY && body_decoder_may_end(&up->decoder)) {
		up->response.keep_alive = false;
		response_done(up);
	} else if (up->state == UP_BODY || up->state == UP_HEAD) {
		upstream_fail(up, CONSTRAINT_upstream_closed,
			      up->state == UP_BODY
				      ? "the response was cut short"
				      : "closed before a response");
	}
}

void upstream_parse(struct upstream *up)
{
	int more = 1;

	if (up->is_parsing)
		return;
	up->is_parsing = true;
	while (more > 0 && !up->is_paused &&
	       (up->state == UP_HEAD || up->state == UP_BODY))
		more = up->state == UP_HEAD ? parse_head(up) : parse_body(up);
	up->is_parsing = false;
	if (more == 0 && up->has_ended && !up->is_paused)
		parse_end(up);
}
