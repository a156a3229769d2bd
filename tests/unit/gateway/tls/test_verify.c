#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/tls/verify.h"
#include "tests/unit/gateway/tls/forge.h"

static struct forged root;

static int set_up(void **state)
{
	struct recipe recipe = recipe_root("Root");

	(void)state;
	recipe.key = "RSA:2048";
	root = forge(&recipe, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	forged_release(&root);
	return 0;
}

static int verify(const struct recipe *recipe, struct err *err)
{
	struct forged leaf = forge(recipe, &root);
	int result = tls_verify_leaf(leaf.cert, NULL, err);

	forged_release(&leaf);
	return result;
}

static void verify_leaf_accepts_what_servers_have(void **state)
{
	struct recipe rows[] = {
		recipe_good(), recipe_good(), recipe_good(), recipe_good(),
		recipe_good(), recipe_good(), recipe_good(), recipe_good(),
	};

	(void)state;
	rows[1].key = "RSA:2048";
	rows[2].key = "P-384";
	rows[3].key = "ED25519";
	rows[4].usage = NULL;
	rows[5].basic = NULL;
	rows[6].ext_usage = "clientAuth,serverAuth";
	rows[7].serial = /* 2^159 - 1: 20 octets */
		"730750818665451459101842416358141509827966271487";
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = {0};

		if (verify(&rows[i], &err))
			fail_msg("row %zu: %s", i, err.text);
	}
}

static void verify_leaf_names_the_check_that_failed(void **state)
{
	struct {
		struct recipe recipe;
		const char *words;
	} rows[] = {
		{recipe_good(), "not version 3"},
		{recipe_good(), "not positive"},
		{recipe_good(), "not positive"},
		{recipe_good(), "longer than 20 octets"},
		{recipe_good(), "key is too weak"},
		{recipe_good(), "key is too weak"},
		{recipe_good(), "signature is too weak"},
		{recipe_good(), "signature is too weak"},
		{recipe_good(), "no subjectAltName"},
		{recipe_good(), "CA's certificate"},
		{recipe_good(), "CA's certificate"},
		{recipe_good(), "serverAuth"},
		{recipe_good(), "serverAuth"},
		{recipe_good(), "serverAuth"},
		{recipe_good(), "key usage"},
		{recipe_good(), "not valid yet"},
		{recipe_good(), "expired"},
	};

	(void)state;
	rows[0].recipe.version = X509_VERSION_1;
	rows[1].recipe.serial = "0";
	rows[2].recipe.serial = "-5";
	rows[3].recipe.serial = /* 2^159: 21 octets */
		"730750818665451459101842416358141509827966271488";
	rows[4].recipe.key = "RSA:1024";
	rows[5].recipe.key = "P-224";
	rows[6].recipe.digest = EVP_sha1();
	rows[7].recipe.digest = EVP_md5();
	rows[8].recipe.san = NULL;
	rows[9].recipe.basic = "critical,CA:TRUE";
	rows[10].recipe.basic = NULL;
	rows[10].recipe.usage = "critical,digitalSignature,keyCertSign";
	rows[11].recipe.ext_usage = NULL;
	rows[12].recipe.ext_usage = "clientAuth";
	rows[13].recipe.ext_usage = "anyExtendedKeyUsage";
	rows[14].recipe.usage = "critical,cRLSign";
	rows[15].recipe.from_days = 1;
	rows[16].recipe.to_days = -1;
	rows[16].recipe.from_days = -2;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = {0};

		if (!verify(&rows[i].recipe, &err))
			fail_msg("row %zu was accepted", i);
		if (!strstr(err.text, rows[i].words))
			fail_msg("row %zu: %s", i, err.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verify_leaf_accepts_what_servers_have),
		cmocka_unit_test(verify_leaf_names_the_check_that_failed),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
