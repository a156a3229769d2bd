/*
 * A TLS client and a TLS server of ours on the two ends of a stream, for
 * tests of whole handshakes.
 */
#ifndef TESTS_TLS_RIG_H
#define TESTS_TLS_RIG_H

#include <stdbool.h>

#include "common/io_tls.h"

#define RIG_TURNS_MAX 400
#define RIG_IN_MAX    65536

struct rig_end {
	struct io *io;
	bool is_ready, has_failed, has_data, is_released;
	char why[ERR_TEXT_MAX];
	/* server: what it answers a ClientHello with; chain[0] NULL: close */
	X509 *chain[2];
	size_t chain_len;
	EVP_PKEY *key;
	char name[256]; /* server: the SNI */
};

struct rig {
	struct io_loop *loop;
	struct rig_end client, server;
};

static inline void rig_on_event(struct io *io, enum io_event event, void *owner)
{
	struct rig_end *end = owner;
	struct err err = {0};

	if (event == IO_TLS_HELLO) {
		(void)snprintf(end->name, sizeof(end->name), "%s",
			       io_tls_name(io));
		if (io_tls_certificate(io, end->chain, end->chain_len, end->key,
				       &err))
			io_tls_refuse(io, SSL_AD_INTERNAL_ERROR);
	} else if (event == IO_TLS_READY) {
		end->is_ready = true;
	} else if (event == IO_DATA) {
		end->has_data = true;
	} else if (event == IO_FAILED) {
		end->has_failed = true;
		(void)snprintf(end->why, sizeof(end->why), "%s",
			       io_error(io)->text);
	} else if (event == IO_RELEASED) {
		end->is_released = true;
	}
}

/* Start both sides; the caller has filled in server.chain and key. */
static inline void rig_start(struct rig *rig, SSL_CTX *server_ctx,
			     const struct io_tls_client *client)
{
	static const struct io_limits limits = {RIG_IN_MAX, RIG_IN_MAX,
						RIG_IN_MAX};
	struct err err = {0};
	int fds[2];

	rig->loop = io_loop_new(&err);
	assert_non_null(rig->loop);
	assert_int_equal(io_stream_pair(fds, &err), 0);
	rig->client.io =
		io_new(rig->loop, fds[0], &limits, rig_on_event, &rig->client);
	rig->server.io =
		io_new(rig->loop, fds[1], &limits, rig_on_event, &rig->server);
	io_read_start(rig->client.io);
	io_read_start(rig->server.io);
	if (io_tls_server(rig->server.io, server_ctx, bytes_from(NULL, 0),
			  &err) ||
	    io_tls_client(rig->client.io, client, &err))
		fail_msg("%s", err.text);
}

/* Run until the client is ready or failed, then some turns more, in which
 * tickets and alerts arrive. */
static inline void rig_run(struct rig *rig)
{
	int rest = 10;

	for (int i = 0; i < RIG_TURNS_MAX && rest > 0; i++) {
		assert_int_equal(io_loop_turn(rig->loop, 5, NULL), 0);
		if (rig->client.has_failed ||
		    (rig->client.is_ready && rig->server.is_ready))
			rest--;
	}
}

static inline void rig_stop(struct rig *rig)
{
	io_close(rig->client.io);
	io_close(rig->server.io);
	for (int i = 0; i < RIG_TURNS_MAX &&
			!(rig->client.is_released && rig->server.is_released);
	     i++)
		assert_int_equal(io_loop_turn(rig->loop, 5, NULL), 0);
	io_loop_free(rig->loop);
}

#endif
