#include "tests/contract/tls_rig.h"

static const struct tls_setting usual;

static void server_is_verified_by_name_and_authority(void **state)
{
	static const struct {
		const char *name;
		bool is_trusted;
		const char *seen;
		const char *why;
	} rows[] = {
		{"good.example", true, "Y", NULL},
		{"192.0.2.7", true, "Y", NULL},
		{"GOOD.example", true, "Y", NULL},
		{"evil.example", true, "F", "hostname mismatch"},
		{"good.example.org", true, "F", "hostname mismatch"},
		{"leaf", true, "F", "hostname mismatch"},
		{"192.0.2.8", true, "F", "IP address mismatch"},
		{"good.example", false, "F", "self-signed certificate"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		SSL_CTX *stranger = SSL_CTX_new(TLS_client_method());
		struct io_tls_client client = {
			.ctx = rows[i].is_trusted ? keys.client : stranger,
			.name = rows[i].name,
		};
		struct tls_rig rig;

		tls_set_up(&rig, &usual);
		tls_start(&rig, &client);
		assert_string_equal(rig.client.seen, rows[i].seen);
		if (rows[i].why) {
			assert_int_equal(rig.client.error.code, ERR_INVALID);
			assert_non_null(
				strstr(rig.client.error.text, rows[i].why));
		}
		tls_tear_down(&rig);
		SSL_CTX_free(stranger);
	}
}

static void empty_name_is_no_name(void **state)
{
	struct io_tls_client client = {.ctx = keys.client, .name = ""};
	struct tls_rig rig;
	struct err err;

	(void)state;
	tls_set_up(&rig, &usual);
	assert_int_equal(io_tls_client(rig.client.io, &client, &err), -1);
	assert_int_equal(err.code, ERR_INVALID);
	tls_tear_down(&rig);
}

struct ruling {
	int result;
	unsigned calls;
};

static int rule(X509 *leaf, void *owner, struct err *err)
{
	struct ruling *ruling = owner;

	assert_int_equal(X509_cmp(leaf, keys.leaf), 0);
	ruling->calls++;
	return ruling->result < 0 ? err_set(err, ERR_DENIED, "not this one")
				  : 0;
}

static void owner_may_refuse_what_openssl_accepts(void **state)
{
	(void)state;
	for (int result = -1; result <= 0; result++) {
		struct ruling ruling = {.result = result};
		struct io_tls_client client = {.ctx = keys.client,
					       .name = "good.example",
					       .check = rule,
					       .check_owner = &ruling};
		struct tls_rig rig;

		tls_set_up(&rig, &usual);
		tls_start(&rig, &client);
		assert_int_equal(ruling.calls, 1);
		assert_string_equal(rig.client.seen, result < 0 ? "F" : "Y");
		if (result < 0) {
			assert_int_equal(rig.client.error.code, ERR_DENIED);
			assert_string_equal(rig.client.error.text,
					    "not this one");
		}
		tls_tear_down(&rig);
	}
}

static void refused_server_gets_no_byte_of_ours(void **state)
{
	struct ruling ruling = {.result = -1};
	struct io_tls_client client = {.ctx = keys.client,
				       .name = "good.example",
				       .check = rule,
				       .check_owner = &ruling};
	struct tls_rig rig;

	(void)state;
	tls_set_up(&rig, &usual);
	rig.client.to_send = 1000;
	tls_start(&rig, &client);
	assert_int_equal(buf_len(&rig.server.got), 0);
	assert_int_equal(rig.client.sent, 0);
	tls_tear_down(&rig);
}

/* A connection with session (or without); its session afterwards. */
static SSL_SESSION *connect_once(const struct tls_setting *setting,
				 const struct io_tls_client *client,
				 bool *was_reused, struct tls_rig *rig)
{
	SSL_SESSION *session;

	tls_set_up(rig, setting);
	tls_start(rig, client);
	if (rig->client.seen[0] != 'Y') {
		tls_tear_down(rig);
		return NULL;
	}
	assert_int_equal(io_write(rig->server.io, bytes_str("x")), 0);
	ends_run(rig->loop);
	assert_got(&rig->client, "x");
	*was_reused = SSL_session_reused(rig->client.io->tls->ssl);
	session = io_tls_session(rig->client.io);
	assert_non_null(session);
	tls_tear_down(rig);
	return session;
}

static void session_is_resumed_and_checked_again(void **state)
{
	static const struct tls_setting rows[] = {
		{.version = TLS1_2_VERSION},
		{.version = TLS1_3_VERSION},
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct ruling ruling = {.result = 0};
		struct io_tls_client client = {.ctx = keys.client,
					       .name = "good.example",
					       .check = rule,
					       .check_owner = &ruling};
		struct tls_rig rig;
		bool was_reused;
		SSL_SESSION *first =
			connect_once(&rows[i], &client, &was_reused, &rig);
		SSL_SESSION *second;

		assert_false(was_reused);
		client.session = first;
		second = connect_once(&rows[i], &client, &was_reused, &rig);
		assert_true(was_reused);
		assert_string_equal(rig.server.seen, "HYR");
		assert_int_equal(ruling.calls, 2);
		SSL_SESSION_free(second);
		client.session = first;
		ruling.result = -1;
		assert_null(connect_once(&rows[i], &client, &was_reused, &rig));
		assert_int_equal(rig.client.error.code, ERR_DENIED);
		SSL_SESSION_free(first);
	}
}

/* The session of one name must not vouch for another. */
static void session_of_another_name_is_refused(void **state)
{
	static const struct tls_setting rows[] = {
		{.version = TLS1_2_VERSION},
		{.version = TLS1_3_VERSION},
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct io_tls_client client = {.ctx = keys.client,
					       .name = "good.example"};
		struct tls_rig rig;
		bool was_reused;

		client.session =
			connect_once(&rows[i], &client, &was_reused, &rig);
		client.name = "evil.example";
		assert_null(connect_once(&rows[i], &client, &was_reused, &rig));
		assert_int_equal(rig.client.error.code, ERR_INVALID);
		SSL_SESSION_free(client.session);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(server_is_verified_by_name_and_authority),
		cmocka_unit_test(empty_name_is_no_name),
		cmocka_unit_test(owner_may_refuse_what_openssl_accepts),
		cmocka_unit_test(refused_server_gets_no_byte_of_ours),
		cmocka_unit_test(session_is_resumed_and_checked_again),
		cmocka_unit_test(session_of_another_name_is_refused),
	};

	return cmocka_run_group_tests(tests, tls_keys_make, tls_keys_free);
}
