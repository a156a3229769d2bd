#include "policies/guardrail.h"

#include <assert.h>

#include "policies/decide.h"
#include "policies/decide_rule.h"

static const struct bytes prefix = BYTES_LITERAL("guardrail/");

bool guardrail_spoke(const struct verdict *verdict)
{
	return bytes_starts_with(verdict->rule, prefix);
}

/* ---- binding ---- */

static const struct policy_repo *same_repo(const struct policy *guardrail,
					   const struct policy_repo *repo)
{
	const struct target_facts target = {repo->host, repo->port};

	return decide_repo(guardrail, &target, repo->path);
}

static void narrow_limits(struct network_limits *limits,
			  const struct network_limits *by)
{
#define X(field, ...)                                                          \
	if (by->field < limits->field)                                         \
		limits->field = by->field;
	NETWORK_LIMITS(X)
#undef X
}

int policy_guard(struct policy *policy, struct policy *guardrail)
{
	struct policy_repo *repos;

	assert(!policy->guardrail && !policy->is_guardrail);
	policy->guardrail = guardrail;
	if (!guardrail)
		return 0;
	repos = arena_array(&policy->arena, policy->repo_count, sizeof(*repos));
	if (!repos)
		return -1;
	for (size_t i = 0; i < policy->repo_count; i++) {
		repos[i] = policy->repos[i];
		repos[i].guard = same_repo(guardrail, &repos[i]);
	}
	policy->repos = repos;
	narrow_limits(&policy->network_limits, &guardrail->network_limits);
	return 0;
}

struct policy *guarded_compile(struct bytes text, struct bytes guardrail,
			       const struct policy_variables *variables,
			       struct policy_errors *errors)
{
	struct policy_errors more = {.out = errors->out, .file = "guardrail"};
	struct policy *policy = policy_compile(text, variables, errors);
	struct policy *guard = NULL;

	if (policy && guardrail.len)
		guard = guardrail_compile(guardrail, variables, &more);
	errors->count += more.count;
	if (!policy)
		return NULL;
	if (policy_guard(policy, guard) == 0 && more.count == 0)
		return policy;
	errors->count += more.count == 0;
	policy_free(policy);
	return NULL;
}

/* ---- both ---- */

/* The stricter of two verdicts on a request; a body is looked at first. */
static struct verdict stricter(struct verdict own, struct verdict guard)
{
	struct verdict verdict = own;

	if (guard.kind == VERDICT_DENY)
		return guard;
	if (own.kind == VERDICT_DENY)
		return own;
	if (own.kind == VERDICT_LOOK || guard.kind == VERDICT_LOOK) {
		verdict = own.kind == VERDICT_LOOK ? own : guard;
		if (guard.look_max > verdict.look_max)
			verdict.look_max = guard.look_max;
		return verdict;
	}
	if (guard.kind == VERDICT_ASK) {
		verdict = guard;
		verdict.by = own.by;
		verdict.credential = own.credential;
	}
	verdict.guard = guard.by;
	return verdict;
}

struct verdict guard_target(const struct policy *policy,
			    const struct target_facts *facts,
			    struct verdict own, struct buf *trace)
{
	struct verdict guard;

	if (!policy->guardrail)
		return own;
	guard = decide_target(policy->guardrail, facts, trace);
	/* Who asks about a tunnel asks about each request where the policy has
	 * none: its own rules, and a name that ECH hides, need the look. */
	if (guard.kind == VERDICT_ASK && own.kind == VERDICT_ALLOW &&
	    !decide_is_tunnel(policy, facts->host)) {
		guard = verdict_allow(guard.rule);
		guard.inspect = true;
	}
	if (guard.kind == VERDICT_ALLOW && guard.inspect && !own.inspect) {
		/* Nobody looks into a tunnel of the policy. */
		if (decide_is_tunnel(policy, facts->host))
			guard = verdict_deny(CONSTRAINT_protocol_not_allowed,
					     guard.rule, guard.reason);
		own.inspect = own.kind == VERDICT_ALLOW;
	}
	return stricter(own, guard);
}

/* The refs that a push names are the git lane's to see. */
static struct verdict ask_repo(const struct policy_repo *repo,
			       enum git_endpoint endpoint)
{
	switch (endpoint) {
	case GIT_ADVERTISE_READ:
	case GIT_UPLOAD_PACK:
		return decide_fetch(repo);
	case GIT_ADVERTISE_WRITE:
	case GIT_RECEIVE_PACK:
		return verdict_deny(CONSTRAINT_push_ref_not_allowed,
				    bytes_str("guardrail/git"),
				    bytes_from(NULL, 0));
	case GIT_NONE:
	case GIT_DUMB:
	case GIT_AMBIGUOUS:
	case GIT_ENDPOINT_MAX:
		break;
	}
	return verdict_deny(CONSTRAINT_git_not_allowed,
			    bytes_str("guardrail/git"), bytes_from(NULL, 0));
}

struct verdict guard_request(const struct policy *policy,
			     const struct request_facts *facts,
			     struct verdict own, struct buf *trace)
{
	struct bytes path;
	enum git_endpoint endpoint;
	const struct policy_repo *repo = NULL;

	if (!policy->guardrail)
		return own;
	endpoint = git_endpoint_of(facts, &path);
	if (endpoint != GIT_NONE)
		repo = decide_repo(policy->guardrail, &facts->target, path);
	if (repo)
		return stricter(own, ask_repo(repo, endpoint));
	return stricter(own, decide_request(policy->guardrail, facts, trace));
}

struct verdict guard_git(const struct policy *policy,
			 const struct request_facts *facts,
			 const struct policy_repo *repo, struct buf *trace)
{
	struct verdict verdict = verdict_allow(repo->url);

	/* The guardrail's own word on it: decide_fetch(), decide_push(). */
	if (!policy->guardrail || repo->guard)
		return verdict;
	verdict = decide_request(policy->guardrail, facts, trace);
	if (verdict.kind != VERDICT_ALLOW)
		verdict.kind = VERDICT_DENY;
	return verdict;
}
