#include "gateway/courier/body.h"

#include "gateway/courier/attach.h"
#include "gateway/courier/h2.h"
#include "gateway/http/framing.h"

int body_begin(struct leg *leg, const struct msg_token *token, struct err *err)
{
	return sign_body_begin(leg, err) < 0 ? -1
					     : swap_body_begin(leg, token, err);
}

void body_release(struct leg *leg)
{
	swap_body_end(leg);
	EVP_MD_CTX_free(leg->body_digest);
	leg->body_digest = NULL;
}

static bool is_chunked(const struct leg *leg)
{
	if (leg->h2)
		return false;
	return leg->kind == LEG_PUSH ||
	       (leg->request.has_body && !leg->request.has_length);
}

int body_write(struct leg *leg, struct bytes bytes)
{
	return leg->h2 ? h2_body(leg, bytes) : io_write(leg->upstream, bytes);
}

int body_send(struct leg *leg, struct bytes payload, struct err *err)
{
	char header[CHUNK_HEADER_MAX];
	size_t len;

	if (payload.len == 0)
		return 0;
	if (payload.len > leg->body_left)
		return err_set(err, ERR_INVALID, "send body: too long");
	leg->body_left -= leg->has_length ? payload.len : 0;
	if (sign_body(leg, payload, err) < 0)
		return -1;
	(void)leg_wait(leg);
	if (leg->body_secret.len)
		return swap_body(leg, payload, err);
	if (!is_chunked(leg))
		return body_write(leg, payload);
	len = chunk_header(payload.len, header);
	if (io_write(leg->upstream, bytes_from(header, len)) < 0 ||
	    io_write(leg->upstream, payload) < 0)
		return -1;
	return io_write(leg->upstream, bytes_str(CHUNK_TAIL));
}

int body_end(struct leg *leg, struct err *err)
{
	if (leg->has_length && leg->body_left != 0)
		return err_set(err, ERR_INVALID, "end body: too short");
	if (sign_body_end(leg, err) < 0)
		return -1;
	swap_body_end(leg);
	leg->state = LEG_RECEIVING;
	(void)leg_wait(leg);
	if (leg->h2)
		return h2_body_end(leg);
	if (!is_chunked(leg))
		return 0;
	return io_write(leg->upstream, bytes_str(CHUNK_LAST));
}
