/*
 * Two credentials for one request: nobody could say which one goes out.
 */
#include "policies/compile_attach.h"
#include "policies/decide.h"

static bool is_named(const struct policy *policy, struct bytes name)
{
	for (size_t i = 0; i < policy->rule_count; i++)
		if (bytes_equal(policy->rules[i].credential, name))
			return true;
	for (size_t i = 0; i < policy->repo_count; i++)
		if (bytes_equal(policy->repos[i].credential, name))
			return true;
	return false;
}

static void check_pair(struct compile *compile, const struct text_node *node,
		       const struct policy_credential *one,
		       const struct policy_credential *two)
{
	const struct policy *policy = compile->policy;

	if (!credential_meets(one, two) ||
	    (is_named(policy, one->name) && is_named(policy, two->name)))
		return;
	text_error(&compile->reader.source, node->at,
		   "one request could be of both \"%.*s\" and \"%.*s\": name "
		   "each in a rule, or part them by hosts, ports, methods or "
		   "paths",
		   BYTES_ARGS(one->name), BYTES_ARGS(two->name));
}

void compile_bindings(struct compile *compile, const struct text_node *node)
{
	const struct policy *policy = compile->policy;
	const struct text_node *item = node ? node->first : NULL;

	for (size_t i = 0; item && i < policy->credential_count; i++) {
		const struct text_node *hosts = text_child(item, "hosts");

		for (size_t j = 0; hosts && j < i; j++)
			check_pair(compile, hosts, &policy->credentials[j],
				   &policy->credentials[i]);
		item = item->next;
	}
}
