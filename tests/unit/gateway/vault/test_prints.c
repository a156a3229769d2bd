#include "tests/unit/gateway/vault/fixture.h"

#include "gateway/vault/prints.h"
#include "policies/inspect/prints.h"
#include "policies/policy_credential.h"

#define FORMER "what the token was before"
#define VALUE  "the token of the forge /+"

#define AWS_ID	  "AKIAZZ00EXAMPLE000ID"
#define AWS_KEY	  "ZZ00/secretaccesskey+of00the0session0xyz"
#define AWS_TOKEN "IQoJb3JpZ2luX2VjEAAaCXVzLWVhc3QtMSJHMEUCIQDZZ00"

static const struct scope_host hosts[] = {
	{BYTES_LITERAL("github.com"), 443},
};
static const struct scope_binding bindings[] = {
	{.name = BYTES_LITERAL("forge"),
	 .secret = BYTES_LITERAL("forge-secret"),
	 .hosts = hosts,
	 .hosts_count = 1},
	{.name = BYTES_LITERAL("aws"),
	 .secret = BYTES_LITERAL("aws-secret"),
	 .attach = ATTACH_SIGV4,
	 .hosts = hosts,
	 .hosts_count = 1},
	{.name = BYTES_LITERAL("gone"),
	 .secret = BYTES_LITERAL("never-put"),
	 .hosts = hosts,
	 .hosts_count = 1},
};

static void add_session(struct session_table *table)
{
	const uint8_t lease[DIGEST_LEN] = {0};
	const struct session_package package = {
		.id = bytes_str("s-1"),
		.expires_ms = UINT64_MAX,
		.lease_hash = bytes_from(lease, sizeof(lease)),
		.scope = {.hosts = hosts,
			  .hosts_count = 1,
			  .bindings = bindings,
			  .bindings_count = ARRAY_SIZE(bindings)},
	};
	struct err err;
	auto_fd int fd = package_seal(&package, &err);
	struct package *opened = package_open(fd, &err);

	assert_non_null(opened);
	assert_non_null(session_add(table, opened, &err));
}

/* Which credential's secret the text holds, by these prints; "": none. */
static void expect(struct bytes prints, const char *text, const char *name)
{
	struct err err;
	struct secret_prints *read = prints_read(prints, &err);
	struct prints_scan *scan;
	const char *found;

	assert_non_null(read);
	scan = prints_scan_open(read);
	found = prints_scan_feed(scan, bytes_str(text));
	assert_string_equal(found ? found : "", name);
	prints_scan_close(scan);
	prints_free(read);
}

static void an_edge_gets_prints_and_never_the_secret(void **state)
{
	struct fixture *fixture = *state;
	const struct seal_source source = source_of(fixture);
	struct session_table sessions = {0};
	static struct keeper keeper;
	static struct vault vault = {.keeper = &keeper};
	struct secret former;
	struct buf out;
	struct err err;

	add_session(&sessions);
	assert_int_equal(vault_store_open(&vault.store, &source, &err), 0);
	assert_int_equal(vault_store_put(&vault.store,
					 bytes_str("forge-secret"),
					 bytes_str(VALUE), 1, &err),
			 0);
	assert_int_equal(vault_store_put(&vault.store, bytes_str("of-another"),
					 bytes_str("not this session's one"), 1,
					 &err),
			 0);
	buf_init(&out, PRINTS_MESSAGE_MAX);
	assert_int_equal(
		vault_prints(&vault, &sessions, bytes_str("s-1"), &out, &err),
		0);
	expect(buf_view(&out), "a=" VALUE "&b", "forge");
	expect(buf_view(&out), "not this session's one", "");
	/* VALUE, in base64. */
	expect(buf_view(&out), "dGhlIHRva2VuIG9mIHRoZSBmb3JnZSAvKw==", "forge");
	assert_true(bytes_find_bytes(buf_view(&out), bytes_str(VALUE), 0) < 0);
	/* What it was before is looked for as well, while it may be under
	 * way, and no longer. */
	secret_init(&former);
	assert_int_equal(secret_set(&former, bytes_str(FORMER), &err), 0);
	expect(buf_view(&out), FORMER, "");
	former_keep(&vault.former, bytes_str("forge-secret"), &former, 1000);
	former_expire(&vault.former, FORMER_KEEP_MS + 999);
	buf_clear(&out);
	assert_int_equal(
		vault_prints(&vault, &sessions, bytes_str("s-1"), &out, &err),
		0);
	expect(buf_view(&out), FORMER, "forge");
	expect(buf_view(&out), VALUE, "forge");
	former_expire(&vault.former, FORMER_KEEP_MS + 1000);
	assert_int_equal(vault.former.count, 0);
	buf_clear(&out);
	assert_int_equal(
		vault_prints(&vault, &sessions, bytes_str("s-2"), &out, &err),
		-1);
	buf_release(&out);
	vault_store_close(&vault.store);
	session_table_release(&sessions);
}

static void each_part_of_a_secret_is_looked_for_by_itself(void **state)
{
	struct fixture *fixture = *state;
	const struct seal_source source = source_of(fixture);
	struct session_table sessions = {0};
	static struct keeper keeper;
	static struct vault vault = {.keeper = &keeper};
	struct buf out;
	struct err err;

	add_session(&sessions);
	assert_int_equal(vault_store_open(&vault.store, &source, &err), 0);
	assert_int_equal(
		vault_store_put(&vault.store, bytes_str("aws-secret"),
				bytes_str(AWS_ID ":" AWS_KEY ":" AWS_TOKEN), 1,
				&err),
		0);
	buf_init(&out, PRINTS_MESSAGE_MAX);
	assert_int_equal(
		vault_prints(&vault, &sessions, bytes_str("s-1"), &out, &err),
		0);
	expect(buf_view(&out), "aws_secret_access_key = " AWS_KEY "\n", "aws");
	expect(buf_view(&out), "token: '" AWS_TOKEN "'", "aws");
	/* Everyone who sees a signature sees it. */
	expect(buf_view(&out), "aws_access_key_id = " AWS_ID "\n", "");
	buf_release(&out);
	vault_store_close(&vault.store);
	session_table_release(&sessions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			an_edge_gets_prints_and_never_the_secret, fixture_setup,
			fixture_teardown),
		cmocka_unit_test_setup_teardown(
			each_part_of_a_secret_is_looked_for_by_itself,
			fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
