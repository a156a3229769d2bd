#include "policy_of.h"

struct row {
	const char *policy;
	const char *host;
	uint16_t port;
	enum constraint constraint; /* none: allowed */
	bool inspect;
	const char *rule;
};

#define ALLOW CONSTRAINT_none
#define RULES "version: 1\nnetwork:\n  rules:\n"
#define HOST  RULES "  - {hosts: [a.example], action: allow}\n"
#define GET   RULES "  - {hosts: [a.example], methods: [GET], action: allow}\n"
#define WILD  RULES "  - {hosts: ['*.a.example'], action: allow}\n"
#define ANY   RULES "  - {hosts: ['*'], action: allow}\n"
#define PORT  RULES "  - {hosts: [a.example], ports: [8443], action: allow}\n"
#define DENY_THEN                                                              \
	RULES "  - {hosts: [b.a.example], action: deny, reason: no}\n"         \
	      "  - {hosts: ['*.a.example'], action: allow}\n"
#define THEN_DENY                                                              \
	RULES "  - {hosts: ['*.a.example'], action: allow}\n"                  \
	      "  - {hosts: [b.a.example], action: deny, reason: no}\n"
#define DENY_POSTS                                                             \
	RULES "  - {methods: [POST], action: deny}\n"                          \
	      "  - {hosts: [a.example], action: allow}\n"
#define LATE_POSTS                                                             \
	RULES "  - {hosts: [a.example], action: allow}\n"                      \
	      "  - {methods: [POST], action: deny}\n"
#define DENY_ALL                                                               \
	RULES "  - {action: deny}\n  - {hosts: [a.example], action: allow}\n"
#define ALWAYS	      HOST "  tls: {inspect: always}\n"
#define TUNNEL	      DENY_POSTS "  tls: {tunnel: [a.example]}\n"
#define TUNNEL_ALWAYS HOST "  tls: {inspect: always, tunnel: [a.example]}\n"
#define TUNNEL_GET                                                             \
	RULES "  - {hosts: ['*'], methods: [GET], action: allow}\n"            \
	      "  tls: {tunnel: [a.example]}\n"
#define GIT	 "version: 1\ngit: [{repo: 'https://a.example/o/r', read: true}]\n"
#define GIT_DENY GIT "network: {rules: [{hosts: [a.example], action: deny}]}\n"
#define GIT_8443                                                               \
	"version: 1\n"                                                         \
	"git: [{repo: 'https://a.example:8443/o/r', read: true}]\n"
#define CREDENTIAL                                                             \
	RULES "  - {hosts: [a.example], credential: c, action: allow}\n"       \
	      "credentials:\n"                                                 \
	      "  - {name: c, secret: s, attach: bearer, hosts: [a.example]}\n"

static const struct row rows[] = {
	{"version: 1\n", "a.example", 443, CONSTRAINT_host_not_allowed, false,
	 "default"},
	{HOST, "a.example", 443, ALLOW, false, "rules[0]"},
	{HOST, "a.example", 80, ALLOW, false, "rules[0]"},
	{HOST, "a.example", 22, CONSTRAINT_port_not_allowed, false, "default"},
	{HOST, "b.example", 443, CONSTRAINT_host_not_allowed, false, "default"},
	{HOST, "b.example", 22, CONSTRAINT_host_not_allowed, false, "default"},
	{PORT, "a.example", 8443, ALLOW, false, "rules[0]"},
	{PORT, "a.example", 443, CONSTRAINT_port_not_allowed, false, "default"},
	{GET, "a.example", 443, ALLOW, true, "rules[0]"},
	{CREDENTIAL, "a.example", 443, ALLOW, true, "rules[0]"},
	{WILD, "x.a.example", 443, ALLOW, false, "rules[0]"},
	{WILD, "a.example", 443, CONSTRAINT_host_not_allowed, false, "default"},
	{WILD, "xa.example", 443, CONSTRAINT_host_not_allowed, false,
	 "default"},
	{ANY, "x.a.example", 443, ALLOW, false, "rules[0]"},
	{ANY, "127.0.0.1", 443, CONSTRAINT_host_not_allowed, false, "default"},
	{ANY, "::1", 443, CONSTRAINT_host_not_allowed, false, "default"},
	{DENY_THEN, "b.a.example", 443, CONSTRAINT_denied_by_rule, false,
	 "rules[0]"},
	{DENY_THEN, "c.a.example", 443, ALLOW, false, "rules[1]"},
	{THEN_DENY, "b.a.example", 443, ALLOW, false, "rules[0]"},
	{DENY_POSTS, "a.example", 443, ALLOW, true, "rules[1]"},
	{DENY_POSTS, "b.example", 443, CONSTRAINT_host_not_allowed, false,
	 "default"},
	{LATE_POSTS, "a.example", 443, ALLOW, false, "rules[0]"},
	{DENY_ALL, "a.example", 443, CONSTRAINT_denied_by_rule, false,
	 "rules[0]"},
	{ALWAYS, "a.example", 443, ALLOW, true, "rules[0]"},
	{TUNNEL, "a.example", 443, ALLOW, false, "rules[1]"},
	{TUNNEL_ALWAYS, "a.example", 443, ALLOW, false, "rules[0]"},
	{TUNNEL_GET, "b.example", 443, ALLOW, true, "rules[0]"},
	{TUNNEL_GET, "a.example", 443, CONSTRAINT_host_not_allowed, false,
	 "default"},
	{GIT, "a.example", 443, ALLOW, true, "git"},
	{GIT, "a.example", 80, CONSTRAINT_host_not_allowed, false, "default"},
	{GIT, "b.example", 443, CONSTRAINT_host_not_allowed, false, "default"},
	{GIT_DENY, "a.example", 443, ALLOW, true, "git"},
	{GIT_8443, "a.example", 8443, ALLOW, true, "git"},
	{GIT_8443, "a.example", 443, CONSTRAINT_host_not_allowed, false,
	 "default"},
};

static void decide_target_says_whether_and_how(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		struct target_facts facts = target_of(row->host, row->port);
		struct policy *policy = policy_of(row->policy);
		struct verdict verdict = decide_target(policy, &facts, NULL);

		print_message("%zu: %s:%u\n", i, row->host, row->port);
		assert_int_equal(verdict.kind, row->constraint == ALLOW
						       ? VERDICT_ALLOW
						       : VERDICT_DENY);
		assert_string_equal(constraint_name(verdict.constraint),
				    constraint_name(row->constraint));
		assert_int_equal(verdict.inspect, row->inspect);
		assert_true(bytes_is(verdict.rule, row->rule));
		policy_free(policy);
	}
}

static void decide_target_gives_the_denying_rules_reason(void **state)
{
	struct policy *policy = policy_of(DENY_THEN);
	struct target_facts facts = target_of("b.a.example", 443);
	struct verdict verdict = decide_target(policy, &facts, NULL);

	(void)state;
	assert_true(bytes_is(verdict.reason, "no"));
	policy_free(policy);
}

static void decide_target_traces_each_step(void **state)
{
	struct policy *policy = policy_of(DENY_THEN);
	struct target_facts facts = target_of("c.a.example", 443);
	struct buf trace;

	(void)state;
	buf_init(&trace, 4096);
	(void)decide_target(policy, &facts, &trace);
	assert_string_equal(buf_str(&trace), "rules[0]: another host\n"
					     "rules[1]: matches: allow\n");
	buf_clear(&trace);
	facts = target_of("elsewhere.example", 443);
	(void)decide_target(policy, &facts, &trace);
	assert_string_equal(buf_str(&trace), "rules[0]: another host\n"
					     "rules[1]: another host\n"
					     "default: deny\n");
	buf_release(&trace);
	policy_free(policy);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(decide_target_says_whether_and_how),
		cmocka_unit_test(decide_target_gives_the_denying_rules_reason),
		cmocka_unit_test(decide_target_traces_each_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
