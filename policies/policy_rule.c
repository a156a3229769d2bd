#include "policies/policy_rule.h"

bool rule_is_conditional(const struct policy_rule *rule)
{
	return rule->methods.count || rule->paths.count || rule->query.count ||
	       rule->headers.count || rule->body || rule->credential.len;
}

static bool has_rate(const struct policy_rate *rate)
{
	return rate->requests.count || rate->upload.count ||
	       rate->download.count;
}

bool rule_looks_inside(const struct policy_rule *rule)
{
	return rule_is_conditional(rule) || rule->websocket ||
	       rule->action == POLICY_ASK || has_rate(&rule->rate);
}
