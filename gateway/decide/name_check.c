#include "gateway/decide/name_check.h"

#include "gateway/flow/limits.h"

static bool is_short(struct bytes name)
{
	size_t label = 0;

	for (size_t i = 0; i < name.len; i++) {
		label = name.data[i] == '.' ? 0 : label + 1;
		if (label > WILDCARD_LABEL_MAX)
			return false;
	}
	return name.len <= WILDCARD_NAME_MAX;
}

static bool rule_names(const struct policy_rule *rule, struct bytes name)
{
	for (size_t i = 0; i < rule->hosts.count; i++)
		if (bytes_equal(rule->hosts.items[i], name))
			return true;
	return false;
}

bool name_check(const struct policy *policy, struct bytes name)
{
	if (is_short(name))
		return true;
	for (size_t i = 0; i < policy->repo_count; i++)
		if (bytes_equal(policy->repos[i].host, name))
			return true;
	for (size_t i = 0; i < policy->rule_count; i++)
		if (rule_names(&policy->rules[i], name))
			return true;
	return false;
}
