#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <unistd.h>

#include "common/cleanup.h"
#include "gateway/vault/scope.h"

#define ENDS_MS 1000000

static const struct scope_host reach[] = {
	{BYTES_LITERAL("github.com"), 443},
	{BYTES_LITERAL("*.github.com"), 443},
	{BYTES_LITERAL("pypi.org"), 443},
};
static const struct scope_host github_hosts[] = {
	{BYTES_LITERAL("github.com"), 443},
	{BYTES_LITERAL("api.github.com"), 443},
	{BYTES_LITERAL("elsewhere.example"), 443},
};
static const struct scope_binding bindings[] = {
	{
		.name = BYTES_LITERAL("github"),
		.secret = BYTES_LITERAL("github-app"),
		.attach = ATTACH_GITHUB,
		.hosts = github_hosts,
		.hosts_count = ARRAY_SIZE(github_hosts),
	},
};

static void add_session(struct session_table *table, const char *id)
{
	uint8_t lease[DIGEST_LEN] = {0};
	const struct session_package package = {
		.id = bytes_str(id),
		.expires_ms = ENDS_MS,
		.lease_hash = bytes_from(lease, sizeof(lease)),
		.scope = {.hosts = reach,
			  .hosts_count = ARRAY_SIZE(reach),
			  .bindings = bindings,
			  .bindings_count = ARRAY_SIZE(bindings)},
	};
	struct err err;
	auto_fd int fd = package_seal(&package, &err);
	struct package *opened = package_open(fd, &err);

	assert_non_null(opened);
	assert_non_null(session_add(table, opened, &err));
}

static void vault_checks_session_binding_host_port_and_time(void **state)
{
	static const struct {
		const char *session, *binding, *host;
		uint16_t port;
		uint64_t now_ms;
		enum constraint constraint;
	} rows[] = {
		{"s-1", "github", "github.com", 443, 1, CONSTRAINT_none},
		{"s-1", "github", "api.github.com", 443, ENDS_MS - 1,
		 CONSTRAINT_none},
		{"s-2", "github", "github.com", 443, 1,
		 CONSTRAINT_session_revoked},
		{"", "github", "github.com", 443, 1,
		 CONSTRAINT_session_revoked},
		{"s-1", "github", "github.com", 443, ENDS_MS,
		 CONSTRAINT_lease_expired},
		{"s-1", "npm", "github.com", 443, 1,
		 CONSTRAINT_credential_unavailable},
		{"s-1", "", "github.com", 443, 1,
		 CONSTRAINT_credential_unavailable},
		{"s-1", "github-app", "github.com", 443, 1,
		 CONSTRAINT_credential_unavailable},
		{"s-1", "github", "pypi.org", 443, 1,
		 CONSTRAINT_host_not_allowed},
		{"s-1", "github", "gist.github.com", 443, 1,
		 CONSTRAINT_host_not_allowed},
		{"s-1", "github", "github.com", 80, 1,
		 CONSTRAINT_host_not_allowed},
		{"s-1", "github", "elsewhere.example", 443, 1,
		 CONSTRAINT_host_not_allowed},
		{"s-1", "github", "GitHub.com", 443, 1,
		 CONSTRAINT_request_malformed},
		{"s-1", "github", "github.com.", 443, 1,
		 CONSTRAINT_request_malformed},
		{"s-1", "github", "github.com/", 443, 1,
		 CONSTRAINT_request_malformed},
		{"s-1", "github", "", 443, 1, CONSTRAINT_request_malformed},
	};
	struct session_table sessions = {0};
	uint8_t mark[DIGEST_LEN];
	struct err err;

	(void)state;
	add_session(&sessions, "s-1");
	assert_int_equal(scope_binding_mark(&bindings[0], mark, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct msg_token_get wanted = {
			.session = bytes_str(rows[i].session),
			.binding = bytes_str(rows[i].binding),
			.host = bytes_str(rows[i].host),
			.port = rows[i].port,
			.mark = bytes_from(mark, sizeof(mark)),
		};
		const struct scope_binding *binding;
		enum constraint got = vault_scope_check(
			&sessions, &wanted, rows[i].now_ms, &binding);

		if (got != rows[i].constraint)
			fail_msg("row %zu: %s", i, constraint_name(got));
		if (got == CONSTRAINT_none)
			assert_true(bytes_is(binding->secret, "github-app"));
		else
			assert_null(binding);
	}
	session_table_release(&sessions);
}

static void vault_gives_nothing_for_another_binding_of_that_name(void **state)
{
	struct scope_binding other = bindings[0];
	struct session_table sessions = {0};
	const struct scope_binding *binding;
	uint8_t mark[DIGEST_LEN];
	struct msg_token_get wanted = {
		.session = bytes_str("s-1"),
		.binding = bytes_str("github"),
		.host = bytes_str("github.com"),
		.port = 443,
	};
	struct err err;

	(void)state;
	add_session(&sessions, "s-1");
	assert_int_equal(vault_scope_check(&sessions, &wanted, 1, &binding),
			 CONSTRAINT_credential_unavailable);
	other.secret = bytes_str("another");
	assert_int_equal(scope_binding_mark(&other, mark, &err), 0);
	wanted.mark = bytes_from(mark, sizeof(mark));
	assert_int_equal(vault_scope_check(&sessions, &wanted, 1, &binding),
			 CONSTRAINT_credential_unavailable);
	assert_null(binding);
	assert_int_equal(scope_binding_mark(&bindings[0], mark, &err), 0);
	assert_int_equal(vault_scope_check(&sessions, &wanted, 1, &binding),
			 CONSTRAINT_none);
	session_table_release(&sessions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			vault_checks_session_binding_host_port_and_time),
		cmocka_unit_test(
			vault_gives_nothing_for_another_binding_of_that_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
