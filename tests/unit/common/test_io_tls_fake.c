/* Bytes of a ClientHello that no well-behaved client sends. */
#define SP_IO_FAKE 1
#include "tests/contract/tls_rig.h"

#define NAME "good.example"

struct hello_rig {
	struct io_loop *loop;
	struct io *io;
	int fds[2];
	char seen[8];
	size_t seen_len;
};

static void on_event(struct io *io, enum io_event event, void *owner)
{
	static const char letters[IO_EVENT_MAX] = "DEWFTHYR";
	struct hello_rig *rig = owner;

	(void)io;
	assert_true(rig->seen_len < sizeof(rig->seen) - 1);
	rig->seen[rig->seen_len++] = letters[event];
}

/* A real ClientHello for NAME. */
static void make_hello(struct buf *hello)
{
	static const struct io_limits limits = {1024, 1024, 1024};
	struct io_tls_client client = {.ctx = keys.client, .name = NAME};
	struct hello_rig rig = {.loop = io_loop_new(NULL)};

	fake_stream_pair(rig.fds);
	rig.io = io_new(rig.loop, rig.fds[0], &limits, on_event, &rig);
	assert_int_equal(io_tls_client(rig.io, &client, NULL), 0);
	fake_run(rig.loop);
	assert_int_equal(buf_add(hello, buf_view(fake_received(rig.fds[1]))),
			 0);
	io_loop_free(rig.loop);
	fake_reset_all();
}

/* What a server makes of it. */
static void serve(struct hello_rig *rig, struct bytes hello)
{
	static const struct io_limits limits = {1024, 1024, 1024};

	*rig = (struct hello_rig){.loop = io_loop_new(NULL)};
	fake_stream_pair(rig->fds);
	rig->io = io_new(rig->loop, rig->fds[0], &limits, on_event, rig);
	assert_int_equal(
		io_tls_server(rig->io, keys.server, bytes_str(""), NULL), 0);
	fake_send(rig->fds[1], hello);
	fake_run(rig->loop);
}

/* Around the name: u16 list length, u8 type, u16 name length, the name. */
static void server_name_that_is_not_one_name_is_refused(void **state)
{
	static const struct {
		const char *what;
		ptrdiff_t at; /* from the name's first byte */
		uint8_t xor ;
		const char *seen;
	} rows[] = {
		{"nothing", 0, 0, "H"},
		{"another letter", 0, 1, "H"},
		{"NUL inside", 4, '.', "F"},
		{"NUL at the end", sizeof(NAME) - 2, 'e', "F"},
		{"unknown type", -3, 1, "F"},
		{"longer name", -1, 0x80, "F"},
		{"shorter name", -1, 4, "F"},
		{"longer list", -4, 0x80, "F"},
		{"empty list", -4, sizeof(NAME) - 1 + 3, "F"},
	};
	struct buf hello;

	(void)state;
	buf_init(&hello, 4096);
	make_hello(&hello);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ptrdiff_t name =
			bytes_find_bytes(buf_view(&hello), bytes_str(NAME), 0);
		uint8_t *byte = hello.data + hello.start + name + rows[i].at;
		struct hello_rig rig;

		assert_true(name > 5);
		*byte ^= rows[i].xor ;
		serve(&rig, buf_view(&hello));
		*byte ^= rows[i].xor ;
		if (strcmp(rig.seen, rows[i].seen) != 0)
			fail_msg("%s: %s", rows[i].what, rig.seen);
		if (rig.seen[0] == 'F') {
			assert_int_equal(io_error(rig.io)->code, ERR_INVALID);
			/* An alert was sent. */
			assert_true(bytes_starts_with(
				buf_view(fake_received(rig.fds[1])),
				bytes_str("\x15")));
		}
		io_loop_free(rig.loop);
		fake_reset_all();
	}
	buf_release(&hello);
}

static void
hello_that_stops_anywhere_is_awaited_and_then_truncated(void **state)
{
	struct buf hello;

	(void)state;
	buf_init(&hello, 4096);
	make_hello(&hello);
	for (size_t len = 0; len < buf_len(&hello); len += 7) {
		struct hello_rig rig;

		serve(&rig, bytes_slice(buf_view(&hello), 0, len));
		assert_string_equal(rig.seen, "");
		fake_end(rig.fds[1]);
		fake_run(rig.loop);
		assert_string_equal(rig.seen, "F");
		assert_int_equal(io_error(rig.io)->code, ERR_CLOSED);
		io_loop_free(rig.loop);
		fake_reset_all();
	}
	buf_release(&hello);
}

static void alert_to_a_peer_that_takes_nothing_does_not_hang(void **state)
{
	struct hello_rig rig;
	struct buf hello;

	(void)state;
	buf_init(&hello, 4096);
	make_hello(&hello);
	serve(&rig, buf_view(&hello));
	assert_string_equal(rig.seen, "H");
	fake_set_window(rig.fds[1], 0);
	io_tls_refuse(rig.io, SSL_AD_UNRECOGNIZED_NAME);
	fake_run(rig.loop);
	assert_string_equal(rig.seen, "HF");
	assert_int_equal(io_error(rig.io)->code, ERR_DENIED);
	io_loop_free(rig.loop);
	fake_reset_all();
	buf_release(&hello);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(server_name_that_is_not_one_name_is_refused),
		cmocka_unit_test(
			hello_that_stops_anywhere_is_awaited_and_then_truncated),
		cmocka_unit_test(
			alert_to_a_peer_that_takes_nothing_does_not_hang),
	};

	return cmocka_run_group_tests(tests, tls_keys_make, tls_keys_free);
}
