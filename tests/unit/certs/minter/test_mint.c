#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <openssl/x509v3.h>

#include "certs/minter/mint.h"
#include "common/cleanup.h"

#define NOW_MS 1795289000000ull /* 2026-11-21 */

/* A session that may reach github.com and names below example.com. */
struct bench {
	char path[64];
	int dir_fd;
	struct minter minter;
	struct scope_host hosts[2];
	struct package package;
	struct session session;
	struct mint_rate rate;
	uint8_t *spki;
	struct bytes public_key;
};

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	EVP_PKEY *key = EVP_EC_gen("P-256");
	struct err err = {0};

	assert_non_null(bench);
	(void)snprintf(bench->path, sizeof(bench->path),
		       "/tmp/sallyport-mint-XXXXXX");
	assert_non_null(mkdtemp(bench->path));
	bench->dir_fd = open(bench->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (minter_open(&bench->minter, bench->dir_fd, NOW_MS, &err))
		fail_msg("%s", err.text);
	bench->hosts[0] = (struct scope_host){BYTES_LITERAL("github.com"), 443};
	bench->hosts[1] =
		(struct scope_host){BYTES_LITERAL("*.example.com"), 8443};
	bench->package.session.scope.hosts = bench->hosts;
	bench->package.session.scope.hosts_count = ARRAY_SIZE(bench->hosts);
	bench->package.session.expires_ms = NOW_MS + 1000 * 1000;
	bench->session.package = &bench->package;
	bench->session.owner = &bench->rate;
	bench->public_key.len = (size_t)i2d_PUBKEY(key, &bench->spki);
	bench->public_key.data = bench->spki;
	EVP_PKEY_free(key);
	*state = bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	minter_release(&bench->minter);
	(void)unlinkat(bench->dir_fd, "ca.key", 0);
	(void)unlinkat(bench->dir_fd, "ca.pem", 0);
	(void)close(bench->dir_fd);
	assert_int_equal(rmdir(bench->path), 0);
	OPENSSL_free(bench->spki);
	free(bench);
	return 0;
}

static enum constraint mint(struct bench *bench, const char *name,
			    enum mint_purpose purpose, uint64_t wall_ms,
			    struct leaf *leaf)
{
	const struct msg_mint wanted = {
		.name = bytes_str(name),
		.public_key = bench->public_key,
		.purpose = (uint8_t)purpose,
	};

	return mint_leaf(&bench->minter, &bench->session, &wanted, wall_ms,
			 leaf, NULL);
}

static void minter_signs_only_names_the_session_may_reach(void **state)
{
	static const struct {
		const char *name;
		enum constraint expected;
	} rows[] = {
		{"github.com", CONSTRAINT_none},
		{"a.example.com", CONSTRAINT_none},
		{"example.com", CONSTRAINT_host_not_allowed},
		{"gitlab.com", CONSTRAINT_host_not_allowed},
		{"evilgithub.com", CONSTRAINT_host_not_allowed},
		{"github.com.evil.org", CONSTRAINT_host_not_allowed},
		{"192.0.2.1", CONSTRAINT_host_not_allowed},
	};
	struct bench *bench = *state;
	struct leaf leaf;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		print_message("%s\n", rows[i].name);
		assert_int_equal(
			mint(bench, rows[i].name, MINT_SERVE, NOW_MS, &leaf),
			rows[i].expected);
		if (rows[i].expected == CONSTRAINT_none)
			assert_int_equal(leaf.expires_ms,
					 NOW_MS + LEAF_VALID_MS);
	}
}

static void minter_signs_any_name_for_an_hour_to_refuse_with(void **state)
{
	struct bench *bench = *state;
	struct leaf leaf;

	assert_int_equal(mint(bench, "gitlab.com", MINT_REFUSE, NOW_MS, &leaf),
			 CONSTRAINT_none);
	assert_int_equal(leaf.expires_ms, NOW_MS + MINT_REFUSAL_VALID_MS);
	assert_int_equal(mint(bench, "GitLab.com", MINT_REFUSE, NOW_MS, &leaf),
			 CONSTRAINT_internal);
}

static void minter_signs_twenty_refusals_a_second(void **state)
{
	struct bench *bench = *state;
	const uint64_t at = NOW_MS + 10000;
	struct leaf leaf;

	for (int i = 0; i < MINT_REFUSALS_PER_SECOND; i++)
		assert_int_equal(
			mint(bench, "gitlab.com", MINT_REFUSE, at, &leaf),
			CONSTRAINT_none);
	assert_int_equal(
		mint(bench, "gitlab.com", MINT_REFUSE, at + 999, &leaf),
		CONSTRAINT_limit_rate);
	assert_int_equal(mint(bench, "github.com", MINT_SERVE, at, &leaf),
			 CONSTRAINT_none);
	assert_int_equal(
		mint(bench, "gitlab.com", MINT_REFUSE, at + 1000, &leaf),
		CONSTRAINT_none);
}

static void minter_signs_nothing_after_the_session_ended(void **state)
{
	struct bench *bench = *state;
	const struct msg_mint wanted = {
		.name = bytes_str("github.com"),
		.public_key = bench->public_key,
		.purpose = MINT_SERVE,
	};
	struct leaf leaf;
	struct err err = {0};

	assert_int_equal(mint(bench, "github.com", MINT_SERVE,
			      NOW_MS + 999 * 1000, &leaf),
			 CONSTRAINT_none);
	assert_int_equal(mint(bench, "github.com", MINT_SERVE,
			      NOW_MS + 1000 * 1000, &leaf),
			 CONSTRAINT_lease_expired);
	assert_int_equal(
		mint_leaf(&bench->minter, NULL, &wanted, NOW_MS, &leaf, &err),
		CONSTRAINT_session_revoked);
	assert_string_equal(err.text, "the session was revoked");
}

static void minter_has_its_bundles_ready(void **state)
{
	struct bench *bench = *state;

	assert_true(buf_len(&bench->minter.pem) > 100);
	assert_true(buf_len(&bench->minter.pkcs12) > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(minter_signs_only_names_the_session_may_reach),
		cmocka_unit_test(
			minter_signs_any_name_for_an_hour_to_refuse_with),
		cmocka_unit_test(minter_signs_twenty_refusals_a_second),
		cmocka_unit_test(minter_signs_nothing_after_the_session_ended),
		cmocka_unit_test(minter_has_its_bundles_ready),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
