#include "policies/decide_rule.h"

#include "policies/host.h"
#include "policies/path.h"

static bool any_host(const struct policy_strings *hosts, struct bytes host)
{
	for (size_t i = 0; i < hosts->count; i++)
		if (host_matches(hosts->items[i], host))
			return true;
	return hosts->count == 0;
}

static bool any_port(const struct policy_rule *rule, uint16_t port)
{
	for (size_t i = 0; i < rule->port_count; i++)
		if (rule->ports[i] == port)
			return true;
	return rule->port_count == 0 && (port == 443 || port == 80);
}

static bool any_method(const struct policy_strings *methods, struct bytes name)
{
	for (size_t i = 0; i < methods->count; i++)
		if (bytes_equal(methods->items[i], name))
			return true;
	return methods->count == 0;
}

/* Many servers find a path whatever its case (GitHub: owners and names), so
 * what is denied is denied in any. */
static bool any_path(const struct policy_rule *rule, struct bytes path)
{
	const struct policy_strings *paths = &rule->paths;
	bool (*match)(struct bytes, struct bytes) =
		rule->action == POLICY_DENY ? path_matches_nocase
					    : path_matches;

	for (size_t i = 0; i < paths->count; i++)
		if (match(paths->items[i], path))
			return true;
	return paths->count == 0;
}

enum rule_stage rule_meets_target(const struct policy_rule *rule,
				  const struct target_facts *facts,
				  bool is_host)
{
	if (!is_host && !any_host(&rule->hosts, facts->host))
		return RULE_HOST;
	return any_port(rule, facts->port) ? RULE_MATCH : RULE_PORT;
}

enum rule_stage rule_meets_request(const struct policy_rule *rule,
				   const struct request_facts *facts,
				   bool is_host)
{
	enum rule_stage stage =
		rule_meets_target(rule, &facts->target, is_host);

	if (stage != RULE_MATCH)
		return stage;
	if (!any_method(&rule->methods, facts->method))
		return RULE_METHOD;
	return any_path(rule, facts->path) ? RULE_MATCH : RULE_PATH;
}

bool rule_is_conditional(const struct policy_rule *rule)
{
	return rule->methods.count || rule->paths.count || rule->credential.len;
}

enum constraint rule_stage_constraint(enum rule_stage stage)
{
	static const enum constraint constraints[RULE_STAGE_MAX] = {
		[RULE_HOST] = CONSTRAINT_host_not_allowed,
		[RULE_PORT] = CONSTRAINT_port_not_allowed,
		[RULE_METHOD] = CONSTRAINT_method_not_allowed,
		[RULE_PATH] = CONSTRAINT_path_not_allowed,
		[RULE_MATCH] = CONSTRAINT_none,
	};

	return constraints[stage];
}

void trace_add(struct buf *trace, struct bytes name, const char *words)
{
	/* A trace that is full is cut short: it decides nothing. */
	if (trace)
		(void)buf_add_format(trace, "%.*s: %s\n", BYTES_ARGS(name),
				     words);
}

void trace_rule(struct buf *trace, const struct policy_rule *rule,
		enum rule_stage stage)
{
	static const char *const words[RULE_STAGE_MAX] = {
		[RULE_HOST] = "another host",	  [RULE_PORT] = "another port",
		[RULE_METHOD] = "another method", [RULE_PATH] = "another path",
		[RULE_MATCH] = "matches",
	};

	if (!trace)
		return;
	if (stage != RULE_MATCH)
		trace_add(trace, rule->name, words[stage]);
	else if (rule->action == POLICY_ALLOW)
		trace_add(trace, rule->name, "matches: allow");
	else
		trace_add(trace, rule->name, "matches: deny");
}

struct verdict verdict_allow(struct bytes rule)
{
	return (struct verdict){.kind = VERDICT_ALLOW, .rule = rule};
}

struct verdict verdict_deny(enum constraint constraint, struct bytes rule,
			    struct bytes reason)
{
	return (struct verdict){.kind = VERDICT_DENY,
				.constraint = constraint,
				.rule = rule,
				.reason = reason};
}

struct verdict verdict_default(enum rule_stage closest, struct buf *trace)
{
	static const struct bytes name = BYTES_LITERAL("default");

	trace_add(trace, name, "deny");
	return verdict_deny(rule_stage_constraint(closest), name,
			    bytes_from(NULL, 0));
}
