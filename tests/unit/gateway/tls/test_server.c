#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/tls/server.h"
#include "tests/unit/gateway/tls/forge.h"
#include "tests/unit/gateway/tls/rig.h"

#define FAR_FUTURE_MS (1ull << 60)

struct bench {
	struct tls_server server;
	struct tls_leaves leaves;
	struct forged root;
	SSL_CTX *client;
};

/* A leaf for name and the server's key, as the minter would make it. */
static void mint(struct bench *bench, const char *name)
{
	struct recipe recipe = recipe_good();
	char san[64];
	struct forged by_minter;
	uint8_t *der[2] = {0};
	struct tls_leaf_der minted = {.expires_ms = FAR_FUTURE_MS};

	(void)snprintf(san, sizeof(san), "DNS:%s", name);
	recipe.san = san;
	by_minter = forge(&recipe, &bench->root);
	assert_int_equal(X509_set_pubkey(by_minter.cert, bench->server.key), 1);
	assert_true(X509_sign(by_minter.cert, bench->root.key, EVP_sha256()) >
		    0);
	minted.leaf.len = (size_t)i2d_X509(by_minter.cert, &der[0]);
	minted.leaf.data = der[0];
	minted.ca.len = (size_t)i2d_X509(bench->root.cert, &der[1]);
	minted.ca.data = der[1];
	assert_non_null(tls_leaves_add(&bench->leaves, bytes_str(name), false,
				       &minted, NULL));
	OPENSSL_free(der[0]);
	OPENSSL_free(der[1]);
	forged_release(&by_minter);
}

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	struct recipe root = recipe_root("Root");
	struct err err = {0};

	assert_non_null(bench);
	bench->root = forge(&root, NULL);
	if (tls_server_init(&bench->server, bytes_str("s-one"), &err))
		fail_msg("%s", err.text);
	tls_leaves_init(&bench->leaves);
	mint(bench, "a.test");
	mint(bench, "b.test");
	bench->client = SSL_CTX_new(TLS_client_method());
	assert_int_equal(
		X509_STORE_add_cert(SSL_CTX_get_cert_store(bench->client),
				    bench->root.cert),
		1);
	*state = bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	SSL_CTX_free(bench->client);
	tls_leaves_release(&bench->leaves);
	tls_server_release(&bench->server);
	forged_release(&bench->root);
	free(bench);
	return 0;
}

/* One handshake for name with the leaf of that name. */
static void shake(struct bench *bench, struct rig *rig, const char *name,
		  SSL_SESSION *session)
{
	const struct io_tls_client client = {
		.ctx = bench->client, .name = name, .session = session};
	const struct tls_leaf *leaf =
		tls_leaves_find(&bench->leaves, bytes_str(name), false, 0);

	assert_non_null(leaf);
	memcpy(rig->server.chain, leaf->chain, sizeof(leaf->chain));
	rig->server.chain_len = leaf->count;
	rig->server.key = bench->server.key;
	rig_start(rig, bench->server.ctx, &client);
	rig_run(rig);
}

static void server_is_trusted_for_the_name_it_has_a_leaf_for(void **state)
{
	struct bench *bench = *state;
	struct rig rig = {0};

	shake(bench, &rig, "a.test", NULL);
	if (!rig.client.is_ready)
		fail_msg("%s", rig.client.why);
	assert_string_equal(rig.server.name, "a.test");
	assert_string_equal(io_tls_version(rig.client.io), "TLSv1.3");
	rig_stop(&rig);
}

/* Shake for `first`, then for `second` with the session of the first. */
static bool is_resumed(struct bench *bench, const char *first,
		       const char *second)
{
	struct rig before = {0};
	struct rig after = {0};
	SSL_SESSION *session;
	long hits;

	shake(bench, &before, first, NULL);
	assert_true(before.client.is_ready);
	session = io_tls_session(before.client.io);
	assert_true(SSL_SESSION_is_resumable(session));
	rig_stop(&before);
	hits = SSL_CTX_sess_hits(bench->client);
	shake(bench, &after, second, session);
	if (!after.client.is_ready)
		fail_msg("%s", after.client.why);
	rig_stop(&after);
	SSL_SESSION_free(session);
	return SSL_CTX_sess_hits(bench->client) > hits;
}

static void server_resumes_a_session_only_for_its_own_name(void **state)
{
	static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
	struct bench *bench = *state;

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		assert_int_equal(SSL_CTX_set_max_proto_version(bench->client,
							       versions[i]),
				 1);
		assert_true(is_resumed(bench, "a.test", "a.test"));
		assert_false(is_resumed(bench, "a.test", "b.test"));
	}
}

/* The ticket of one edge shown to another, which has its own keys. */
static void server_does_not_resume_what_another_edge_began(void **state)
{
	struct bench *bench = *state;
	struct tls_server other;
	struct rig before = {0};
	struct rig after = {0};
	SSL_SESSION *session;
	long hits;

	assert_int_equal(tls_server_init(&other, bytes_str("s-two"), NULL), 0);
	shake(bench, &before, "a.test", NULL);
	session = io_tls_session(before.client.io);
	rig_stop(&before);
	tls_server_release(&bench->server);
	bench->server = other;
	mint(bench, "a.test");
	hits = SSL_CTX_sess_hits(bench->client);
	shake(bench, &after, "a.test", session);
	assert_true(after.client.is_ready);
	assert_int_equal(SSL_CTX_sess_hits(bench->client), hits);
	rig_stop(&after);
	SSL_SESSION_free(session);
}

static void server_prefers_http_2_and_takes_no_other_protocol(void **state)
{
	static const struct {
		const char *name, *offer;
		bool is_accepted;
		const char *chosen;
	} rows[] = {
		{"a.test", "\x08http/1.1", true, "http/1.1"},
		{"a.test", "\x02h2\x08http/1.1", true, "h2"},
		{"a.test", "\x08http/1.1\x02h2", true, "h2"},
		{"a.test", "\x02h2", true, "h2"},
		{"a.test", "\x08http/1.0", true, "http/1.0"},
		{"a.test", "\x08http/1.0\x08http/1.1", true, "http/1.1"},
		{"a.test", "\x08http/0.9", false, ""},
		{"a.test", "\x03h2c", false, ""},
		{"b.test", "\x02h2\x08http/1.1", true, "http/1.1"},
		{"b.test", "\x02h2", true, "h2"},
	};
	const struct bytes http11 = bytes_str("B.test");
	struct bench *bench = *state;

	tls_server_prefer_http11(&bench->server, &http11, 1);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rig rig = {0};

		assert_int_equal(SSL_CTX_set_alpn_protos(
					 bench->client,
					 (const uint8_t *)rows[i].offer,
					 (unsigned)strlen(rows[i].offer)),
				 0);
		shake(bench, &rig, rows[i].name, NULL);
		assert_int_equal(rig.client.is_ready, rows[i].is_accepted);
		assert_true(
			bytes_is(io_tls_alpn(rig.client.io), rows[i].chosen));
		if (!rows[i].is_accepted)
			assert_non_null(
				strstr(rig.client.why, "application protocol"));
		rig_stop(&rig);
	}
}

static void server_refuses_old_versions_and_weak_suites(void **state)
{
	static const struct {
		int version;
		const char *suites;
		bool is_accepted;
	} rows[] = {
		{TLS1_2_VERSION, "ECDHE-ECDSA-AES128-GCM-SHA256", true},
		{TLS1_2_VERSION, "ECDHE-ECDSA-AES128-SHA", false},
		{TLS1_1_VERSION, "ALL:@SECLEVEL=0", false},
	};
	struct bench *bench = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rig rig = {0};

		assert_int_equal(SSL_CTX_set_min_proto_version(bench->client,
							       TLS1_VERSION),
				 1);
		assert_int_equal(SSL_CTX_set_max_proto_version(bench->client,
							       rows[i].version),
				 1);
		assert_int_equal(
			SSL_CTX_set_cipher_list(bench->client, rows[i].suites),
			1);
		shake(bench, &rig, "a.test", NULL);
		assert_int_equal(rig.client.is_ready, rows[i].is_accepted);
		rig_stop(&rig);
	}
}

static void server_takes_no_early_data(void **state)
{
	struct bench *bench = *state;
	struct rig rig = {0};
	SSL_SESSION *session;

	shake(bench, &rig, "a.test", NULL);
	session = io_tls_session(rig.client.io);
	assert_true(SSL_SESSION_is_resumable(session));
	assert_int_equal(SSL_SESSION_get_max_early_data(session), 0);
	SSL_SESSION_free(session);
	rig_stop(&rig);
}

/* Two bare SSLs, since io_tls does not renegotiate itself. */
static void make_pair(struct bench *bench, SSL_CTX *server_ctx, SSL *pair[2])
{
	const struct tls_leaf *leaf =
		tls_leaves_find(&bench->leaves, bytes_str("a.test"), false, 0);
	BIO *ends[2];

	pair[0] = SSL_new(bench->client);
	pair[1] = SSL_new(server_ctx);
	assert_int_equal(BIO_new_bio_pair(&ends[0], 0, &ends[1], 0), 1);
	for (size_t i = 0; i < 2; i++)
		SSL_set_bio(pair[i], ends[i], ends[i]);
	assert_int_equal(SSL_set_max_proto_version(pair[0], TLS1_2_VERSION), 1);
	assert_int_equal(SSL_use_cert_and_key(pair[1], leaf->chain[0],
					      bench->server.key, NULL, 1),
			 1);
	SSL_set_connect_state(pair[0]);
	SSL_set_accept_state(pair[1]);
}

/* Let both sides read until nothing moves. */
static void pump(SSL *pair[2])
{
	char byte;

	for (int i = 0; i < 20; i++)
		(void)SSL_read(pair[i % 2], &byte, 1);
}

static bool renegotiates(struct bench *bench, SSL_CTX *server_ctx)
{
	SSL *pair[2];
	bool is_done;

	make_pair(bench, server_ctx, pair);
	pump(pair);
	assert_int_equal(SSL_is_init_finished(pair[0]), 1);
	assert_int_equal(SSL_renegotiate(pair[0]), 1);
	(void)SSL_do_handshake(pair[0]);
	pump(pair);
	is_done = SSL_total_renegotiations(pair[0]) > 0 &&
		  SSL_is_init_finished(pair[0]) &&
		  SSL_get_shutdown(pair[0]) == 0;
	SSL_free(pair[0]);
	SSL_free(pair[1]);
	return is_done;
}

static void server_does_not_renegotiate(void **state)
{
	struct bench *bench = *state;
	SSL_CTX *plain = SSL_CTX_new(TLS_server_method());

	SSL_CTX_set_options(plain, SSL_OP_ALLOW_CLIENT_RENEGOTIATION);
	assert_true(renegotiates(bench, plain));
	assert_false(renegotiates(bench, bench->server.ctx));
	SSL_CTX_free(plain);
}

static void server_gives_its_public_key_for_the_minter(void **state)
{
	struct bench *bench = *state;
	struct bytes spki = tls_server_public_key(&bench->server);
	const uint8_t *at = spki.data;
	EVP_PKEY *key = d2i_PUBKEY(NULL, &at, (long)spki.len);

	assert_int_equal(EVP_PKEY_eq(key, bench->server.key), 1);
	EVP_PKEY_free(key);
}

#define SERVER_TEST(test)                                                      \
	cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SERVER_TEST(server_is_trusted_for_the_name_it_has_a_leaf_for),
		SERVER_TEST(server_resumes_a_session_only_for_its_own_name),
		SERVER_TEST(server_does_not_resume_what_another_edge_began),
		SERVER_TEST(server_prefers_http_2_and_takes_no_other_protocol),
		SERVER_TEST(server_refuses_old_versions_and_weak_suites),
		SERVER_TEST(server_takes_no_early_data),
		SERVER_TEST(server_does_not_renegotiate),
		SERVER_TEST(server_gives_its_public_key_for_the_minter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
