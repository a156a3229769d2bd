#include "tests/contract/tls_rig.h"

#define BULK_BYTES (4 << 20)

static const struct tls_setting usual;

static void handshake_pauses_at_the_hello_and_goes_on(void **state)
{
	static const struct tls_setting rows[] = {
		{.version = TLS1_2_VERSION},
		{.version = TLS1_3_VERSION},
		{.version = TLS1_2_VERSION, .chunk = 1},
		{.version = TLS1_3_VERSION, .chunk = 1},
	};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct tls_rig rig;

		tls_set_up(&rig, &rows[i]);
		rig.answers_later = true;
		assert_string_equal(io_tls_name(rig.server.io), "");
		tls_start(&rig, NULL);
		assert_string_equal(rig.server.seen, "H");
		assert_string_equal(io_tls_name(rig.server.io), "good.example");
		assert_string_equal(io_tls_version(rig.server.io), "");
		ends_run(rig.loop);
		assert_string_equal(rig.server.seen, "H");
		tls_answer(&rig);
		ends_run(rig.loop);
		assert_string_equal(rig.server.seen, "HY");
		assert_string_equal(rig.client.seen, "Y");
		assert_string_equal(rig.version,
				    rows[i].version == TLS1_2_VERSION
					    ? "TLSv1.2"
					    : "TLSv1.3");
		assert_int_equal(io_write(rig.client.io, bytes_str("question")),
				 0);
		ends_run(rig.loop);
		assert_got(&rig.server, "question");
		assert_int_equal(io_write(rig.server.io, bytes_str("answer")),
				 0);
		ends_run(rig.loop);
		assert_got(&rig.client, "answer");
		tls_tear_down(&rig);
	}
}

static void hello_without_a_name_has_an_empty_one(void **state)
{
	struct io_tls_client client = {.ctx = keys.client, .name = "192.0.2.7"};
	struct tls_rig rig;

	(void)state;
	tls_set_up(&rig, &usual);
	tls_start(&rig, &client);
	assert_string_equal(io_tls_name(rig.server.io), "");
	assert_string_equal(rig.client.seen, "Y");
	tls_tear_down(&rig);
}

static void name_longer_than_a_name_is_refused(void **state)
{
	char name[256];
	struct tls_rig rig;
	struct err err;

	(void)state;
	memset(name, 'a', sizeof(name));
	for (size_t i = 50; i < sizeof(name); i += 50)
		name[i] = '.';
	/* 253 bytes pass; OpenSSL itself sends up to 255. */
	for (size_t len = 253; len <= 254; len++) {
		SSL *ssl;

		tls_set_up(&rig, &usual);
		rig.answers_later = true;
		assert_int_equal(io_tls_server(rig.server.io, keys.server,
					       bytes_str(""), &err),
				 0);
		assert_int_equal(io_tls_client(rig.client.io,
					       &(struct io_tls_client){
						       .ctx = keys.client,
						       .name = "good.example"},
					       &err),
				 0);
		ssl = rig.client.io->tls->ssl;
		name[len] = '\0';
		assert_int_equal(SSL_set_tlsext_host_name(ssl, name), 1);
		name[len] = 'a';
		ends_run(rig.loop);
		assert_string_equal(rig.server.seen, len == 253 ? "H" : "F");
		if (len == 254)
			assert_int_equal(rig.server.error.code, ERR_INVALID);
		tls_tear_down(&rig);
	}
}

static void hello_that_was_read_before_is_used(void **state)
{
	struct io_tls_client client = {.ctx = keys.client,
				       .name = "good.example"};
	struct tls_rig rig;
	struct err err;

	(void)state;
	tls_set_up(&rig, &usual);
	rig.server.keeps_data = true;
	assert_int_equal(io_tls_client(rig.client.io, &client, &err), 0);
	ends_run(rig.loop);
	assert_string_equal(rig.server.seen, "D");
	assert_true(bytes_starts_with(buf_view(io_in(rig.server.io)),
				      bytes_str("\x16")));
	assert_int_equal(io_tls_server(rig.server.io, keys.server,
				       buf_view(io_in(rig.server.io)), &err),
			 0);
	assert_int_equal(buf_len(io_in(rig.server.io)), 0);
	ends_run(rig.loop);
	assert_string_equal(rig.server.seen, "DHY");
	assert_string_equal(rig.client.seen, "Y");
	tls_tear_down(&rig);
}

static void what_is_written_early_waits_for_the_handshake(void **state)
{
	struct tls_rig rig;

	(void)state;
	tls_set_up(&rig, &usual);
	rig.answers_later = true;
	tls_start(&rig, NULL);
	assert_int_equal(io_write(rig.client.io, bytes_str("early ")), 0);
	assert_int_equal(io_write(rig.client.io, bytes_str("bird")), 0);
	io_end(rig.client.io);
	ends_run(rig.loop);
	assert_int_equal(io_out_len(rig.client.io), 10);
	tls_answer(&rig);
	ends_run(rig.loop);
	assert_got(&rig.server, "early bird");
	assert_string_equal(rig.server.seen, "HYDE");
	tls_tear_down(&rig);
}

static void half_close_leaves_the_other_direction(void **state)
{
	struct tls_rig rig;

	(void)state;
	tls_set_up(&rig, &usual);
	tls_start(&rig, NULL);
	assert_int_equal(io_write(rig.client.io, bytes_str("all")), 0);
	io_end(rig.client.io);
	ends_run(rig.loop);
	assert_string_equal(rig.server.seen, "HYDE");
	assert_int_equal(io_write(rig.server.io, bytes_str("the answer")), 0);
	ends_run(rig.loop);
	assert_got(&rig.client, "the answer");
	io_end(rig.server.io);
	ends_run(rig.loop);
	assert_string_equal(rig.client.seen, "YDE");
	assert_string_equal(rig.server.seen, "HYDE");
	tls_tear_down(&rig);
}

static void end_without_notify_is_a_failure(void **state)
{
	struct tls_rig rig;

	(void)state;
	tls_set_up(&rig, &usual);
	tls_start(&rig, NULL);
	assert_int_equal(io_write(rig.client.io, bytes_str("part of")), 0);
	io_close(rig.client.io);
	ends_run(rig.loop);
	assert_string_equal(rig.server.seen, "HYDF");
	assert_got(&rig.server, "part of");
	assert_int_equal(rig.server.error.code, ERR_CLOSED);
	assert_non_null(strstr(rig.server.error.text, "truncated"));
	tls_tear_down(&rig);
}

static void flushed_close_ends_tls_properly(void **state)
{
	struct tls_rig rig;

	(void)state;
	tls_set_up(&rig, &usual);
	tls_start(&rig, NULL);
	assert_int_equal(io_write(rig.client.io, bytes_str("all")), 0);
	io_close_flushed(rig.client.io, 1000);
	ends_run(rig.loop);
	assert_string_equal(rig.server.seen, "HYDE");
	assert_got(&rig.server, "all");
	tls_tear_down(&rig);
}

static void end_inside_the_handshake_is_a_failure(void **state)
{
	struct tls_rig rig;

	(void)state;
	tls_set_up(&rig, &usual);
	rig.answers_later = true;
	tls_start(&rig, NULL);
	io_close(rig.server.io);
	ends_run(rig.loop);
	assert_string_equal(rig.client.seen, "F");
	assert_int_equal(rig.client.error.code, ERR_CLOSED);
	tls_tear_down(&rig);
}

static void answer_to_a_handshake_that_died_is_an_error(void **state)
{
	X509 *chain[] = {keys.leaf};
	struct tls_rig rig;
	struct err err;

	(void)state;
	tls_set_up(&rig, &usual);
	tls_start(&rig, NULL);
	assert_int_equal(
		io_tls_certificate(rig.server.io, chain, 1, keys.key, &err),
		-1);
	assert_int_equal(err.code, ERR_CLOSED);
	io_tls_refuse(rig.server.io, SSL_AD_ACCESS_DENIED);
	ends_run(rig.loop);
	assert_string_equal(rig.server.seen, "HY");
	tls_tear_down(&rig);
}

static void refusal_sends_the_alert(void **state)
{
	struct tls_rig rig;

	(void)state;
	tls_set_up(&rig, &usual);
	rig.answers_later = true;
	tls_start(&rig, NULL);
	io_tls_refuse(rig.server.io, SSL_AD_UNRECOGNIZED_NAME);
	ends_run(rig.loop);
	assert_string_equal(rig.server.seen, "HF");
	assert_int_equal(rig.server.error.code, ERR_DENIED);
	assert_string_equal(rig.client.seen, "F");
	assert_non_null(strstr(rig.client.error.text, "unrecognized name"));
	tls_tear_down(&rig);
}

static void bytes_that_are_not_tls_fail_both_ways(void **state)
{
	static const char text[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
	struct tls_rig rig;
	struct err err;

	(void)state;
	for (int is_client = 0; is_client < 2; is_client++) {
		struct io_tls_client client = {.ctx = keys.client,
					       .name = "good.example"};

		tls_set_up(&rig, &usual);
		if (is_client)
			assert_int_equal(
				io_tls_client(rig.server.io, &client, &err), 0);
		else
			assert_int_equal(io_tls_server(rig.server.io,
						       keys.server,
						       bytes_str(""), &err),
					 0);
		assert_int_equal(io_write(rig.client.io, bytes_str(text)), 0);
		ends_run(rig.loop);
		assert_string_equal(rig.server.seen, "F");
		assert_int_equal(rig.server.error.code, ERR_LIBRARY);
		tls_tear_down(&rig);
	}
}

/* ---- records ---- */

static void pour_and_check(const struct tls_setting *setting, size_t len,
			   bool keeps)
{
	struct tls_rig rig;
	size_t at = 0;

	tls_set_up(&rig, setting);
	rig.client.to_send = len;
	rig.server.to_send = len;
	rig.server.keeps_data = keeps;
	tls_start(&rig, NULL);
	while (keeps && at < len) {
		struct bytes in = buf_view(io_in(rig.server.io));
		size_t n = in.len < 1000 ? in.len : 1000;

		assert_true(n > 0);
		for (size_t i = 0; i < n; i++, at++)
			assert_int_equal(in.data[i], tls_byte(at));
		buf_consume(io_in(rig.server.io), n);
		(void)io_loop_turn(rig.loop, 0, NULL);
		(void)io_loop_turn(rig.loop, 0, NULL);
	}
	ends_run(rig.loop);
	assert_int_equal(rig.client.to_send, 0);
	assert_int_equal(buf_len(&rig.client.got), len);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(buf_view(&rig.client.got).data[i],
				 tls_byte(i));
	if (!keeps)
		assert_int_equal(buf_len(&rig.server.got), len);
	tls_tear_down(&rig);
}

static void bulk_passes_both_ways_under_back_pressure(void **state)
{
	static const struct tls_setting rows[] = {
		{.narrow = 0},
		{.narrow = 10000},
		{.narrow = 10000, .version = TLS1_2_VERSION},
	};

	(void)state;
	for (size_t i = 0; i < 3; i++)
		pour_and_check(&rows[i], BULK_BYTES, false);
}

static void slow_owner_gets_every_byte(void **state)
{
	static const struct tls_setting narrow = {.narrow = 10000};

	(void)state;
	pour_and_check(&usual, 500000, true);
	pour_and_check(&narrow, 500000, true);
}

/* One record is longer than what io_in() may hold: its rest is inside
 * OpenSSL and no descriptor will ever announce it. */
static void rest_of_a_record_is_not_stranded(void **state)
{
	static const struct io_limits limits = {1000, 1000, 1000};
	uint8_t block[16000];
	struct tls_rig rig;
	struct io *small;
	size_t got = 0;
	int fds[2];

	(void)state;
	tls_set_up(&rig, &usual);
	io_close(rig.server.io);
	io_close(rig.client.io);
	ends_run(rig.loop);
	ends_pair_inner(fds, 0, 0);
	tls_side_set_up(&rig, &rig.client, fds[1]);
	small = io_new(rig.loop, fds[0], &limits, tls_on_event, &rig.server);
	rig.server.io = small;
	rig.server.keeps_data = true;
	io_read_start(small);
	tls_start(&rig, NULL);
	memset(block, 'r', sizeof(block));
	assert_int_equal(
		io_write(rig.client.io, bytes_from(block, sizeof(block))), 0);
	for (int i = 0; got < sizeof(block); i++) {
		size_t len;

		assert_true(i < 20);
		ends_run(rig.loop);
		len = buf_len(io_in(small));
		got += len;
		buf_consume(io_in(small), len);
		/* Stopping and starting again must not lose it either. */
		io_read_stop(small);
		ends_run(rig.loop);
		assert_int_equal(buf_len(io_in(small)), 0);
		io_read_start(small);
	}
	assert_int_equal(got, sizeof(block));
	tls_tear_down(&rig);
}

/* A record costs 22 bytes beside what it carries (TLS 1.3: 5 of header, 1 of
 * type, 16 of tag). */
#define RECORD_COST 22

static void write_ten_times(void *owner)
{
	for (int i = 0; i < 10; i++)
		assert_int_equal(io_write(owner, bytes_str("0123456789")), 0);
}

static void writes_of_one_callback_share_a_record(void **state)
{
	struct tls_rig rig;
	uint64_t before;
	BIO *bio;

	(void)state;
	tls_set_up(&rig, &usual);
	tls_start(&rig, NULL);
	bio = SSL_get_wbio(rig.client.io->tls->ssl);
	before = BIO_number_written(bio);
	assert_int_equal(
		io_loop_defer(rig.loop, write_ten_times, rig.client.io), 0);
	ends_run(rig.loop);
	assert_int_equal(buf_len(&rig.server.got), 100);
	assert_int_equal(BIO_number_written(bio) - before, 100 + RECORD_COST);
	tls_tear_down(&rig);
}

static void renegotiation_is_refused(void **state)
{
	static const struct tls_setting old = {.version = TLS1_2_VERSION};
	struct tls_rig rig;
	SSL *ssl;

	(void)state;
	tls_set_up(&rig, &old);
	tls_start(&rig, NULL);
	ssl = rig.client.io->tls->ssl;
	(void)SSL_clear_options(ssl, SSL_OP_NO_RENEGOTIATION);
	assert_int_equal(SSL_renegotiate(ssl), 1);
	(void)io_write(rig.client.io, bytes_str("again"));
	ends_run(rig.loop);
	assert_string_equal(rig.client.seen, "YF");
	assert_non_null(strstr(rig.client.error.text, "no renegotiation"));
	/* No second IO_TLS_HELLO: the server did not begin anything. */
	assert_true(rig.server.seen_len >= 2);
	assert_int_equal(strcspn(rig.server.seen + 1, "H"),
			 rig.server.seen_len - 1);
	tls_tear_down(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(handshake_pauses_at_the_hello_and_goes_on),
		cmocka_unit_test(hello_without_a_name_has_an_empty_one),
		cmocka_unit_test(name_longer_than_a_name_is_refused),
		cmocka_unit_test(hello_that_was_read_before_is_used),
		cmocka_unit_test(what_is_written_early_waits_for_the_handshake),
		cmocka_unit_test(half_close_leaves_the_other_direction),
		cmocka_unit_test(end_without_notify_is_a_failure),
		cmocka_unit_test(flushed_close_ends_tls_properly),
		cmocka_unit_test(end_inside_the_handshake_is_a_failure),
		cmocka_unit_test(answer_to_a_handshake_that_died_is_an_error),
		cmocka_unit_test(refusal_sends_the_alert),
		cmocka_unit_test(bytes_that_are_not_tls_fail_both_ways),
		cmocka_unit_test(bulk_passes_both_ways_under_back_pressure),
		cmocka_unit_test(slow_owner_gets_every_byte),
		cmocka_unit_test(rest_of_a_record_is_not_stranded),
		cmocka_unit_test(writes_of_one_callback_share_a_record),
		cmocka_unit_test(renegotiation_is_refused),
	};

	return cmocka_run_group_tests(tests, tls_keys_make, tls_keys_free);
}
