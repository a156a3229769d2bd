#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/tls/roots.h"
#include "tests/unit/gateway/tls/forge.h"

#define BUNDLE_MAX (1 << 20)

static int verify(X509_STORE *store, X509 *leaf)
{
	X509_STORE_CTX *context = X509_STORE_CTX_new();
	int result;

	assert_int_equal(X509_STORE_CTX_init(context, store, leaf, NULL), 1);
	(void)X509_verify_cert(context);
	result = X509_STORE_CTX_get_error(context);
	X509_STORE_CTX_free(context);
	return result;
}

static size_t loaded(X509_STORE *store)
{
	return (size_t)sk_X509_OBJECT_num(X509_STORE_get0_objects(store));
}

static X509_STORE *store_of(struct bytes pem)
{
	X509_STORE *store = X509_STORE_new();

	assert_int_equal(tls_roots_add(store, pem, NULL), 0);
	return store;
}

static void roots_are_decoded_when_a_chain_asks_for_them(void **state)
{
	struct recipe leaf_recipe = recipe_good();
	struct forged roots[3];
	struct forged leaf, stranger;
	struct buf pem;
	X509_STORE *store;

	(void)state;
	buf_init(&pem, BUNDLE_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		char name[] = "Root A";
		struct recipe recipe = recipe_root(name);

		name[5] = (char)('A' + (int)i);
		roots[i] = forge(&recipe, NULL);
		/* As distributions do: words between the blocks. */
		assert_int_equal(buf_add_format(&pem, "# %s\n", name), 0);
		if (i < 2)
			forge_pem(roots[i].cert, &pem);
	}
	leaf = forge(&leaf_recipe, &roots[1]);
	stranger = forge(&leaf_recipe, &roots[2]);
	store = store_of(buf_view(&pem));
	assert_int_equal(loaded(store), 0);
	assert_int_equal(verify(store, stranger.cert),
			 X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY);
	assert_int_equal(loaded(store), 0);
	assert_int_equal(verify(store, leaf.cert), X509_V_OK);
	assert_int_equal(loaded(store), 1);
	assert_int_equal(verify(store, leaf.cert), X509_V_OK);
	assert_int_equal(loaded(store), 1);
	X509_STORE_free(store);
	buf_release(&pem);
	forged_release(&leaf);
	forged_release(&stranger);
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++)
		forged_release(&roots[i]);
}

static void roots_of_one_name_are_all_tried(void **state)
{
	struct recipe recipe = recipe_root("Twins");
	struct recipe leaf_recipe = recipe_good();
	struct forged twins[2], leaves[2];
	struct buf pem;
	X509_STORE *store;

	(void)state;
	buf_init(&pem, BUNDLE_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(twins); i++) {
		twins[i] = forge(&recipe, NULL);
		leaves[i] = forge(&leaf_recipe, &twins[i]);
		forge_pem(twins[i].cert, &pem);
	}
	store = store_of(buf_view(&pem));
	for (size_t i = 0; i < ARRAY_SIZE(twins); i++)
		assert_int_equal(verify(store, leaves[i].cert), X509_V_OK);
	assert_int_equal(loaded(store), 2);
	X509_STORE_free(store);
	buf_release(&pem);
	for (size_t i = 0; i < ARRAY_SIZE(twins); i++) {
		forged_release(&twins[i]);
		forged_release(&leaves[i]);
	}
}

static void root_with_another_key_of_the_same_name_is_no_help(void **state)
{
	struct recipe recipe = recipe_root("Root");
	struct recipe leaf_recipe = recipe_good();
	struct forged true_root = forge(&recipe, NULL);
	struct forged false_root = forge(&recipe, NULL);
	struct forged leaf = forge(&leaf_recipe, &true_root);
	struct buf pem;
	X509_STORE *store;

	(void)state;
	buf_init(&pem, BUNDLE_MAX);
	forge_pem(false_root.cert, &pem);
	store = store_of(buf_view(&pem));
	assert_int_not_equal(verify(store, leaf.cert), X509_V_OK);
	X509_STORE_free(store);
	forge_pem(true_root.cert, &pem);
	store = store_of(buf_view(&pem));
	assert_int_equal(verify(store, leaf.cert), X509_V_OK);
	X509_STORE_free(store);
	buf_release(&pem);
	forged_release(&true_root);
	forged_release(&false_root);
	forged_release(&leaf);
}

static void damaged_blocks_do_not_hide_the_others(void **state)
{
	static const char damaged[] =
		"-----BEGIN CERTIFICATE-----\nMAA=\n"
		"-----END CERTIFICATE-----\n"
		"-----BEGIN X509 CRL-----\nMAA=\n-----END X509 CRL-----\n";
	struct recipe recipe = recipe_root("Root");
	struct recipe leaf_recipe = recipe_good();
	struct forged root = forge(&recipe, NULL);
	struct forged leaf = forge(&leaf_recipe, &root);
	struct buf pem;
	X509_STORE *store;

	(void)state;
	buf_init(&pem, BUNDLE_MAX);
	assert_int_equal(buf_add_str(&pem, damaged), 0);
	store = store_of(buf_view(&pem));
	assert_int_not_equal(verify(store, leaf.cert), X509_V_OK);
	X509_STORE_free(store);
	forge_pem(root.cert, &pem);
	store = store_of(buf_view(&pem));
	assert_int_equal(verify(store, leaf.cert), X509_V_OK);
	X509_STORE_free(store);
	buf_release(&pem);
	forged_release(&root);
	forged_release(&leaf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roots_are_decoded_when_a_chain_asks_for_them),
		cmocka_unit_test(roots_of_one_name_are_all_tried),
		cmocka_unit_test(
			root_with_another_key_of_the_same_name_is_no_help),
		cmocka_unit_test(damaged_blocks_do_not_hide_the_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
