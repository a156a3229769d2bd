/*
 * Owners that do anything at any time, with and without TLS: no event comes
 * after IO_RELEASED, every io is released once, and nothing is touched that
 * is gone (the sanitized build sees that).
 */
#include "tests/contract/tls_rig.h"

#define PARTIES	  24
#define ROUNDS	  300
#define STEPS_MAX 40

struct party {
	struct chaos *chaos;
	struct io *io;
	bool is_released;
};

struct chaos {
	struct io_loop *loop;
	struct party parties[PARTIES];
	uint32_t state;
	unsigned released;
};

/* xorshift32 (Marsaglia, 2003). */
static uint32_t roll(struct chaos *chaos, uint32_t sides)
{
	uint32_t x = chaos->state;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	chaos->state = x;
	return x % sides;
}

static void write_some(struct chaos *chaos, struct io *io)
{
	static const uint8_t block[40000];

	(void)io_write(io, bytes_from(block, roll(chaos, sizeof(block))));
}

static void act(struct chaos *chaos)
{
	struct party *party = &chaos->parties[roll(chaos, PARTIES)];
	struct io *io = party->io;

	if (party->is_released)
		return;
	switch (roll(chaos, 16)) {
	case 0:
		io_close(io);
		break;
	case 1:
		io_close_flushed(io, roll(chaos, 3));
		break;
	case 2:
		io_end(io);
		break;
	case 3:
		io_read_stop(io);
		break;
	case 4:
	case 5:
		io_read_start(io);
		break;
	case 6:
		io_deadline(io, roll(chaos, 5));
		break;
	case 7:
		io_tls_refuse(io, SSL_AD_ACCESS_DENIED);
		break;
	case 8:
	case 9:
		buf_consume(io_in(io),
			    roll(chaos, (uint32_t)buf_len(io_in(io)) + 1));
		break;
	default:
		write_some(chaos, io);
		break;
	}
}

static void on_event(struct io *io, enum io_event event, void *owner)
{
	struct party *party = owner;
	struct chaos *chaos = party->chaos;
	X509 *chain[] = {keys.leaf};

	assert_ptr_equal(io, party->io);
	assert_false(party->is_released);
	if (event == IO_TLS_HELLO && roll(chaos, 4) > 0)
		assert_int_equal(
			io_tls_certificate(io, chain, 1, keys.key, NULL), 0);
	if (event == IO_FAILED && roll(chaos, 2) > 0)
		io_close(io);
	if (event == IO_DATA && roll(chaos, 2) > 0)
		buf_consume(io_in(io), buf_len(io_in(io)));
	if (event == IO_RELEASED) {
		party->is_released = true;
		chaos->released++;
	}
	for (uint32_t i = roll(chaos, 3); i > 0; i--)
		act(chaos);
}

static void add_pair(struct chaos *chaos, size_t at)
{
	struct io_tls_client client = {.ctx = keys.client,
				       .name = "good.example"};
	struct io_limits limits = {1 + roll(chaos, 20000), 30000, 100000};
	int fds[2];

	ends_pair_inner(fds, roll(chaos, 2) * 5000, roll(chaos, 2) * 100);
	for (size_t i = 0; i < 2; i++) {
		struct party *party = &chaos->parties[at + i];

		party->chaos = chaos;
		party->io =
			io_new(chaos->loop, fds[i], &limits, on_event, party);
		assert_non_null(party->io);
		io_read_start(party->io);
	}
	if (roll(chaos, 3) == 0)
		return;
	assert_int_equal(io_tls_server(chaos->parties[at].io, keys.server,
				       bytes_str(""), NULL),
			 0);
	assert_int_equal(
		io_tls_client(chaos->parties[at + 1].io, &client, NULL), 0);
}

static void owners_may_do_anything_at_any_time(void **state)
{
	(void)state;
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		struct chaos chaos = {.loop = io_loop_new(NULL),
				      .state = round * 2654435761u};

		for (size_t at = 0; at < PARTIES; at += 2)
			add_pair(&chaos, at);
		for (int step = 0; step < STEPS_MAX; step++) {
			if (roll(&chaos, 4) == 0)
				act(&chaos);
			assert_int_equal(io_loop_turn(chaos.loop, 0, NULL), 0);
		}
		io_loop_free(chaos.loop);
		assert_int_equal(chaos.released, PARTIES);
		ends_finish();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owners_may_do_anything_at_any_time),
	};

	return cmocka_run_group_tests(tests, tls_keys_make, tls_keys_free);
}
