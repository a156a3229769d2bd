/*
 * Policies from anybody: a text is a policy or has errors, and what it
 * decides hangs together: a request that passes has a target that passes,
 * and a scope that holds it.
 */
#include <assert.h>
#include <stdint.h>

#include "common/buf.h"
#include "policies/decide.h"
#include "policies/scope.h"

#define TOLD_MAX  (256 * 1024)
#define ARENA_MAX (64 * 1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const struct bytes paths[] = {BYTES_LITERAL("/"), BYTES_LITERAL("/a/b"),
				     BYTES_LITERAL("/o/r/git-receive-pack")};
static const struct bytes methods[] = {BYTES_LITERAL("GET"),
				       BYTES_LITERAL("POST")};

static void check_verdict(const struct verdict *verdict)
{
	bool allowed = verdict->kind == VERDICT_ALLOW;

	assert(allowed == (verdict->constraint == CONSTRAINT_none));
	assert(verdict->rule.len > 0);
	assert(allowed || verdict->kind == VERDICT_ASK ||
	       verdict->credential.len == 0);
}

static void check_requests(const struct policy *policy,
			   const struct scope *scope,
			   const struct target_facts *target)
{
	struct verdict open = decide_target(policy, target, NULL);

	check_verdict(&open);
	assert(open.kind == VERDICT_DENY ||
	       scope_allows_target(scope, target->host, target->port));
	for (unsigned i = 0; i < 12; i++) {
		struct request_facts facts = {
			.target = *target,
			.is_tls = i & 1,
			.method = methods[i / 2 % 2],
			.path = paths[i / 4],
		};
		struct verdict verdict = decide_request(policy, &facts, NULL);

		check_verdict(&verdict);
		if (verdict.kind == VERDICT_DENY)
			continue;
		assert(open.kind == VERDICT_ALLOW || policy->tunnel.count);
		if (verdict.credential.len)
			assert(facts.is_tls && open.inspect);
	}
}

static void check_policy(const struct policy *policy, struct arena *arena)
{
	struct scope scope;
	struct err err;

	if (scope_from_policy(policy, arena, &scope, &err))
		return;
	for (size_t i = 0; i < scope.hosts_count && i < 50; i++) {
		struct target_facts target = {scope.hosts[i].pattern,
					      scope.hosts[i].port};

		if (target.host.data[0] == '*')
			target.host = bytes_str("x.example");
		check_requests(policy, &scope, &target);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct buf told;
	struct arena arena;
	struct policy_errors errors = {.out = &told, .file = "policy"};
	struct policy *policy;

	buf_init(&told, TOLD_MAX);
	arena_init(&arena, ARENA_MAX);
	policy = policy_compile(bytes_from(data, len), NULL, &errors);
	assert((policy == NULL) == (errors.count > 0));
	assert((buf_len(&told) > 0) == (errors.count > 0));
	if (policy)
		check_policy(policy, &arena);
	policy_free(policy);
	arena_release(&arena);
	buf_release(&told);
	return 0;
}
