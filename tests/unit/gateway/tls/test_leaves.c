#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/tls/leaves.h"
#include "tests/unit/gateway/tls/forge.h"

#define DAY_MS (24ull * 3600 * 1000)

static struct forged any;
static uint8_t *any_der;
static struct tls_leaf_der good;
static struct tls_leaves leaves;

static int set_up(void **state)
{
	struct recipe recipe = recipe_good();

	(void)state;
	any = forge(&recipe, NULL);
	good.leaf.len = (size_t)i2d_X509(any.cert, &any_der);
	good.leaf.data = any_der;
	good.ca = good.leaf;
	good.expires_ms = DAY_MS;
	tls_leaves_init(&leaves);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	tls_leaves_release(&leaves);
	OPENSSL_free(any_der);
	any_der = NULL;
	forged_release(&any);
	return 0;
}

static bool has(const char *name, bool is_refusal, uint64_t now_ms)
{
	return tls_leaves_find(&leaves, bytes_str(name), is_refusal, now_ms) !=
	       NULL;
}

static void add(const char *name, bool is_refusal)
{
	assert_non_null(tls_leaves_add(&leaves, bytes_str(name), is_refusal,
				       &good, NULL));
}

static void leaf_is_found_by_its_name_until_shortly_before_its_end(void **state)
{
	(void)state;
	add("a.test", false);
	assert_true(has("a.test", false, DAY_MS - TLS_LEAF_REST_MS));
	assert_false(has("a.test", false, DAY_MS - TLS_LEAF_REST_MS + 1));
	assert_false(has("A.test", false, 0));
	assert_false(has("b.test", false, 0));
	assert_false(has("", false, 0));
}

static void leaf_of_a_refusal_never_serves(void **state)
{
	(void)state;
	add("a.test", true);
	assert_true(has("a.test", true, 0));
	assert_false(has("a.test", false, 0));
	add("b.test", false);
	assert_true(has("b.test", true, 0));
	assert_true(has("b.test", false, 0));
}

static void least_used_leaf_goes_when_there_are_too_many(void **state)
{
	char name[32];

	(void)state;
	for (unsigned i = 0; i < TLS_LEAVES_MAX; i++) {
		(void)snprintf(name, sizeof(name), "n%u.test", i);
		add(name, false);
	}
	assert_true(has("n0.test", false, 0));
	add("new.test", false);
	assert_int_equal(leaves.count, TLS_LEAVES_MAX);
	assert_true(has("new.test", false, 0));
	assert_true(has("n0.test", false, 0));
	assert_false(has("n1.test", false, 0));
	assert_true(has("n2.test", false, 0));
}

static void newer_leaf_takes_the_place_of_its_elder(void **state)
{
	(void)state;
	add("a.test", false);
	good.expires_ms = 2 * DAY_MS;
	add("a.test", false);
	assert_int_equal(leaves.count, 1);
	assert_true(has("a.test", false, DAY_MS));
}

static void leaf_that_is_no_certificate_is_a_failure(void **state)
{
	static const uint8_t tail[2048];
	struct tls_leaf_der rows[] = {good, good, good, good};

	(void)state;
	rows[0].leaf = bytes_from(NULL, 0);
	rows[1].leaf = bytes_slice(good.leaf, 0, good.leaf.len - 1);
	rows[2].ca = bytes_from(tail, sizeof(tail));
	rows[3].ca = bytes_slice(good.ca, 1, good.ca.len);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_null(tls_leaves_add(&leaves, bytes_str("a.test"), false,
					   &rows[i], NULL));
		assert_false(has("a.test", false, 0));
	}
	add("a.test", false);
	assert_true(has("a.test", false, 0));
}

/* The DER of a certificate that is by another one, and no root. */
static size_t middle_der(uint8_t **der)
{
	struct recipe recipe = recipe_root("root"), between = recipe_good();
	struct forged root = forge(&recipe, NULL);
	struct forged middle;
	size_t len;

	between.cn = "between";
	between.basic = "critical,CA:TRUE";
	between.usage = "critical,keyCertSign";
	middle = forge(&between, &root);
	len = (size_t)i2d_X509(middle.cert, der);
	forged_release(&middle);
	forged_release(&root);
	return len;
}

static void root_is_left_out_and_what_is_between_is_not(void **state)
{
	uint8_t *der = NULL;
	size_t len = middle_der(&der);
	const struct tls_leaf *leaf;

	(void)state;
	add("a.test", false);
	leaf = tls_leaves_find(&leaves, bytes_str("a.test"), false, 0);
	assert_int_equal(leaf->count, 1);
	assert_non_null(leaf->chain[0]);
	good.ca = bytes_from(der, len);
	add("b.test", false);
	leaf = tls_leaves_find(&leaves, bytes_str("b.test"), false, 0);
	assert_int_equal(leaf->count, 2);
	assert_non_null(leaf->chain[1]);
	OPENSSL_free(der);
}

static void leaf_that_rests_is_open_again_when_it_is_found(void **state)
{
	const struct tls_leaf *leaf;
	size_t open = 0;
	char name[32];

	(void)state;
	for (unsigned i = 0; i <= TLS_LEAVES_OPEN_MAX; i++) {
		(void)snprintf(name, sizeof(name), "n%u.test", i);
		add(name, false);
	}
	assert_int_equal(leaves.open_count, TLS_LEAVES_OPEN_MAX);
	assert_int_equal(leaves.items[0].count, 0);
	leaf = tls_leaves_find(&leaves, bytes_str("n0.test"), false, 0);
	assert_int_equal(leaf->count, 1);
	assert_int_equal(X509_cmp(leaf->chain[0], any.cert), 0);
	assert_int_equal(leaves.open_count, TLS_LEAVES_OPEN_MAX);
	assert_int_equal(leaves.items[1].count, 0);
	assert_int_equal(leaves.items[2].count, 1);
	/* One that is replaced counts no more. */
	add("n0.test", false);
	for (size_t i = 0; i < leaves.count; i++)
		open += leaves.items[i].count > 0;
	assert_int_equal(leaves.open_count, open);
}

#define LEAVES_TEST(test)                                                      \
	cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LEAVES_TEST(
			leaf_is_found_by_its_name_until_shortly_before_its_end),
		LEAVES_TEST(leaf_of_a_refusal_never_serves),
		LEAVES_TEST(least_used_leaf_goes_when_there_are_too_many),
		LEAVES_TEST(newer_leaf_takes_the_place_of_its_elder),
		LEAVES_TEST(leaf_that_is_no_certificate_is_a_failure),
		LEAVES_TEST(root_is_left_out_and_what_is_between_is_not),
		LEAVES_TEST(leaf_that_rests_is_open_again_when_it_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
