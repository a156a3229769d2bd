#include "gateway/exchange/reply.h"

#include "common/secret.h"

void reply_init(struct reply *reply, const char *method)
{
	*reply = (struct reply){.method = method};
	guard_init(&reply->guard, GUARD_RESPONSE);
	arena_init(&reply->arena, HEAD_ARENA_BYTES * (HEAD_INTERIM_MAX + 1));
	/* Large enough at once: growing would leave tokens behind. */
	buf_init(&reply->body, REPLY_BODY_MAX);
	(void)buf_reserve(&reply->body, REPLY_BODY_MAX);
}

void reply_release(struct reply *reply)
{
	if (reply->body.data)
		secret_wipe(reply->body.data, reply->body.size);
	buf_release(&reply->body);
	arena_release(&reply->arena);
}

/* 1: there is a head; 0: not yet; -1. */
static int read_head(struct reply *reply, struct buf *in, struct err *err)
{
	struct http_fault fault = {.reason = ""};
	size_t head_len;

	switch (guard_scan(&reply->guard, buf_view(in), &head_len)) {
	case GUARD_MORE:
		return 0;
	case GUARD_INVALID:
		return err_set(err, ERR_INVALID, "its answer: %s",
			       reply->guard.fault.reason);
	case GUARD_COMPLETE:
	default:
		break;
	}
	if (head_response(&reply->arena, &reply->guard,
			  bytes_slice(buf_view(in), 0, head_len),
			  bytes_str(reply->method), &reply->response,
			  &fault) < 0)
		return err_set(err, ERR_INVALID, "its answer: %s",
			       fault.reason);
	buf_consume(in, head_len);
	return 1;
}

/* Past those that come before the one that counts (RFC 9110 15.2). */
static int read_heads(struct reply *reply, struct buf *in, struct err *err)
{
	int got;

	while ((got = read_head(reply, in, err)) > 0) {
		if (reply->response.status >= 200)
			break;
		if (++reply->interim > HEAD_INTERIM_MAX)
			return err_set(err, ERR_TOO_LARGE,
				       "its answer never begins");
		guard_init(&reply->guard, GUARD_RESPONSE);
	}
	if (got <= 0)
		return got;
	if (reply->response.framing == FRAMING_LENGTH &&
	    reply->response.body_len > REPLY_BODY_MAX)
		return err_set(err, ERR_TOO_LARGE,
			       "its answer is larger than %d bytes",
			       REPLY_BODY_MAX);
	body_decoder_init(&reply->decoder, reply->response.framing,
			  reply->response.body_len);
	reply->has_head = true;
	return 1;
}

static int read_body(struct reply *reply, struct buf *in, struct err *err)
{
	struct bytes input = buf_view(in);
	enum body_result result;
	size_t all = input.len;
	struct bytes payload;

	do {
		result = body_decode(&reply->decoder, &input, &payload);
		if (buf_add(&reply->body, payload) < 0)
			return err_set(err, ERR_TOO_LARGE,
				       "its answer is larger than %d bytes",
				       REPLY_BODY_MAX);
	} while (result == BODY_MORE && input.len > 0);
	buf_consume(in, all - input.len);
	if (result == BODY_INVALID)
		return err_set(err, ERR_INVALID, "its answer: %s",
			       reply->decoder.reason);
	return result == BODY_END;
}

int reply_read(struct reply *reply, struct buf *in, struct err *err)
{
	if (!reply->has_head) {
		int got = read_heads(reply, in, err);

		if (got <= 0)
			return got;
	}
	return read_body(reply, in, err);
}

int reply_end(struct reply *reply, struct err *err)
{
	if (reply->has_head && body_decoder_may_end(&reply->decoder))
		return 1;
	return err_set(err, ERR_CLOSED, "it closed the connection");
}
