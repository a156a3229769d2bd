/* A TLS client and a TLS server, both ios on one pair. */
#ifndef CONTRACT_TLS_RIG_H
#define CONTRACT_TLS_RIG_H

#include <openssl/err.h>

#include "common/io_tls.h"
#include "common/io_tls_core.h"
#include "tests/contract/ends.h"
#include "tests/contract/tls_keys.h"

#define TLS_IN_MAX   65536
#define TLS_OUT_HIGH 65536
#define TLS_OUT_MAX  (16 << 20)

struct tls_side {
	struct tls_rig *rig;
	struct io *io;
	char seen[64]; /* letters of what came, data but once in a row */
	size_t seen_len;
	struct err error;
	bool keeps_data; /* else what comes goes to got at once */
	struct buf got;
	size_t to_send; /* still to be made up and written */
	size_t sent;
};

struct tls_rig {
	struct io_loop *loop;
	struct tls_side server;
	struct tls_side client;
	char version[16];
	bool answers_later; /* the test calls tls_answer() */
};

/* The byte at a position of a made-up stream. */
static inline uint8_t tls_byte(size_t at)
{
	return (uint8_t)(at * 7 + (at >> 8) + (at >> 16));
}

static inline void tls_answer(struct tls_rig *rig)
{
	X509 *chain[] = {keys.leaf, keys.authority};
	struct err err;

	assert_int_equal(
		io_tls_certificate(rig->server.io, chain, 2, keys.key, &err),
		0);
}

/* Write made-up bytes until the queue is full. */
static inline void tls_pour(struct tls_side *side)
{
	uint8_t some[5000];

	while (side->to_send > 0 && !io_is_full(side->io)) {
		size_t len = side->to_send < sizeof(some) ? side->to_send
							  : sizeof(some);

		for (size_t i = 0; i < len; i++)
			some[i] = tls_byte(side->sent + i);
		assert_int_equal(io_write(side->io, bytes_from(some, len)), 0);
		side->sent += len;
		side->to_send -= len;
	}
}

static inline void tls_on_event(struct io *io, enum io_event event, void *owner)
{
	static const char letters[IO_EVENT_MAX] = "DEWFTHYR";
	struct tls_side *side = owner;
	char letter = letters[event];

	assert_true(side->seen_len < sizeof(side->seen) - 1);
	if (event != IO_DRAINED && (event != IO_DATA || side->seen_len == 0 ||
				    side->seen[side->seen_len - 1] != letter))
		side->seen[side->seen_len++] = letter;
	if (event == IO_DATA && !side->keeps_data) {
		assert_int_equal(buf_add(&side->got, buf_view(io_in(io))), 0);
		buf_consume(io_in(io), buf_len(io_in(io)));
	}
	if (event == IO_DRAINED || event == IO_TLS_READY)
		tls_pour(side);
	if (event == IO_TLS_HELLO && !side->rig->answers_later)
		tls_answer(side->rig);
	if (event == IO_TLS_READY)
		(void)snprintf(side->rig->version, sizeof(side->rig->version),
			       "%s", io_tls_version(io));
	if (event == IO_FAILED)
		side->error = *io_error(io);
	if (event == IO_RELEASED)
		side->io = NULL;
}

static inline void tls_side_set_up(struct tls_rig *rig, struct tls_side *side,
				   int fd)
{
	static const struct io_limits limits = {TLS_IN_MAX, TLS_OUT_HIGH,
						TLS_OUT_MAX};

	side->rig = rig;
	buf_init(&side->got, 32 << 20);
	side->io = io_new(rig->loop, fd, &limits, tls_on_event, side);
	assert_non_null(side->io);
	io_read_start(side->io);
}

struct tls_setting {
	size_t narrow;
	size_t chunk;
	int version; /* at most; 0: any */
};

static inline void tls_set_up(struct tls_rig *rig,
			      const struct tls_setting *setting)
{
	int fds[2];

	*rig = (struct tls_rig){.loop = io_loop_new(NULL)};
	ends_pair_inner(fds, setting->narrow, setting->chunk);
	tls_side_set_up(rig, &rig->server, fds[0]);
	tls_side_set_up(rig, &rig->client, fds[1]);
	assert_int_equal(
		SSL_CTX_set_max_proto_version(keys.client, setting->version),
		1);
}

static inline void tls_start(struct tls_rig *rig,
			     const struct io_tls_client *client)
{
	struct io_tls_client usual = {.ctx = keys.client,
				      .name = "good.example"};
	struct err err;

	assert_int_equal(
		io_tls_server(rig->server.io, keys.server, bytes_str(""), &err),
		0);
	assert_int_equal(
		io_tls_client(rig->client.io, client ? client : &usual, &err),
		0);
	ends_run(rig->loop);
}

static inline void tls_tear_down(struct tls_rig *rig)
{
	io_loop_free(rig->loop);
	assert_null(rig->server.io);
	assert_null(rig->client.io);
	buf_release(&rig->server.got);
	buf_release(&rig->client.got);
	assert_int_equal(ERR_peek_error(), 0);
	ends_finish();
}

static inline void assert_got(struct tls_side *side, const char *text)
{
	assert_true(bytes_is(buf_view(&side->got), text));
	buf_clear(&side->got);
}

#endif
