/*
 * Bytes of an untrusted client before and during a TLS handshake. The first
 * byte says in which pieces they arrive.
 */
#include <assert.h>

#include "common/io_fake.h"
#include "common/io_tls.h"

#define NAME_MAX_BYTES 253

static unsigned released;

static void on_event(struct io *io, enum io_event event, void *owner)
{
	(void)owner;
	if (event == IO_TLS_HELLO) {
		assert(strlen(io_tls_name(io)) <= NAME_MAX_BYTES);
		io_tls_refuse(io, SSL_AD_UNRECOGNIZED_NAME);
	}
	/* Nobody gets through without a certificate, and nobody ends well. */
	assert(event != IO_TLS_READY && event != IO_DATA && event != IO_EOF);
	if (event == IO_FAILED)
		io_close(io);
	released += event == IO_RELEASED;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct io_limits limits = {4096, 4096, 65536};
	static SSL_CTX *ctx;
	struct io_loop *loop = io_loop_new(NULL);
	struct bytes input = bytes_from(data, size);
	struct io *io;
	int fds[2];

	if (!ctx)
		ctx = SSL_CTX_new(TLS_server_method());
	released = 0;
	fake_stream_pair(fds);
	if (input.len > 0) {
		fake_set_chunk(fds[1], input.data[0] / 8);
		input = bytes_slice(input, 1, input.len);
	}
	io = io_new(loop, fds[0], &limits, on_event, NULL);
	io_read_start(io);
	assert(io_tls_server(io, ctx, bytes_from(NULL, 0), NULL) == 0);
	fake_send(fds[1], input);
	fake_run(loop);
	fake_end(fds[1]);
	fake_run(loop);
	/* A client that ended has failed, and its io is closed. */
	assert(released == 1);
	io_loop_free(loop);
	fake_reset_all();
	return 0;
}
