#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "gateway/courier/courier.h"
#include "gateway/flow/push.h"

#define OID_A "1111111111111111111111111111111111111111"
#define OID_B "2222222222222222222222222222222222222222"
#define ZERO  "0000000000000000000000000000000000000000"

static const struct scope_host hosts[] = {
	{BYTES_LITERAL("api.example"), 443},
	{BYTES_LITERAL("git.example"), 443},
};
static const struct scope_binding bindings[] = {
	{
		.name = BYTES_LITERAL("forge"),
		.secret = BYTES_LITERAL("forge"),
		.attach = ATTACH_GITHUB,
		.hosts = hosts,
		.hosts_count = ARRAY_SIZE(hosts),
	},
	{
		.name = BYTES_LITERAL("other"),
		.secret = BYTES_LITERAL("other"),
		.attach = ATTACH_BEARER,
		.hosts = hosts,
		.hosts_count = ARRAY_SIZE(hosts),
	},
};
static const struct scope_text branches[] = {{BYTES_LITERAL("agent/1")}};
static const struct scope_repo repos[] = {
	{
		.host = BYTES_LITERAL("git.example"),
		.port = 443,
		.path = BYTES_LITERAL("/acme/widgets"),
		.credential = BYTES_LITERAL("forge"),
		.read = true,
		.verbs = VERB_CREATE | VERB_FAST_FORWARD,
		.branches = branches,
		.branches_count = ARRAY_SIZE(branches),
	},
	{
		.host = BYTES_LITERAL("git.example"),
		.port = 443,
		.path = BYTES_LITERAL("/acme/options"),
		.credential = BYTES_LITERAL("forge"),
		.verbs = VERB_CREATE,
		.has_options = true,
		.branches = branches,
		.branches_count = ARRAY_SIZE(branches),
	},
};

/* A leg of a session with that scope, to host. */
struct fixture {
	struct keeper keeper;
	struct courier courier;
	struct leg leg;
};

static void add_session(struct session_table *table)
{
	uint8_t lease[DIGEST_LEN] = {0};
	const struct session_package package = {
		.id = bytes_str("s-1"),
		.expires_ms = UINT64_MAX,
		.lease_hash = bytes_from(lease, sizeof(lease)),
		.scope = {.hosts = hosts,
			  .hosts_count = ARRAY_SIZE(hosts),
			  .bindings = bindings,
			  .bindings_count = ARRAY_SIZE(bindings),
			  .repos = repos,
			  .repos_count = ARRAY_SIZE(repos)},
	};
	struct err err;
	auto_fd int fd = package_seal(&package, &err);
	struct package *opened = package_open(fd, &err);

	assert_non_null(opened);
	assert_non_null(session_add(table, opened, &err));
}

/* As the courier knows the binding, if it does. */
static void mark_leg(struct leg *leg)
{
	struct err err;

	for (size_t i = 0; i < ARRAY_SIZE(bindings); i++)
		if (bytes_is(bindings[i].name, leg->binding))
			assert_int_equal(scope_binding_mark(&bindings[i],
							    leg->mark, &err),
					 0);
}

static void set_up(struct fixture *fixture, const char *host,
		   const char *binding)
{
	*fixture = (struct fixture){.leg.kind = LEG_REQUEST};
	add_session(&fixture->keeper.sessions);
	fixture->courier.keeper = &fixture->keeper;
	fixture->leg.courier = &fixture->courier;
	fixture->leg.target.port = 443;
	fixture->leg.target.scheme = SCHEME_HTTPS;
	fixture->leg.target.kind =
		host_canonical(bytes_str(host), fixture->leg.target.host);
	(void)snprintf(fixture->leg.session, sizeof(fixture->leg.session),
		       "s-1");
	(void)snprintf(fixture->leg.binding, sizeof(fixture->leg.binding), "%s",
		       binding);
	mark_leg(&fixture->leg);
}

static bool is_granted(const char *host, const char *binding,
		       const struct leg_request *request)
{
	struct fixture fixture;
	struct err err;
	bool granted;

	set_up(&fixture, host, binding);
	fixture.leg.request = *request;
	granted = grant_check(&fixture.leg, &err) == 0;
	session_table_release(&fixture.keeper.sessions);
	return granted;
}

static bool is_path_granted(const char *host, const char *binding,
			    const char *path)
{
	const struct leg_request request = {.method = bytes_str("GET"),
					    .path = bytes_str(path)};

	return is_granted(host, binding, &request);
}

/* TRACE would bring the token back, CONNECT take it anywhere. */
static void courier_serves_known_methods(void **state)
{
	static const struct {
		const char *method;
		bool granted;
	} rows[] = {
		{"GET", true},	    {"POST", true},   {"DELETE", true},
		{"OPTIONS", true},  {"TRACE", false}, {"TRACK", false},
		{"CONNECT", false}, {"get", false},   {"GET ", false},
		{"", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct leg_request request = {
			.method = bytes_str(rows[i].method),
			.path = bytes_str("/x"),
		};

		assert_int_equal(is_granted("api.example", "forge", &request),
				 rows[i].granted);
	}
}

/* Else the next request's head, with the token, would be the body that
 * upstream waits for. */
static void courier_refuses_a_length_without_a_body(void **state)
{
	struct leg_request request = {.method = bytes_str("POST"),
				      .path = bytes_str("/x")};

	(void)state;
	assert_true(is_granted("api.example", "forge", &request));
	request.body_len = 100;
	assert_false(is_granted("api.example", "forge", &request));
	request.has_length = true;
	assert_false(is_granted("api.example", "forge", &request));
	request.has_body = true;
	assert_true(is_granted("api.example", "forge", &request));
}

static void courier_knows_git_endpoints_of_its_repositories_alone(void **state)
{
	static const struct {
		const char *host, *binding, *path;
		bool granted;
	} rows[] = {
		{"git.example", "forge",
		 "/acme/widgets/info/refs?service=git-upload-pack", true},
		{"git.example", "forge",
		 "/acme/widgets.git/info/refs?service=git-receive-pack", true},
		{"git.example", "forge", "/acme/widgets/git-upload-pack", true},
		{"git.example", "other", "/acme/widgets/git-upload-pack",
		 false},
		{"git.example", "forge",
		 "/acme/secret/info/refs?service=git-upload-pack", false},
		{"git.example", "forge", "/acme/secret/git-upload-pack", false},
		{"git.example", "forge", "/git-upload-pack", true},
		{"api.example", "forge", "/acme/widgets/git-upload-pack",
		 false},
		{"git.example", "forge", "/acme/widgets/git-receive-pack",
		 false},
		{"git.example", "forge", "/acme/widgets/git-receive-pack?x",
		 false},
		{"git.example", "forge", "/acme/./widgets/git-upload-pack",
		 false},
		{"git.example", "forge", "/acme/secret/git%2Dupload-pack",
		 false},
		{"git.example", "forge", "/acme/widgets/git-upload-pack/",
		 false},
		{"git.example", "forge", "/acme/widgets/Git-Receive-Pack",
		 false},
		{"git.example", "forge",
		 "/acme/secret/INFO/refs?service=git-upload-pack", false},
		{"git.example", "forge", "/acme/secret/git-receive-pack%3Bx",
		 false},
		{"git.example", "forge", "/acme/secret/git-receive-packs",
		 true},
		{"git.example", "forge", "/acme/secret", true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(is_path_granted(rows[i].host, rows[i].binding,
						 rows[i].path),
				 rows[i].granted);
}

static void courier_grants_updates_by_verb_and_ref(void **state)
{
	static const struct {
		const char *repo, *url, *old_oid, *new_oid, *ref;
		enum push_verb verb;
		bool granted;
	} rows[] = {
		{"/acme/widgets", "/acme/widgets.git", ZERO, OID_A,
		 "refs/heads/agent/1", PUSH_CREATE, true},
		{"/acme/widgets", "/acme/widgets", OID_A, OID_B,
		 "refs/heads/agent/1", PUSH_FAST_FORWARD, true},
		{"/acme/widgets", "/acme/widgets", OID_A, OID_B,
		 "refs/heads/agent/1", PUSH_UPDATE, false},
		{"/acme/widgets", "/acme/widgets", OID_A, OID_B,
		 "refs/heads/agent/1", PUSH_REWRITE, false},
		{"/acme/widgets", "/acme/widgets", OID_A, ZERO,
		 "refs/heads/agent/1", PUSH_DELETE, false},
		{"/acme/widgets", "/acme/widgets", OID_A, ZERO,
		 "refs/heads/agent/1", PUSH_CREATE, false},
		{"/acme/widgets", "/acme/widgets", ZERO, OID_A,
		 "refs/heads/main", PUSH_CREATE, false},
		{"/acme/widgets", "/acme/secret", ZERO, OID_A,
		 "refs/heads/agent/1", PUSH_CREATE, false},
		{"/acme/secret", "/acme/secret", ZERO, OID_A,
		 "refs/heads/agent/1", PUSH_CREATE, false},
		{"/acme/widgets", "/acme/widgets?x", ZERO, OID_A,
		 "refs/heads/agent/1", PUSH_CREATE, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct leg_update update = {
			.old_oid = bytes_str(rows[i].old_oid),
			.new_oid = bytes_str(rows[i].new_oid),
			.ref = bytes_str(rows[i].ref),
			.verb = (uint8_t)rows[i].verb,
		};
		struct fixture fixture;
		struct err err;

		set_up(&fixture, "git.example", "forge");
		fixture.leg.kind = LEG_PUSH;
		fixture.leg.push = (struct leg_push){
			.repo_path = bytes_str(rows[i].repo),
			.url_path = bytes_str(rows[i].url),
			.updates = &update,
			.updates_count = 1,
		};
		assert_int_equal(grant_check(&fixture.leg, &err) == 0,
				 rows[i].granted);
		session_table_release(&fixture.keeper.sessions);
	}
}

static void courier_grants_options_where_the_policy_has_some(void **state)
{
	static const struct leg_update update = {
		.old_oid = BYTES_LITERAL(ZERO),
		.new_oid = BYTES_LITERAL(OID_A),
		.ref = BYTES_LITERAL("refs/heads/agent/1"),
		.verb = PUSH_CREATE,
	};
	static const struct leg_field option = {
		.name = BYTES_LITERAL("ci.skip")};
	static const struct {
		const char *path;
		size_t count;
		bool granted;
	} rows[] = {
		{"/acme/widgets", 0, true},
		{"/acme/widgets", 1, false},
		{"/acme/options", 0, true},
		{"/acme/options", 1, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fixture fixture;
		struct err err;

		set_up(&fixture, "git.example", "forge");
		fixture.leg.kind = LEG_PUSH;
		fixture.leg.push = (struct leg_push){
			.repo_path = bytes_str(rows[i].path),
			.url_path = bytes_str(rows[i].path),
			.updates = &update,
			.updates_count = 1,
			.options = &option,
			.options_count = rows[i].count,
		};
		assert_int_equal(grant_check(&fixture.leg, &err) == 0,
				 rows[i].granted);
		session_table_release(&fixture.keeper.sessions);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(courier_serves_known_methods),
		cmocka_unit_test(courier_refuses_a_length_without_a_body),
		cmocka_unit_test(
			courier_knows_git_endpoints_of_its_repositories_alone),
		cmocka_unit_test(courier_grants_updates_by_verb_and_ref),
		cmocka_unit_test(
			courier_grants_options_where_the_policy_has_some),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
