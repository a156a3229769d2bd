#include "policies/decide_rule.h"

#include "policies/decide_body.h"
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
		if (port != 0 &&
		    (rule->ports[i] == port || rule->ports[i] == PORT_ANY))
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

/* Many servers find a path whatever its case (GitHub: owners and names) and
 * its escapes, so what is denied is denied in any. */
static enum holds paths_hold(const struct policy_strings *paths,
			     struct bytes path)
{
	enum holds best = paths->count ? HOLDS_NOT : HOLDS;

	for (size_t i = 0; i < paths->count && best != HOLDS; i++) {
		if (path_matches(paths->items[i], path))
			best = HOLDS;
		else if (path_matches_loosely(paths->items[i], path))
			best = HOLDS_PARTLY;
	}
	return best;
}

enum rule_stage rule_meets_target(const struct policy_rule *rule,
				  const struct target_facts *facts,
				  bool is_host)
{
	/* An index of hosts knows of an address only that a range may have it.
	 */
	if ((!is_host || rule->has_range) &&
	    !any_host(&rule->hosts, facts->host))
		return RULE_HOST;
	return any_port(rule, facts->port) ? RULE_MATCH : RULE_PORT;
}

/* Only who names WebSockets lets one pass; to deny needs no name. */
static bool meets_websocket(const struct policy_rule *rule,
			    const struct request_facts *facts)
{
	return !facts->is_websocket || rule->websocket ||
	       rule->action == POLICY_DENY;
}

bool meeting_add(struct meeting *meeting, const struct policy_rule *rule,
		 enum rule_stage stage, enum holds holds)
{
	bool is_enough = holds == HOLDS || (holds == HOLDS_PARTLY &&
					    rule->action != POLICY_ALLOW);

	if (!is_enough) {
		*meeting = (struct meeting){.stage = stage};
		return false;
	}
	if (holds == HOLDS_PARTLY && rule->action == POLICY_ASK &&
	    !meeting->is_doubtful)
		*meeting = (struct meeting){stage, true};
	return true;
}

/* What of the rule lies beyond host and port. */
static void meet_head(struct meeting *meeting, const struct policy_rule *rule,
		      struct hearing *hearing)
{
	const struct request_facts *facts = hearing->facts;

	if (!any_method(&rule->methods, facts->method))
		meeting->stage = RULE_METHOD;
	else if (meeting_add(meeting, rule, RULE_PATH,
			     paths_hold(&rule->paths, facts->path)) &&
		 meeting_add(meeting, rule, RULE_WEBSOCKET,
			     meets_websocket(rule, facts) ? HOLDS
							  : HOLDS_NOT) &&
		 meeting_add(meeting, rule, RULE_QUERY,
			     query_holds(hearing, &rule->query)))
		(void)meeting_add(meeting, rule, RULE_HEADER,
				  headers_hold(hearing, &rule->headers));
}

/* What was in doubt before the end differs no less at the end. */
static bool is_met(const struct meeting *meeting)
{
	return meeting->stage == RULE_MATCH || meeting->is_doubtful;
}

struct meeting rule_meets_request(const struct policy_rule *rule,
				  struct hearing *hearing, bool is_host)
{
	struct meeting meeting = {
		.stage = rule_meets_target(rule, &hearing->facts->target,
					   is_host)};

	hearing->differs = bytes_from(NULL, 0);
	if (meeting.stage == RULE_MATCH)
		meet_head(&meeting, rule, hearing);
	if (rule->body && is_met(&meeting))
		meet_body(&meeting, rule, hearing);
	return meeting;
}

enum constraint rule_stage_constraint(enum rule_stage stage)
{
	static const enum constraint constraints[RULE_STAGE_MAX] = {
		[RULE_HOST] = CONSTRAINT_host_not_allowed,
		[RULE_PORT] = CONSTRAINT_port_not_allowed,
		[RULE_METHOD] = CONSTRAINT_method_not_allowed,
		[RULE_PATH] = CONSTRAINT_path_not_allowed,
		[RULE_WEBSOCKET] = CONSTRAINT_websocket_not_allowed,
		[RULE_QUERY] = CONSTRAINT_query_not_allowed,
		[RULE_HEADER] = CONSTRAINT_header_not_allowed,
		[RULE_BODY_TOO_LARGE] = CONSTRAINT_body_too_large,
		[RULE_BODY_UNREADABLE] = CONSTRAINT_body_unreadable,
		[RULE_BODY] = CONSTRAINT_body_not_allowed,
		[RULE_GRAPHQL] = CONSTRAINT_graphql_not_allowed,
		[RULE_SECRET] = CONSTRAINT_secret_in_body,
		[RULE_LOOK] = CONSTRAINT_body_unreadable,
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
		enum rule_stage stage, struct bytes detail)
{
	static const char *const words[RULE_STAGE_MAX] = {
		[RULE_HOST] = "another host",
		[RULE_PORT] = "another port",
		[RULE_METHOD] = "another method",
		[RULE_PATH] = "another path",
		[RULE_WEBSOCKET] = "allows no WebSocket",
		[RULE_QUERY] = "another query",
		[RULE_HEADER] = "another header",
		[RULE_BODY_TOO_LARGE] = "a body that is too large",
		[RULE_BODY_UNREADABLE] = "a body that cannot be read",
		[RULE_BODY] = "another body",
		[RULE_GRAPHQL] = "another GraphQL operation",
		[RULE_SECRET] = "a secret in the body",
		[RULE_LOOK] = "the body must be seen first",
		[RULE_MATCH] = "matches",
	};
	static const char *const actions[] = {
		[POLICY_DENY] = "deny",
		[POLICY_ALLOW] = "allow",
		[POLICY_ASK] = "ask",
	};
	const char *more = stage == RULE_MATCH ? actions[rule->action] : NULL;

	/* A trace that is full is cut short: it decides nothing. */
	if (!trace)
		return;
	if (more)
		detail = bytes_str(more);
	(void)buf_add_format(trace, "%.*s: %s%s%.*s\n", BYTES_ARGS(rule->name),
			     words[stage], detail.len ? ": " : "",
			     BYTES_ARGS(detail));
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

struct verdict verdict_by(const struct policy_rule *rule)
{
	struct verdict verdict = {
		.rule = rule->name, .reason = rule->reason, .by = rule};

	switch (rule->action) {
	case POLICY_ALLOW:
		verdict.kind = VERDICT_ALLOW;
		verdict.reason = bytes_from(NULL, 0);
		break;
	case POLICY_ASK:
		verdict.kind = VERDICT_ASK;
		verdict.constraint = CONSTRAINT_approval_pending;
		verdict.hold_ms = rule->hold_ms;
		break;
	case POLICY_DENY:
		verdict.kind = VERDICT_DENY;
		verdict.constraint = CONSTRAINT_denied_by_rule;
		break;
	}
	return verdict;
}

/* As a last rule {hosts: ["*"], action: ask} would. */
static bool asks_by_default(const struct policy *policy,
			    const struct target_facts *facts)
{
	static const struct bytes any = BYTES_LITERAL("*");

	return policy->fallback == POLICY_ASK &&
	       host_matches(any, facts->host) &&
	       (facts->port == 443 || facts->port == 80);
}

struct verdict verdict_default(const struct policy *policy,
			       const struct target_facts *facts,
			       enum rule_stage closest, struct buf *trace)
{
	const struct bytes name = bytes_str(
		policy->is_guardrail ? "guardrail/default" : "default");
	struct verdict verdict = verdict_deny(rule_stage_constraint(closest),
					      name, bytes_from(NULL, 0));

	if (closest == RULE_WEBSOCKET || !asks_by_default(policy, facts)) {
		trace_add(trace, name, "deny");
		return verdict;
	}
	trace_add(trace, name, "ask");
	verdict.kind = VERDICT_ASK;
	verdict.constraint = CONSTRAINT_approval_pending;
	verdict.hold_ms = POLICY_HOLD_DEFAULT_MS;
	return verdict;
}
