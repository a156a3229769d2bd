#include "gateway/decide/name_check.h"

#include <math.h>

#include "common/entropy.h"
#include "gateway/flow/limits.h"
#include "policies/host.h"
#include "policies/rule_index.h"

static bool is_named(const struct policy *policy, struct bytes name)
{
	for (size_t i = 0; i < policy->repo_count; i++)
		if (bytes_equal(policy->repos[i].host, name))
			return true;
	return rules_name_host(policy, name);
}

/* The bytes of the longest wildcard's suffix that name has, with its dot. */
static size_t fixed_len(const struct policy *policy, struct bytes name)
{
	const struct policy_rule *rule;
	struct candidates candidates;
	size_t longest = 0;

	candidates_init(&candidates, policy, name, false);
	while ((rule = candidates_next(&candidates))) {
		if (rule->action == POLICY_DENY)
			continue;
		for (size_t j = 0; j < rule->hosts.count; j++) {
			struct bytes host = rule->hosts.items[j];

			/* "*.a.b" is longer than ".a.b" by its star. */
			if (host.len > longest + 1 && host.data[0] == '*' &&
			    host_matches(host, name))
				longest = host.len - 1;
		}
	}
	return longest;
}

static struct bytes open_part(const struct policy *policy, struct bytes name)
{
	return bytes_slice(name, 0, name.len - fixed_len(policy, name));
}

static bool is_short(struct bytes name)
{
	struct bytes label;

	if (name.len > WILDCARD_NAME_MAX)
		return false;
	while (name.len > 0) {
		(void)bytes_split(&name, '.', &label);
		if (label.len > WILDCARD_LABEL_MAX)
			return false;
	}
	return true;
}

static bool is_like_words(struct bytes name, uint64_t label_bits_max)
{
	struct bytes label;

	while (name.len > 0) {
		(void)bytes_split(&name, '.', &label);
		if (entropy_bits(label) > (double)label_bits_max)
			return false;
	}
	return true;
}

const char *name_fault(const struct policy *policy, struct bytes name)
{
	if (is_named(policy, name))
		return NULL;
	if (!is_short(name))
		return "a name that a wildcard allows may have labels of 48 "
		       "bytes and 128 bytes in all";
	if (!is_like_words(open_part(policy, name),
			   policy->network_limits.wildcard_label_bits))
		return "a label below a wildcard may not look like data: it "
		       "has more entropy than wildcard-label-bits";
	return NULL;
}

unsigned name_bits(const struct policy *policy, struct bytes name)
{
	double bits;

	if (is_named(policy, name))
		return 0;
	bits = ceil(entropy_bits(open_part(policy, name)));
	return bits > NAME_BITS_MIN ? (unsigned)bits : NAME_BITS_MIN;
}
