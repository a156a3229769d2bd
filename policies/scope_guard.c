#include "policies/scope_guard.h"

#include "policies/compile.h"
#include "policies/decide.h"
#include "policies/host_range.h"
#include "policies/ref.h"

/* Pairs of entries that are compared. */
#define PAIRS_MAX (UINT64_C(1) << 26)

/* ---- hosts ---- */

/* Where the pattern is one host and port, the guardrail's own word decides. */
static bool is_denied(const struct policy *guardrail,
		      const struct scope_host *host)
{
	const struct target_facts facts = {host->pattern, host->port};

	return host->pattern.len && host->pattern.data[0] != '*' &&
	       !host_is_range(host->pattern) && host->port != PORT_ANY &&
	       decide_target(guardrail, &facts, NULL).kind == VERDICT_DENY;
}

/* Of two host patterns that meet, one covers the other. */
static bool meet_hosts(const struct scope_host *one,
		       const struct scope_host *two, struct scope_host *both)
{
	if (one->port != two->port && one->port != PORT_ANY &&
	    two->port != PORT_ANY)
		return false;
	if (pattern_covers(two->pattern, one->pattern))
		*both = *one;
	else if (pattern_covers(one->pattern, two->pattern))
		*both = *two;
	else
		return false;
	both->port = one->port == PORT_ANY ? two->port : one->port;
	return true;
}

static bool has_host(const struct scope_host *hosts, size_t count,
		     const struct scope_host *host)
{
	for (size_t i = 0; i < count; i++)
		if (hosts[i].port == host->port &&
		    bytes_equal(hosts[i].pattern, host->pattern))
			return true;
	return false;
}

/* What of one host the guardrail leaves, appended. -1: too many. */
static int add_host(const struct scope_host *host, const struct scope *guard,
		    const struct policy *guardrail, struct scope_host *out,
		    size_t *count)
{
	struct scope_host both;
	size_t first = *count;

	for (size_t i = 0; i < guard->hosts_count; i++) {
		if (!meet_hosts(host, &guard->hosts[i], &both) ||
		    is_denied(guardrail, &both) ||
		    has_host(out + first, *count - first, &both))
			continue;
		if (*count == SCOPE_HOSTS_MAX)
			return -1;
		out[(*count)++] = both;
	}
	return 0;
}

static int narrow_hosts(const struct scope_host **hosts, size_t *count,
			const struct scope *guard,
			const struct policy *guardrail, struct arena *arena)
{
	size_t room = *count * (guard->hosts_count + 1);
	struct scope_host *out;
	size_t kept = 0;

	if (room > PAIRS_MAX)
		return -1;
	if (room > SCOPE_HOSTS_MAX)
		room = SCOPE_HOSTS_MAX;
	out = arena_array(arena, room, sizeof(*out));
	if (!out)
		return -1;
	for (size_t i = 0; i < *count; i++)
		if (add_host(&(*hosts)[i], guard, guardrail, out, &kept))
			return -1;
	*hosts = out;
	*count = kept;
	return 0;
}

/* ---- refs ---- */

/* By its look: equal, a name that matches, or what lies below "a/" of
 * "a/" and two stars. */
static bool ref_covers(struct bytes outer, struct bytes inner)
{
	static const struct bytes stars = BYTES_LITERAL("**");
	struct bytes start;

	if (bytes_find(inner, '*', 0) < 0)
		return ref_matches(outer, inner);
	if (bytes_equal(outer, inner) || bytes_equal(outer, stars))
		return true;
	start = bytes_slice(outer, 0, outer.len - stars.len);
	return bytes_ends_with(outer, stars) && start.len &&
	       start.data[start.len - 1] == '/' &&
	       bytes_find(start, '*', 0) < 0 && bytes_starts_with(inner, start);
}

static int narrow_texts(const struct scope_text **texts, size_t *count,
			const struct policy_strings *guard, struct arena *arena)
{
	struct scope_text *out =
		arena_array(arena, *count * guard->count, sizeof(*out));
	size_t kept = 0;

	if (!out)
		return -1;
	for (size_t i = 0; i < *count; i++)
		for (size_t j = 0; j < guard->count; j++) {
			struct bytes own = (*texts)[i].text;

			if (kept < POLICY_LIST_MAX &&
			    ref_covers(guard->items[j], own))
				out[kept++].text = own;
			else if (kept < POLICY_LIST_MAX &&
				 ref_covers(own, guard->items[j]))
				out[kept++].text = guard->items[j];
		}
	*texts = out;
	*count = kept;
	return 0;
}

static int narrow_repo(struct scope_repo *repo, const struct policy_repo *guard,
		       struct arena *arena)
{
	repo->read = repo->read && guard->read;
	repo->verbs &= (uint8_t)guard->verbs;
	repo->has_options = repo->has_options && guard->options.count > 0;
	if (narrow_texts(&repo->branches, &repo->branches_count,
			 &guard->branches, arena))
		return -1;
	return narrow_texts(&repo->tags, &repo->tags_count, &guard->tags,
			    arena);
}

static int narrow_repos(struct scope *scope, const struct policy *policy,
			struct arena *arena)
{
	struct scope_repo *out =
		arena_array(arena, scope->repos_count, sizeof(*out));

	if (!out)
		return -1;
	/* They stand in the policy's order. */
	for (size_t i = 0; i < scope->repos_count; i++) {
		out[i] = scope->repos[i];
		if (policy->repos[i].guard &&
		    narrow_repo(&out[i], policy->repos[i].guard, arena))
			return -1;
	}
	scope->repos = out;
	return 0;
}

/* ---- addresses ---- */

static bool range_covers(const struct scope_range *outer,
			 const struct scope_range *inner)
{
	size_t whole = outer->prefix / 8;
	uint8_t mask = (uint8_t)(0xff00 >> outer->prefix % 8);

	if (outer->prefix > inner->prefix ||
	    memcmp(outer->address.data, inner->address.data, whole) != 0)
		return false;
	return outer->prefix % 8 == 0 ||
	       ((outer->address.data[whole] ^ inner->address.data[whole]) &
		mask) == 0;
}

/* Exceptions of both, denials of either. */
static int narrow_addresses(struct scope *scope, const struct scope *guard,
			    struct arena *arena)
{
	struct scope_range *deny = arena_array(
		arena, scope->deny_count + guard->deny_count, sizeof(*deny));
	size_t pairs = scope->allow_count * guard->allow_count;
	struct scope_range *allow = NULL;
	size_t kept = 0;

	if (pairs <= POLICY_LIST_MAX)
		allow = arena_array(arena, pairs, sizeof(*allow));
	if (!deny || !allow ||
	    scope->deny_count + guard->deny_count > POLICY_LIST_MAX)
		return -1;
	for (size_t i = 0; i < scope->deny_count; i++)
		deny[i] = scope->deny[i];
	for (size_t i = 0; i < guard->deny_count; i++)
		deny[scope->deny_count + i] = guard->deny[i];
	for (size_t i = 0; i < scope->allow_count; i++)
		for (size_t j = 0; j < guard->allow_count; j++) {
			if (range_covers(&guard->allow[j], &scope->allow[i]))
				allow[kept++] = scope->allow[i];
			else if (range_covers(&scope->allow[i],
					      &guard->allow[j]))
				allow[kept++] = guard->allow[j];
		}
	scope->deny = deny;
	scope->deny_count += guard->deny_count;
	scope->deny_classes |= guard->deny_classes;
	scope->allow = allow;
	scope->allow_count = kept;
	return 0;
}

/* ---- all ---- */

int scope_narrow(struct scope *scope, const struct scope *guard,
		 const struct policy *policy, struct arena *arena)
{
	const struct policy *guardrail = policy->guardrail;
	struct scope_binding *bindings =
		arena_array(arena, scope->bindings_count, sizeof(*bindings));

	if (!bindings || narrow_hosts(&scope->hosts, &scope->hosts_count, guard,
				      guardrail, arena))
		return -1;
	for (size_t i = 0; i < scope->bindings_count; i++) {
		bindings[i] = scope->bindings[i];
		if (narrow_hosts(&bindings[i].hosts, &bindings[i].hosts_count,
				 guard, guardrail, arena))
			return -1;
	}
	scope->bindings = bindings;
	if (narrow_repos(scope, policy, arena))
		return -1;
	return narrow_addresses(scope, guard, arena);
}
