#include "policies/rule_index.h"

#include <assert.h>
#include <stdlib.h>

#include "policies/host.h"
#include "policies/host_range.h"

enum entry_kind { ANY_HOST, ANY_NAME, ANY_RANGE, EXACT, SUFFIX };

struct rule_index_entry {
	enum entry_kind kind;
	uint32_t rule;
	struct bytes text; /* exact: the host; suffix: ".a.b" */
};

/* ---- building ---- */

static int compare_keys(const struct rule_index_entry *a,
			const struct rule_index_entry *b)
{
	size_t len = a->text.len < b->text.len ? a->text.len : b->text.len;
	int order;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	order = len ? memcmp(a->text.data, b->text.data, len) : 0;
	return order ? order
		     : (a->text.len > b->text.len) -
			       (a->text.len < b->text.len);
}

static int compare_entries(const void *a, const void *b)
{
	const struct rule_index_entry *one = a;
	const struct rule_index_entry *two = b;
	int order = compare_keys(one, two);

	return order ? order
		     : (one->rule > two->rule) - (one->rule < two->rule);
}

static struct rule_index_entry entry_of(struct bytes pattern, uint32_t rule)
{
	struct rule_index_entry entry = {EXACT, rule, pattern};

	if (host_is_range(pattern))
		return (struct rule_index_entry){ANY_RANGE, rule, {NULL, 0}};
	if (pattern.data[0] != '*')
		return entry;
	entry.kind = pattern.len == 1 ? ANY_NAME : SUFFIX;
	entry.text = bytes_slice(pattern, 1, pattern.len);
	return entry;
}

/* One entry a host; a rule without hosts has one. */
static size_t count_entries(const struct policy *policy)
{
	size_t count = 0;

	for (size_t i = 0; i < policy->rule_count; i++)
		count += policy->rules[i].hosts.count
				 ? policy->rules[i].hosts.count
				 : 1;
	return count;
}

static void fill(const struct policy *policy, struct rule_index_entry *entries)
{
	size_t at = 0;

	for (uint32_t i = 0; i < policy->rule_count; i++) {
		const struct policy_strings *hosts = &policy->rules[i].hosts;

		if (hosts->count == 0)
			entries[at++] = (struct rule_index_entry){
				ANY_HOST, i, {NULL, 0}};
		for (size_t j = 0; j < hosts->count; j++)
			entries[at++] = entry_of(hosts->items[j], i);
	}
}

int rule_index_build(struct policy *policy)
{
	size_t count = count_entries(policy);
	struct rule_index_entry *entries;
	struct rule_index *index;

	if (count < RULE_INDEX_MIN)
		return 0;
	entries = arena_array(&policy->arena, count, sizeof(*entries));
	index = arena_alloc(&policy->arena, sizeof(*index));
	if (!entries || !index)
		return -1;
	assert(count <= UINT32_MAX);
	fill(policy, entries);
	qsort(entries, count, sizeof(*entries), compare_entries);
	index->entries = entries;
	index->count = (uint32_t)count;
	policy->index = index;
	return 0;
}

/* ---- asking ---- */

/* The first entry that is not before key (or, past, that is after it). */
static uint32_t bound(const struct rule_index *index,
		      const struct rule_index_entry *key, bool past)
{
	uint32_t from = 0;
	uint32_t to = index->count;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;
		int order = compare_keys(&index->entries[middle], key);

		if (order < 0 || (past && order == 0))
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static bool hosts_have(const struct policy_strings *hosts, struct bytes host)
{
	for (size_t i = 0; i < hosts->count; i++)
		if (bytes_equal(hosts->items[i], host))
			return true;
	return false;
}

bool rules_name_host(const struct policy *policy, struct bytes host)
{
	const struct rule_index_entry key = {EXACT, 0, host};
	const struct rule_index *index = policy->index;

	if (index) {
		uint32_t found = bound(index, &key, false);

		return found < index->count &&
		       compare_keys(&index->entries[found], &key) == 0;
	}
	for (size_t i = 0; i < policy->rule_count; i++)
		if (hosts_have(&policy->rules[i].hosts, host))
			return true;
	return false;
}

static void add_run(struct candidates *candidates, enum entry_kind kind,
		    struct bytes text)
{
	const struct rule_index *index = candidates->policy->index;
	const struct rule_index_entry key = {kind, 0, text};
	struct rule_run run;

	run.next = bound(index, &key, false);
	if (run.next == index->count ||
	    compare_keys(&index->entries[run.next], &key) != 0)
		return;
	run.end = bound(index, &key, true);
	/* Patterns that match one host are each other's suffixes. */
	assert(candidates->run_count < RULE_RUNS_MAX);
	candidates->runs[candidates->run_count++] = run;
}

void candidates_init(struct candidates *candidates, const struct policy *policy,
		     struct bytes host, bool all)
{
	static const struct bytes any = BYTES_LITERAL("*");
	static const struct bytes empty = {NULL, 0};

	candidates->policy = policy;
	candidates->is_indexed = policy->index && !all;
	candidates->next = 0;
	candidates->run_count = 0;
	if (!candidates->is_indexed)
		return;
	add_run(candidates, ANY_HOST, empty);
	if (host_matches(any, host))
		add_run(candidates, ANY_NAME, empty);
	else
		add_run(candidates, ANY_RANGE, empty);
	add_run(candidates, EXACT, host);
	for (ptrdiff_t dot = bytes_find(host, '.', 1); dot >= 0;
	     dot = bytes_find(host, '.', (size_t)dot + 1))
		add_run(candidates, SUFFIX,
			bytes_slice(host, (size_t)dot, host.len));
}

/* The rule that a run is at; UINT32_MAX when it is over. */
static uint32_t rule_at(const struct rule_index *index,
			const struct rule_run *run)
{
	return run->next < run->end ? index->entries[run->next].rule
				    : UINT32_MAX;
}

/* The least rule that a run is at; all runs that are there go on. */
static const struct policy_rule *next_indexed(struct candidates *candidates)
{
	const struct rule_index *index = candidates->policy->index;
	uint32_t least = UINT32_MAX;

	for (size_t i = 0; i < candidates->run_count; i++) {
		uint32_t rule = rule_at(index, &candidates->runs[i]);

		if (rule < least)
			least = rule;
	}
	if (least == UINT32_MAX)
		return NULL;
	for (size_t i = 0; i < candidates->run_count; i++)
		while (rule_at(index, &candidates->runs[i]) == least)
			candidates->runs[i].next++;
	return &candidates->policy->rules[least];
}

const struct policy_rule *candidates_next(struct candidates *candidates)
{
	const struct policy *policy = candidates->policy;

	if (candidates->is_indexed)
		return next_indexed(candidates);
	if (candidates->next == policy->rule_count)
		return NULL;
	return &policy->rules[candidates->next++];
}
