/*
 * A connection whose TLS (or plain TCP) the edge owns: for requests without
 * a credential.
 */
#include "common/cleanup.h"
#include "common/io_tls.h"
#include "gateway/http/write.h"
#include "gateway/tls/verify.h"
#include "gateway/upstream/inside.h"

static const struct io_limits limits = {
	.in_max = UPSTREAM_IN_MAX,
	.out_high = UPSTREAM_OUT_HIGH,
	.out_max = UPSTREAM_OUT_MAX,
};

static const uint8_t protocols[] = {2,	 'h', '2', 8,	'h', 't',
				    't', 'p', '/', '1', '.', '1'};

static struct bytes session_key(const struct upstream *up,
				char key[TLS_CLIENT_KEY_MAX])
{
	int len = snprintf(key, TLS_CLIENT_KEY_MAX, "%s:%u", up->target.host,
			   up->target.port);

	return bytes_from(key, (size_t)len);
}

int upstream_start_direct(struct upstream *up, int fd, struct err *err)
{
	struct keeper *keeper = up->pool->keeper;
	char key[TLS_CLIENT_KEY_MAX];
	struct io_tls_client client = {
		.name = up->target.host,
		.check = tls_verify_leaf,
	};

	up->io = io_new(keeper->loop, fd, &limits, upstream_on_io, up);
	if (!up->io)
		return err_set(err, ERR_SYSTEM, "open upstream connection");
	if (up->target.scheme != SCHEME_HTTPS) {
		io_read_start(up->io);
		upstream_ready(up);
		return 0;
	}
	client.ctx = tls_client_context(up->pool->tls, err);
	if (!client.ctx)
		return -1;
	if (up->offers_h2)
		client.alpn = bytes_from(protocols, sizeof(protocols));
	client.session = tls_client_session(up->pool->tls, session_key(up, key),
					    io_loop_now_ms(keeper->loop));
	io_deadline(up->io, UPSTREAM_CONNECT_MS);
	if (io_tls_client(up->io, &client, err) < 0)
		return -1;
	io_read_start(up->io);
	return 0;
}

static int direct_send(struct upstream *up, const struct request *request,
		       const struct upstream_labels *labels, struct err *err)
{
	static const struct bytes te = BYTES_LITERAL("TE");
	static const struct bytes trailers = BYTES_LITERAL("trailers");
	auto_type(buf_release) struct buf head;
	struct request said = *request;

	(void)labels;
	/* gRPC's servers insist; the list has room (HEAD_FIELDS_SPARE). */
	if (up->h2 && request->takes_trailers)
		(void)fields_add(&said.fields, te, trailers);
	buf_init(&head, 2 * HEAD_BYTES_MAX);
	if (write_request(&head, &said, &up->target) < 0 ||
	    io_write(up->io, buf_view(&head)) < 0)
		return err_set(err, ERR_CLOSED, "send request");
	up->framing = request->framing;
	return 0;
}

static int direct_body(struct upstream *up, struct bytes bytes)
{
	char header[CHUNK_HEADER_MAX];
	size_t len;

	if (up->framing != FRAMING_CHUNKED)
		return io_write(up->io, bytes);
	len = chunk_header(bytes.len, header);
	if (io_write(up->io, bytes_from(header, len)) < 0 ||
	    io_write(up->io, bytes) < 0)
		return -1;
	return io_write(up->io, bytes_str(CHUNK_TAIL));
}

static int direct_body_end(struct upstream *up)
{
	if (up->framing != FRAMING_CHUNKED)
		return 0;
	return io_write(up->io, bytes_str(CHUNK_LAST));
}

static int direct_receive(struct upstream *up, struct err *err)
{
	(void)up;
	(void)err;
	return 0;
}

static struct buf *direct_source(struct upstream *up)
{
	return io_in(up->io);
}

const struct upstream_kind upstream_direct = {
	.send = direct_send,
	.body = direct_body,
	.body_end = direct_body_end,
	.receive = direct_receive,
	.source = direct_source,
};
