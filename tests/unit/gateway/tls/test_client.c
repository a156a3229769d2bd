#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/tls/client.h"
#include "gateway/tls/verify.h"
#include "tests/unit/gateway/tls/forge.h"
#include "tests/unit/gateway/tls/rig.h"

#define BUNDLE_MAX (1 << 20)

/* A root that the operator trusts, one that nobody knows, and a context of
 * a server that would accept anything about itself. */
struct bench {
	struct forged trusted, unknown;
	struct buf pem;
	struct tls_client client;
	SSL_CTX *server;
};

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	struct recipe trusted = recipe_root("Trusted");
	struct recipe unknown = recipe_root("Unknown");
	struct err err = {0};

	assert_non_null(bench);
	bench->trusted = forge(&trusted, NULL);
	bench->unknown = forge(&unknown, NULL);
	buf_init(&bench->pem, BUNDLE_MAX);
	forge_pem(bench->trusted.cert, &bench->pem);
	if (tls_client_begin(&bench->client, buf_view(&bench->pem), false,
			     &err) < 0 ||
	    !tls_client_context(&bench->client, &err))
		fail_msg("%s", err.text);
	bench->server = SSL_CTX_new(TLS_server_method());
	SSL_CTX_set_security_level(bench->server, 0);
	*state = bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	SSL_CTX_free(bench->server);
	tls_client_release(&bench->client);
	buf_release(&bench->pem);
	forged_release(&bench->trusted);
	forged_release(&bench->unknown);
	free(bench);
	return 0;
}

/* One handshake with a server that has leaf and then chain. */
static void shake(struct bench *bench, struct rig *rig, const char *name,
		  const struct forged *leaf, X509 *issuer)
{
	const struct io_tls_client client = {
		.ctx = bench->client.ctx,
		.name = name,
		.session =
			tls_client_session(&bench->client, bytes_str(name), 0),
		.check = tls_verify_leaf,
	};

	rig->server.chain[0] = leaf->cert;
	rig->server.chain[1] = issuer;
	rig->server.chain_len = issuer ? 2 : 1;
	rig->server.key = leaf->key;
	rig_start(rig, bench->server, &client);
	rig_run(rig);
}

struct row {
	const char *what;
	const char *host;
	const char *words; /* NULL: must succeed */
	struct recipe recipe;
	enum { BY_TRUSTED, BY_UNKNOWN, BY_ITSELF, BY_TRUSTED_LEAF } by;
};

static void check_row(struct bench *bench, const struct row *row)
{
	struct recipe good = recipe_good();
	struct forged other = forge(&good, &bench->trusted);
	const struct forged *const issuers[] = {
		[BY_TRUSTED] = &bench->trusted,
		[BY_UNKNOWN] = &bench->unknown,
		[BY_ITSELF] = NULL,
		[BY_TRUSTED_LEAF] = &other,
	};
	const struct forged *issuer = issuers[row->by];
	struct forged leaf = forge(&row->recipe, issuer);
	struct rig rig = {0};

	print_message("%s\n", row->what);
	shake(bench, &rig, row->host, &leaf, issuer ? issuer->cert : NULL);
	if (!row->words && !rig.client.is_ready)
		fail_msg("%s: %s", row->what, rig.client.why);
	if (row->words && rig.client.is_ready)
		fail_msg("%s: was accepted", row->what);
	if (row->words && !strstr(rig.client.why, row->words))
		fail_msg("%s: %s", row->what, rig.client.why);
	rig_stop(&rig);
	forged_release(&leaf);
	forged_release(&other);
}

static void client_names_what_is_wrong_with_a_certificate(void **state)
{
	struct recipe good = recipe_good();
	struct row rows[] = {
		{"good", FORGE_HOST, NULL, good, BY_TRUSTED},
		{"expired", FORGE_HOST, "expired", good, BY_TRUSTED},
		{"not yet", FORGE_HOST, "not yet valid", good, BY_TRUSTED},
		{"wrong host", "other.test", "mismatch", good, BY_TRUSTED},
		{"self-signed", FORGE_HOST, "self-signed", good, BY_ITSELF},
		{"unknown root", FORGE_HOST, "self-signed certificate in", good,
		 BY_UNKNOWN},
		{"signed by a leaf", FORGE_HOST, "", good, BY_TRUSTED_LEAF},
		{"no SAN", FORGE_HOST, "mismatch", good, BY_TRUSTED},
		{"CN beside another kind of SAN", FORGE_HOST, "mismatch", good,
		 BY_TRUSTED},
		{"CA as leaf", FORGE_HOST, "CA's certificate", good,
		 BY_TRUSTED},
		{"no EKU", FORGE_HOST, "serverAuth", good, BY_TRUSTED},
		{"EKU of clients", FORGE_HOST, "purpose", good, BY_TRUSTED},
		{"RSA 1024", FORGE_HOST, "too", good, BY_TRUSTED},
		{"RSA 2048", FORGE_HOST, NULL, good, BY_TRUSTED},
		{"SHA-1", FORGE_HOST, "too weak", good, BY_TRUSTED},
		{"version 1", FORGE_HOST, "version 3", good, BY_TRUSTED},
		{"serial zero", FORGE_HOST, "not positive", good, BY_TRUSTED},
		{"wildcard", "a.good.test", NULL, good, BY_TRUSTED},
		{"wildcard two down", "a.b.good.test", "mismatch", good,
		 BY_TRUSTED},
		{"partial wildcard", "ab.good.test", "mismatch", good,
		 BY_TRUSTED},
		{"address", "192.0.2.1", NULL, good, BY_TRUSTED},
		{"another address", "192.0.2.2", "mismatch", good, BY_TRUSTED},
		{"address as a DNS name", "192.0.2.1", "mismatch", good,
		 BY_TRUSTED},
	};

	rows[1].recipe.from_days = -3;
	rows[1].recipe.to_days = -1;
	rows[2].recipe.from_days = 1;
	rows[7].recipe.san = NULL;
	rows[8].recipe.san = "email:x@good.test";
	rows[9].recipe.basic = "critical,CA:TRUE";
	rows[10].recipe.ext_usage = NULL;
	rows[11].recipe.ext_usage = "clientAuth";
	rows[12].recipe.key = "RSA:1024";
	rows[13].recipe.key = "RSA:2048";
	rows[14].recipe.digest = EVP_sha1();
	rows[15].recipe.version = X509_VERSION_1;
	rows[16].recipe.serial = "0";
	rows[17].recipe.san = "DNS:*.good.test";
	rows[18].recipe.san = "DNS:*.good.test";
	rows[19].recipe.san = "DNS:a*.good.test";
	rows[20].recipe.san = "IP:192.0.2.1";
	rows[21].recipe.san = "IP:192.0.2.1";
	rows[22].recipe.san = "DNS:192.0.2.1";
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_row(*state, &rows[i]);
}

static void client_speaks_only_the_versions_it_was_told(void **state)
{
	static const struct {
		bool tls13_only;
		int server_max;
		const char *version; /* NULL: refused */
	} rows[] = {
		{false, TLS1_3_VERSION, "TLSv1.3"},
		{false, TLS1_2_VERSION, "TLSv1.2"},
		{false, TLS1_1_VERSION, NULL},
		{true, TLS1_3_VERSION, "TLSv1.3"},
		{true, TLS1_2_VERSION, NULL},
	};
	struct bench *bench = *state;
	struct recipe recipe = recipe_good();
	struct forged leaf = forge(&recipe, &bench->trusted);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bench own = *bench;
		struct rig rig = {0};

		assert_int_equal(tls_client_begin(&own.client,
						  buf_view(&bench->pem),
						  rows[i].tls13_only, NULL),
				 0);
		assert_non_null(tls_client_context(&own.client, NULL));
		assert_int_equal(
			SSL_CTX_set_min_proto_version(own.server, TLS1_VERSION),
			1);
		assert_int_equal(SSL_CTX_set_max_proto_version(
					 own.server, rows[i].server_max),
				 1);
		shake(&own, &rig, FORGE_HOST, &leaf, NULL);
		assert_int_equal(rig.client.is_ready, rows[i].version != NULL);
		if (rows[i].version)
			assert_string_equal(io_tls_version(rig.client.io),
					    rows[i].version);
		rig_stop(&rig);
		tls_client_release(&own.client);
	}
	forged_release(&leaf);
}

static void client_makes_its_context_when_it_is_asked_for_one(void **state)
{
	struct bench *bench = *state;
	struct bench own = *bench;
	struct recipe recipe = recipe_good();
	struct forged leaf = forge(&recipe, &bench->trusted);
	const struct bytes pem = buf_view(&bench->pem);
	struct rig rig = {0};
	SSL_CTX *ctx;

	assert_int_equal(tls_client_begin(&own.client, pem, false, NULL), 0);
	assert_int_equal(tls_client_change(&own.client, pem, true, NULL), 0);
	assert_null(own.client.ctx);
	ctx = tls_client_context(&own.client, NULL);
	assert_non_null(ctx);
	assert_ptr_equal(tls_client_context(&own.client, NULL), ctx);
	assert_int_equal(SSL_CTX_get_min_proto_version(ctx), TLS1_3_VERSION);
	shake(&own, &rig, FORGE_HOST, &leaf, NULL);
	assert_true(rig.client.is_ready);
	rig_stop(&rig);
	assert_int_equal(tls_client_change(&own.client, pem, false, NULL), 0);
	assert_non_null(own.client.ctx);
	assert_int_equal(SSL_CTX_get_min_proto_version(own.client.ctx),
			 TLS1_2_VERSION);
	tls_client_release(&own.client);
	forged_release(&leaf);
}

static unsigned hello_count;

static void count_hellos(const SSL *ssl, int where, int value)
{
	(void)value;
	hello_count += (where & SSL_CB_LOOP) != 0 &&
		       SSL_get_state(ssl) == TLS_ST_SR_CLNT_HELLO;
}

static bool openssl_knows(const char *name)
{
	EVP_KEYMGMT *known = EVP_KEYMGMT_fetch(NULL, name, NULL);

	EVP_KEYMGMT_free(known);
	return known != NULL;
}

static void client_sends_the_keys_that_servers_want(void **state)
{
	static const char *const names[] = {"X25519MLKEM768", "X25519"};
	struct bench *bench = *state;
	struct recipe recipe = recipe_good();
	struct forged leaf = forge(&recipe, &bench->trusted);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct bench own = *bench;
		struct rig rig = {0};
		char name[32];

		/* Before 3.5 there is no such server either. */
		if (!openssl_knows(names[i]))
			continue;
		(void)snprintf(name, sizeof(name), "%s", names[i]);
		own.server = SSL_CTX_new(TLS_server_method());
		assert_true(SSL_CTX_set1_groups_list(own.server, name));
		SSL_CTX_set_info_callback(own.server, count_hellos);
		hello_count = 0;
		shake(&own, &rig, FORGE_HOST, &leaf, NULL);
		if (!rig.client.is_ready)
			fail_msg("%s: %s", names[i], rig.client.why);
		assert_int_equal(hello_count, 1);
		rig_stop(&rig);
		SSL_CTX_free(own.server);
	}
	forged_release(&leaf);
}

/* Handshake, and keep the session. Whether it was a resumed one. */
static bool shake_and_keep(struct bench *bench, const struct forged *leaf)
{
	long hits = SSL_CTX_sess_hits(bench->client.ctx);
	struct rig rig = {0};

	shake(bench, &rig, FORGE_HOST, leaf, NULL);
	if (!rig.client.is_ready)
		fail_msg("%s", rig.client.why);
	tls_client_keep(&bench->client, bytes_str(FORGE_HOST),
			io_tls_session(rig.client.io), 0);
	rig_stop(&rig);
	return SSL_CTX_sess_hits(bench->client.ctx) > hits;
}

static void client_keeps_sessions_by_key_for_an_hour(void **state)
{
	struct bench *bench = *state;
	struct recipe recipe = recipe_good();
	struct forged leaf = forge(&recipe, &bench->trusted);
	const struct bytes key = bytes_str(FORGE_HOST);
	const struct bytes other = bytes_str("other.test");

	assert_null(tls_client_session(&bench->client, key, 0));
	assert_false(shake_and_keep(bench, &leaf));
	assert_non_null(
		tls_client_session(&bench->client, key, TLS_CLIENT_RESUME_MS));
	assert_null(tls_client_session(&bench->client, key,
				       TLS_CLIENT_RESUME_MS + 1));
	assert_null(tls_client_session(&bench->client, other, 0));
	assert_true(shake_and_keep(bench, &leaf));
	forged_release(&leaf);
}

/* Others came since: the session is not held as it was, and resumes as well. */
static void client_resumes_what_it_has_put_aside(void **state)
{
	struct bench *bench = *state;
	struct recipe recipe = recipe_good();
	struct forged leaf = forge(&recipe, &bench->trusted);
	SSL_SESSION *session;

	assert_false(shake_and_keep(bench, &leaf));
	session = tls_client_session(&bench->client, bytes_str(FORGE_HOST), 0);
	for (unsigned i = 0; i < TLS_CLIENT_OPEN_MAX; i++) {
		char key[32];

		(void)snprintf(key, sizeof(key), "host%u:443", i);
		assert_int_equal(SSL_SESSION_up_ref(session), 1);
		tls_client_keep(&bench->client, bytes_str(key), session, 1 + i);
		assert_int_equal(bench->client.open_count,
				 i + 2 < TLS_CLIENT_OPEN_MAX
					 ? i + 2
					 : TLS_CLIENT_OPEN_MAX);
	}
	assert_true(shake_and_keep(bench, &leaf));
	assert_ptr_not_equal(
		tls_client_session(&bench->client, bytes_str(FORGE_HOST), 0),
		session);
	assert_int_equal(bench->client.open_count, TLS_CLIENT_OPEN_MAX);
	forged_release(&leaf);
}

static void client_keeps_a_bounded_number_of_sessions(void **state)
{
	struct bench *bench = *state;
	struct recipe recipe = recipe_good();
	struct forged leaf = forge(&recipe, &bench->trusted);
	const struct bytes first = bytes_str(FORGE_HOST);
	SSL_SESSION *session;

	(void)shake_and_keep(bench, &leaf);
	session = tls_client_session(&bench->client, first, 0);
	for (unsigned i = 0; i < TLS_CLIENT_SESSIONS_MAX; i++) {
		char key[32];

		assert_non_null(tls_client_session(&bench->client, first, 0));
		(void)snprintf(key, sizeof(key), "host%u:443", i);
		assert_int_equal(SSL_SESSION_up_ref(session), 1);
		tls_client_keep(&bench->client, bytes_str(key), session, 1 + i);
	}
	assert_null(tls_client_session(&bench->client, first, 100));
	assert_non_null(tls_client_session(&bench->client,
					   bytes_str("host0:443"), 100));
	forged_release(&leaf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			client_names_what_is_wrong_with_a_certificate, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			client_speaks_only_the_versions_it_was_told, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			client_makes_its_context_when_it_is_asked_for_one,
			set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			client_sends_the_keys_that_servers_want, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			client_keeps_sessions_by_key_for_an_hour, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			client_resumes_what_it_has_put_aside, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			client_keeps_a_bounded_number_of_sessions, set_up,
			tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
