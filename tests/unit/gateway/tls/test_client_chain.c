/* What stands between a leaf and its root (security B9), and with what
 * suites upstream may speak (B10). */
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

#define BUNDLE_MAX (64 * 1024)

static SSL_CTX *make_server(void)
{
	SSL_CTX *server = SSL_CTX_new(TLS_server_method());

	assert_non_null(server);
	SSL_CTX_set_security_level(server, 0);
	return server;
}

/* pem must live as long as client: it reads there when a chain asks. */
static void trust(struct tls_client *client, const struct forged *root,
		  struct buf *pem)
{
	struct err err = {0};

	buf_init(pem, BUNDLE_MAX);
	forge_pem(root->cert, pem);
	if (tls_client_begin(client, buf_view(pem), false, &err) < 0 ||
	    !tls_client_context(client, &err))
		fail_msg("%s", err.text);
}

/* A handshake with a server that shows leaf and between (NULL: none). */
static void shake(struct rig *rig, struct tls_client *client, SSL_CTX *server,
		  const struct forged *leaf, X509 *between)
{
	const struct io_tls_client ours = {
		.ctx = client->ctx,
		.name = FORGE_HOST,
		.check = tls_verify_leaf,
	};

	rig->server.chain[0] = leaf->cert;
	rig->server.chain[1] = between;
	rig->server.chain_len = between ? 2 : 1;
	rig->server.key = leaf->key;
	rig_start(rig, server, &ours);
	rig_run(rig);
}

struct row {
	const char *what;
	const char *words; /* NULL: must succeed */
	struct recipe root, between, leaf;
};

static void check_row(const struct row *row)
{
	SSL_CTX *server = make_server();
	struct forged root = forge(&row->root, NULL);
	struct forged between = forge(&row->between, &root);
	struct forged leaf = forge(&row->leaf, &between);
	auto_type(buf_release) struct buf pem;
	struct tls_client client;
	struct rig rig = {0};

	print_message("%s\n", row->what);
	trust(&client, &root, &pem);
	shake(&rig, &client, server, &leaf, between.cert);
	if (!row->words && !rig.client.is_ready)
		fail_msg("%s: %s", row->what, rig.client.why);
	if (row->words && rig.client.is_ready)
		fail_msg("%s: was accepted", row->what);
	if (row->words && !strstr(rig.client.why, row->words))
		fail_msg("%s: %s", row->what, rig.client.why);
	rig_stop(&rig);
	tls_client_release(&client);
	forged_release(&leaf);
	forged_release(&between);
	forged_release(&root);
	SSL_CTX_free(server);
}

static void client_holds_a_chain_to_its_constraints(void **state)
{
	const struct recipe root = recipe_root("Root");
	const struct recipe between = recipe_root("Between");
	const struct recipe leaf = recipe_good();
	struct row rows[] = {
		{"a chain of three", NULL, root, between, leaf},
		{"pathlen 0 above a CA", "path length", root, between, leaf},
		{"pathlen 0 above a leaf", NULL, root, between, leaf},
		{"other names permitted", "permitted subtree", root, between,
		 leaf},
		{"this name permitted", NULL, root, between, leaf},
		{"this name excluded", "excluded subtree", root, between, leaf},
		{"another name excluded", NULL, root, between, leaf},
		{"a policy required", "policy", root, between, leaf},
		{"a policy required further down", NULL, root, between, leaf},
		{"no CA between", "invalid CA", root, between, leaf},
		{"a CA that may not sign", "", root, between, leaf},
		{"a critical extension of nobody's", "unhandled critical", root,
		 between, leaf},
		{"one that is not critical", NULL, root, between, leaf},
		{"weak between", "too weak", root, between, leaf},
		{"expired between", "expired", root, between, leaf},
	};

	(void)state;
	rows[1].root.basic = "critical,CA:TRUE,pathlen:0";
	rows[2].between.basic = "critical,CA:TRUE,pathlen:0";
	rows[3].between.names = "critical,permitted;DNS:other.test";
	rows[4].between.names = "critical,permitted;DNS:" FORGE_HOST;
	rows[5].between.names = "critical,excluded;DNS:" FORGE_HOST;
	rows[6].between.names = "critical,excluded;DNS:other.test";
	rows[7].between.policies = "critical,requireExplicitPolicy:0";
	rows[8].between.policies = "critical,requireExplicitPolicy:3";
	rows[9].between.basic = "critical,CA:FALSE";
	rows[10].between.usage = "critical,digitalSignature";
	rows[11].between.comment = "critical,what is this";
	rows[12].between.comment = "what is this";
	rows[13].between.digest = EVP_sha1();
	rows[14].between.from_days = -3;
	rows[14].between.to_days = -1;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_row(&rows[i]);
}

static void client_speaks_no_weak_suite(void **state)
{
	static const struct {
		const char *suites; /* of TLS 1.2, of an RSA leaf */
		bool is_accepted;
	} rows[] = {
		{"ECDHE-RSA-AES128-GCM-SHA256", true},
		{"ECDHE-RSA-CHACHA20-POLY1305", true},
		{"AES128-GCM-SHA256", false}, /* RSA's key exchange */
		{"AES128-SHA", false},
		{"ECDHE-RSA-AES128-SHA", false},
		{"ECDHE-RSA-AES256-SHA384", false}, /* CBC */
		{"ECDHE-RSA-NULL-SHA", false},
		{"AECDH-AES128-SHA", false}, /* nobody's key */
		{"DHE-RSA-AES128-GCM-SHA256", false},
	};
	const struct recipe made = recipe_root("Root");
	struct forged root = forge(&made, NULL);
	struct recipe recipe = recipe_good();
	struct forged leaf;
	auto_type(buf_release) struct buf pem;
	struct tls_client client;

	(void)state;
	recipe.key = "RSA:2048";
	leaf = forge(&recipe, &root);
	trust(&client, &root, &pem);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		SSL_CTX *server = make_server();
		struct rig rig = {0};

		assert_int_equal(
			SSL_CTX_set_max_proto_version(server, TLS1_2_VERSION),
			1);
		(void)SSL_CTX_set_dh_auto(server, 1);
		assert_int_equal(
			SSL_CTX_set_cipher_list(server, rows[i].suites), 1);
		shake(&rig, &client, server, &leaf, NULL);
		if (rig.client.is_ready != rows[i].is_accepted)
			fail_msg("%s: %s", rows[i].suites, rig.client.why);
		rig_stop(&rig);
		SSL_CTX_free(server);
	}
	tls_client_release(&client);
	forged_release(&leaf);
	forged_release(&root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(client_holds_a_chain_to_its_constraints),
		cmocka_unit_test(client_speaks_no_weak_suite),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
