#include "policies/scope.h"

#include <arpa/inet.h>

#include "policy_of.h"

#define SCOPE_ARENA_MAX (8 * 1024 * 1024)

#define PRIVATE	 ADDRESS_PRIVATE
#define LINK	 ADDRESS_LINK_LOCAL
#define METADATA ADDRESS_METADATA
#define LOOPBACK ADDRESS_LOOPBACK
#define SPECIAL	 ADDRESS_SPECIAL

static struct sockaddr_storage address_of(const char *text)
{
	struct sockaddr_storage storage = {.ss_family = AF_INET6};
	struct sockaddr_in6 *in6 = (void *)&storage;
	struct sockaddr_in *in = (void *)&storage;

	if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1)
		return storage;
	storage.ss_family = AF_INET;
	assert_int_equal(inet_pton(AF_INET, text, &in->sin_addr), 1);
	return storage;
}

static const struct {
	const char *address;
	unsigned class;
} classes[] = {
	{"0.0.0.0", SPECIAL},
	{"0.255.255.255", SPECIAL},
	{"1.0.0.0", 0},
	{"1.1.1.1", 0},
	{"8.8.8.8", 0},
	{"9.255.255.255", 0},
	{"10.0.0.0", PRIVATE},
	{"10.255.255.255", PRIVATE},
	{"11.0.0.0", 0},
	{"100.63.255.255", 0},
	{"100.64.0.0", PRIVATE},
	{"100.127.255.255", PRIVATE},
	{"100.128.0.0", 0},
	{"100.100.100.200", PRIVATE | METADATA},
	{"126.255.255.255", 0},
	{"127.0.0.1", LOOPBACK},
	{"127.255.255.254", LOOPBACK},
	{"128.0.0.0", 0},
	{"168.63.129.16", METADATA},
	{"168.63.129.17", 0},
	{"169.253.255.255", 0},
	{"169.254.0.1", LINK},
	{"169.254.169.254", LINK | METADATA},
	{"169.254.170.2", LINK | METADATA},
	{"169.255.0.0", 0},
	{"172.15.255.255", 0},
	{"172.16.0.0", PRIVATE},
	{"172.31.255.255", PRIVATE},
	{"172.32.0.0", 0},
	{"192.0.0.1", SPECIAL},
	{"192.0.0.192", SPECIAL | METADATA},
	{"192.0.1.0", 0},
	{"192.0.2.1", SPECIAL},
	{"192.0.3.0", 0},
	{"192.88.98.255", 0},
	{"192.88.99.1", SPECIAL},
	{"192.88.100.0", 0},
	{"192.167.255.255", 0},
	{"192.168.0.1", PRIVATE},
	{"192.169.0.0", 0},
	{"198.17.255.255", 0},
	{"198.18.0.0", SPECIAL},
	{"198.19.255.255", SPECIAL},
	{"198.20.0.0", 0},
	{"198.51.100.1", SPECIAL},
	{"203.0.113.1", SPECIAL},
	{"203.0.114.1", 0},
	{"223.255.255.255", 0},
	{"224.0.0.1", SPECIAL},
	{"239.255.255.255", SPECIAL},
	{"240.0.0.1", SPECIAL},
	{"255.255.255.255", SPECIAL},
	{"::", SPECIAL},
	{"::1", LOOPBACK},
	{"::2", SPECIAL},
	{"::127.0.0.1", SPECIAL},
	{"::ffff:10.0.0.1", PRIVATE},
	{"::ffff:127.0.0.1", LOOPBACK},
	{"::ffff:8.8.8.8", 0},
	{"::ffff:0:127.0.0.1", SPECIAL},
	{"64:ff9b::10.0.0.1", PRIVATE},
	{"64:ff9b::169.254.169.254", LINK | METADATA},
	{"64:ff9b::8.8.8.8", 0},
	{"64:ff9b:1::1", SPECIAL},
	{"64:ff9b:2::1", SPECIAL},
	{"100::1", SPECIAL},
	{"2001::1", SPECIAL},
	{"2001:0:4136:e378::1", SPECIAL},
	{"2001:1ff:ffff::", SPECIAL},
	{"2001:200::1", 0},
	{"2001:db8::1", SPECIAL},
	{"2001:db9::1", 0},
	{"2001:4860:4860::8888", 0},
	{"2002:7f00:1::", LOOPBACK},
	{"2002:a00:1::1", PRIVATE},
	{"2002:808:808::1", 0},
	{"2606:4700::1111", 0},
	{"3fff::1", SPECIAL},
	{"3fff:1000::1", 0},
	{"4000::1", SPECIAL},
	{"5f00::1", SPECIAL},
	{"fc00::1", PRIVATE},
	{"fdff::1", PRIVATE},
	{"fd00:ec2::254", PRIVATE | METADATA},
	{"fe00::1", SPECIAL},
	{"fe80::1", LINK},
	{"febf::1", LINK},
	{"fec0::1", PRIVATE},
	{"ff02::1", SPECIAL},
};

static void address_class_of_knows_every_range(void **state)
{
	const struct sockaddr unix_socket = {.sa_family = AF_UNIX};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		struct sockaddr_storage address =
			address_of(classes[i].address);

		print_message("%s\n", classes[i].address);
		assert_int_equal(address_class_of((const void *)&address),
				 classes[i].class);
	}
	assert_int_equal(address_class_of(&unix_socket), SPECIAL);
}

/* A scope and the policy that it borrows from. */
struct held {
	struct policy *policy;
	struct arena arena;
	struct scope scope;
};

static void hold(struct held *held, const char *text)
{
	struct err err;

	held->policy = policy_of(text);
	arena_init(&held->arena, SCOPE_ARENA_MAX);
	assert_int_equal(scope_from_policy(held->policy, &held->arena,
					   &held->scope, &err),
			 0);
}

static void let_go(struct held *held)
{
	arena_release(&held->arena);
	policy_free(held->policy);
}

#define ADDRESSES(text) "version: 1\nnetwork: {addresses: {" text "}}\n"
#define BY_DEFAULT	"version: 1\n"
#define NO_DENY		ADDRESSES("deny: []")
#define ONLY_METADATA	ADDRESSES("deny: [metadata]")
#define ONLY_LINK	ADDRESSES("deny: [link-local]")
#define RANGE		ADDRESSES("deny: [private, 1.1.1.0/24, '2606:4700::/32']")
#define NAT64		ADDRESSES("deny: ['64:ff9b::/96']")
#define EXCEPT_TEN	ADDRESSES("allow: [10.2.0.0/16]")
#define EXCEPT_ALL	ADDRESSES("allow: [0.0.0.0/0, '::/0']")
#define EXCEPT_TEST	ADDRESSES("allow: [198.51.100.0/24, 'ff02::/16']")
#define EXCEPT_IN_DENY	ADDRESSES("deny: [1.0.0.0/8], allow: [1.1.1.1]")

static void scope_allows_address_by_class_range_and_exception(void **state)
{
	static const struct {
		const char *policy;
		const char *address;
		bool allowed;
	} rows[] = {
		{BY_DEFAULT, "8.8.8.8", true},
		{BY_DEFAULT, "2606:4700::1", true},
		{BY_DEFAULT, "10.2.0.1", false},
		{BY_DEFAULT, "127.0.0.1", false},
		{BY_DEFAULT, "169.254.169.254", false},
		{BY_DEFAULT, "168.63.129.16", false},
		{BY_DEFAULT, "::ffff:127.0.0.1", false},
		{BY_DEFAULT, "2002:7f00:1::", false},
		{BY_DEFAULT, "64:ff9b::127.0.0.1", false},
		{BY_DEFAULT, "224.0.0.1", false},
		{BY_DEFAULT, "0.0.0.0", false},
		{NO_DENY, "10.2.0.1", true},
		{NO_DENY, "127.0.0.1", true},
		{NO_DENY, "0.0.0.0", false},
		{NO_DENY, "::", false},
		{ONLY_METADATA, "169.254.169.254", false},
		{ONLY_METADATA, "169.254.1.1", true},
		{ONLY_METADATA, "10.0.0.1", true},
		{ONLY_LINK, "169.254.169.254", false},
		{ONLY_LINK, "100.100.100.200", true},
		{RANGE, "1.1.1.1", false},
		{RANGE, "1.1.2.1", true},
		{RANGE, "::ffff:1.1.1.1", false},
		{RANGE, "64:ff9b::1.1.1.1", false},
		{RANGE, "2002:101:101::", false},
		{RANGE, "2606:4700::1", false},
		{RANGE, "2606:4701::1", true},
		{RANGE, "127.0.0.1", true},
		{NAT64, "64:ff9b::8.8.8.8", false},
		{NAT64, "8.8.8.8", true},
		{EXCEPT_TEN, "10.2.3.4", true},
		{EXCEPT_TEN, "::ffff:10.2.3.4", true},
		{EXCEPT_TEN, "10.3.0.1", false},
		{EXCEPT_TEN, "192.168.0.1", false},
		{EXCEPT_ALL, "10.3.0.1", true},
		{EXCEPT_ALL, "127.0.0.1", true},
		{EXCEPT_ALL, "fc00::1", true},
		{EXCEPT_ALL, "198.51.100.1", false},
		{EXCEPT_ALL, "224.0.0.1", false},
		{EXCEPT_ALL, "0.0.0.0", false},
		{EXCEPT_ALL, "::", false},
		{EXCEPT_ALL, "ff02::1", false},
		{EXCEPT_TEST, "198.51.100.1", true},
		{EXCEPT_TEST, "198.51.101.1", true},
		{EXCEPT_TEST, "203.0.113.1", false},
		{EXCEPT_TEST, "ff02::1", true},
		{EXCEPT_TEST, "ff05::1", false},
		{EXCEPT_IN_DENY, "1.1.1.1", true},
		{EXCEPT_IN_DENY, "1.1.1.2", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sockaddr_storage address = address_of(rows[i].address);
		struct held held;

		hold(&held, rows[i].policy);
		print_message("%zu: %s\n", i, rows[i].address);
		assert_int_equal(scope_allows_address(&held.scope,
						      (const void *)&address),
				 rows[i].allowed);
		let_go(&held);
	}
}

#define EXCEPT_ONE ADDRESSES("allow: [10.2.3.4/32, 8.8.8.8]")

static void scope_allows_the_hosts_own_address_by_name_alone(void **state)
{
	static const struct {
		const char *policy;
		const char *address;
		bool allowed;
	} rows[] = {
		{BY_DEFAULT, "8.8.8.8", false},
		{BY_DEFAULT, "::ffff:8.8.8.8", false},
		{BY_DEFAULT, "2606:4700::1", false},
		{NO_DENY, "8.8.8.8", true},
		{ONLY_METADATA, "10.0.0.1", true},
		{EXCEPT_TEN, "10.2.3.4", false},
		{EXCEPT_ALL, "8.8.8.8", false},
		{EXCEPT_ALL, "127.0.0.1", true},
		{EXCEPT_ALL, "::1", true},
		{EXCEPT_ONE, "10.2.3.4", true},
		{EXCEPT_ONE, "::ffff:8.8.8.8", true},
		{EXCEPT_ONE, "10.2.3.5", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sockaddr_storage address = address_of(rows[i].address);
		struct held held;

		hold(&held, rows[i].policy);
		print_message("%zu: %s\n", i, rows[i].address);
		assert_int_equal(scope_allows_own_address(
					 &held.scope, (const void *)&address),
				 rows[i].allowed);
		let_go(&held);
	}
}

static const char house[] =
	"version: 1\n"
	"network:\n"
	"  rules:\n"
	"    - {hosts: [a.example, '*.b.example'], action: allow}\n"
	"    - {hosts: [a.example], action: allow, name: again}\n"
	"    - {hosts: [p.example], ports: [8443], action: allow}\n"
	"    - {hosts: [api.example], credential: c, paths: [/x],\n"
	"       action: allow}\n"
	"    - {hosts: [d.example], action: deny}\n"
	"credentials:\n"
	"  - {name: c, secret: s, attach: basic, username: bot,\n"
	"     hosts: [api.example, git.example, other.example]}\n"
	"  - {name: unused, secret: t, attach: bearer, hosts: [a.example]}\n"
	"git:\n"
	"  - {repo: 'https://git.example:8443/Team/Tool', credential: c,\n"
	"     read: true, push: {branches: ['wip/*'], tags: [v1],\n"
	"     verbs: [create, fast-forward]}}\n"
	"  - {repo: 'https://github.com/Acme/Widgets', read: true}\n";

static void
scope_names_the_targets_of_allow_rules_and_repositories(void **state)
{
	static const struct {
		const char *host;
		uint16_t port;
		bool target;
		bool name;
	} rows[] = {
		{"a.example", 443, true, true},
		{"a.example", 80, true, true},
		{"a.example", 22, false, true},
		{"x.b.example", 443, true, true},
		{"b.example", 443, false, false},
		{"p.example", 8443, true, true},
		{"p.example", 443, false, true},
		{"d.example", 443, false, false},
		{"git.example", 8443, true, true},
		{"git.example", 443, false, true},
		{"github.com", 443, true, true},
		{"github.com", 80, false, true},
		/* Where GitHub keeps LFS objects. */
		{"github-cloud.s3.amazonaws.com", 443, true, true},
		{"github-cloud.githubusercontent.com", 443, true, true},
		{"lfs.github.com", 443, true, true},
		{"lfs.github.com", 80, false, true},
		{"other.example", 443, false, false},
		{"", 443, false, false},
	};
	struct held held;

	(void)state;
	hold(&held, house);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bytes host = bytes_str(rows[i].host);

		print_message("%s:%u\n", rows[i].host, rows[i].port);
		assert_int_equal(
			scope_allows_target(&held.scope, host, rows[i].port),
			rows[i].target);
		assert_int_equal(scope_allows_name(&held.scope, host),
				 rows[i].name);
	}
	/* a.example stands in two rules and once per port in the scope */
	assert_int_equal(held.scope.hosts_count, 12);
	let_go(&held);
}

static void scope_binds_credentials_to_where_rules_use_them(void **state)
{
	const struct scope_binding *binding;
	struct held held;

	(void)state;
	hold(&held, house);
	binding = scope_binding_named(&held.scope, bytes_str("c"));
	assert_non_null(binding);
	assert_true(bytes_is(binding->secret, "s"));
	assert_int_equal(binding->attach, ATTACH_BASIC);
	assert_true(bytes_is(binding->username, "bot"));
	assert_true(
		scope_binding_allows(binding, bytes_str("api.example"), 443));
	assert_true(
		scope_binding_allows(binding, bytes_str("git.example"), 8443));
	assert_false(
		scope_binding_allows(binding, bytes_str("api.example"), 80));
	assert_false(
		scope_binding_allows(binding, bytes_str("git.example"), 443));
	assert_false(
		scope_binding_allows(binding, bytes_str("other.example"), 443));
	assert_false(
		scope_binding_allows(binding, bytes_str("a.example"), 443));
	binding = scope_binding_named(&held.scope, bytes_str("unused"));
	assert_non_null(binding);
	assert_false(
		scope_binding_allows(binding, bytes_str("a.example"), 443));
	assert_null(scope_binding_named(&held.scope, bytes_str("x")));
	let_go(&held);
}

static void scope_binds_pushes_to_refs_and_verbs(void **state)
{
	static const struct {
		const char *ref;
		unsigned verbs;
		bool allowed;
	} rows[] = {
		{"refs/heads/wip/1", VERB_CREATE, true},
		{"refs/heads/wip/1", VERB_CREATE | VERB_FAST_FORWARD, true},
		{"refs/heads/wip/1", VERB_REWRITE, false},
		{"refs/heads/wip/1", VERB_FAST_FORWARD | VERB_REWRITE, false},
		{"refs/heads/wip/1", 0, false},
		{"refs/heads/wip/1/2", VERB_CREATE, false},
		{"refs/heads/wip/../main", VERB_CREATE, false},
		{"refs/heads/main", VERB_CREATE, false},
		{"refs/tags/v1", VERB_CREATE, true},
		{"refs/tags/v2", VERB_CREATE, false},
		{"wip/1", VERB_CREATE, false},
	};
	const struct scope_repo *repo;
	struct held held;

	(void)state;
	hold(&held, house);
	assert_null(scope_repo_at(&held.scope, bytes_str("git.example"), 443,
				  bytes_str("/Team/Tool")));
	assert_null(scope_repo_at(&held.scope, bytes_str("git.example"), 8443,
				  bytes_str("/team/tool")));
	assert_non_null(scope_repo_at(&held.scope, bytes_str("github.com"), 443,
				      bytes_str("/aCME/widgets")));
	repo = scope_repo_at(&held.scope, bytes_str("git.example"), 8443,
			     bytes_str("/Team/Tool"));
	assert_non_null(repo);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		print_message("%s %u\n", rows[i].ref, rows[i].verbs);
		assert_int_equal(scope_repo_allows_ref(repo,
						       bytes_str(rows[i].ref),
						       rows[i].verbs),
				 rows[i].allowed);
	}
	let_go(&held);
}

static void scope_travels_unchanged(void **state)
{
	struct arena arena;
	struct buf sent;
	struct buf again;
	struct held held;
	struct scope scope;
	struct err err;

	(void)state;
	hold(&held, house);
	buf_init(&sent, WIRE_MESSAGE_MAX);
	buf_init(&again, WIRE_MESSAGE_MAX);
	arena_init(&arena, SCOPE_ARENA_MAX);
	assert_int_equal(wire_encode(&scope_schema, &held.scope, &sent, &err),
			 0);
	assert_int_equal(wire_decode(&scope_schema, buf_view(&sent), &arena,
				     &scope, &err),
			 0);
	assert_int_equal(scope.hosts_count, held.scope.hosts_count);
	assert_true(scope_allows_target(&scope, bytes_str("x.b.example"), 443));
	assert_int_equal(wire_encode(&scope_schema, &scope, &again, &err), 0);
	assert_true(bytes_equal(buf_view(&sent), buf_view(&again)));
	arena_release(&arena);
	buf_release(&sent);
	buf_release(&again);
	let_go(&held);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(address_class_of_knows_every_range),
		cmocka_unit_test(
			scope_allows_address_by_class_range_and_exception),
		cmocka_unit_test(
			scope_allows_the_hosts_own_address_by_name_alone),
		cmocka_unit_test(
			scope_names_the_targets_of_allow_rules_and_repositories),
		cmocka_unit_test(
			scope_binds_credentials_to_where_rules_use_them),
		cmocka_unit_test(scope_binds_pushes_to_refs_and_verbs),
		cmocka_unit_test(scope_travels_unchanged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
