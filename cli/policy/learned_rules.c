/*
 * What was asked for as rules: in the order of those that let it pass, with
 * what these deny and what else they ask for kept where it stands.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli/policy/learned.h"
#include "cli/policy/yaml.h"
#include "common/cleanup.h"
#include "policies/path.h"

/* What is under way. */
struct rules {
	struct learned *learned;
	struct yaml *yaml;
	struct learned_request **items; /* of other files' hash, sorted */
	size_t count;
};

/* ---- order ---- */

static int compare(struct bytes a, struct bytes b)
{
	size_t len = a.len < b.len ? a.len : b.len;
	int order = len ? memcmp(a.data, b.data, len) : 0;

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_numbers(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

/* Requests with one rule are beside each other. */
static int compare_groups(const struct learned_request *a,
			  const struct learned_request *b)
{
	int order = compare_numbers(a->origin, b->origin);

	if (order == 0)
		order = a->was_refused - b->was_refused;
	if (order == 0)
		order = compare(a->host, b->host);
	if (order == 0)
		order = compare_numbers(a->port, b->port);
	if (order == 0)
		order = compare_numbers(a->refused, b->refused);
	if (order == 0)
		order = compare(a->credential, b->credential);
	return order ? order : a->is_websocket - b->is_websocket;
}

static int by_group(const void *a, const void *b)
{
	const struct learned_request *one =
		*(const struct learned_request *const *)a;
	const struct learned_request *two =
		*(const struct learned_request *const *)b;
	int order = compare_groups(one, two);

	if (order == 0)
		order = compare_numbers(one->method, two->method);
	return order ? order : compare(one->path, two->path);
}

/* The same request, whatever was said to it; what passed comes first. */
static int compare_requests(const struct learned_request *a,
			    const struct learned_request *b)
{
	int order = compare(a->host, b->host);

	if (order == 0)
		order = compare_numbers(a->port, b->port);
	if (order == 0)
		order = compare_numbers(a->method, b->method);
	return order ? order : compare(a->path, b->path);
}

static int by_request(const void *a, const void *b)
{
	const struct learned_request *one =
		*(const struct learned_request *const *)a;
	const struct learned_request *two =
		*(const struct learned_request *const *)b;
	int order = compare_requests(one, two);

	return order ? order : two->was_allowed - one->was_allowed;
}

/* ---- what needs no rule of its own ---- */

static bool is_request(const struct learned_request *request)
{
	return request->method < LEARNED_METHOD_MAX;
}

static bool same_target(const struct learned_request *a,
			const struct learned_request *b)
{
	return a->port == b->port && compare(a->host, b->host) == 0;
}

/* The items of one host and port begin with its requests, a tunnel and a
 * connection follow. A tunnel lets all of it pass; a connection says nothing
 * that requests on it do not say. */
static size_t settle_target(struct rules *rules, size_t from, size_t to,
			    size_t kept)
{
	struct learned_request **items = rules->items;
	const struct learned_request *tunnel = NULL, *last = NULL;
	bool has_requests = items[from]->method <= LEARNED_UNSAID;

	for (size_t i = from; i < to; i++)
		if (items[i]->method == LEARNED_TUNNEL)
			tunnel = items[i];
	for (size_t i = from; i < to; i++) {
		struct learned_request *item = items[i];
		bool is_vain =
			item->method == LEARNED_UNSAID ||
			(tunnel && is_request(item) && item->was_allowed);

		if (item->method == LEARNED_CONNECTION)
			is_vain = tunnel || has_requests;
		/* Refused at one time, let pass at another. */
		if (last && !item->was_allowed && last->was_allowed &&
		    compare_requests(last, item) == 0)
			is_vain = true;
		if (item->was_allowed)
			item->was_refused = false;
		if (item->was_allowed)
			item->refused = CONSTRAINT_none;
		last = item;
		if (!is_vain)
			items[kept++] = item;
	}
	return kept;
}

static void settle(struct rules *rules)
{
	size_t kept = 0;

	qsort(rules->items, rules->count, sizeof(*rules->items), by_request);
	for (size_t at = 0; at < rules->count;) {
		size_t to = at;

		while (to < rules->count &&
		       same_target(rules->items[at], rules->items[to]))
			to++;
		kept = settle_target(rules, at, to, kept);
		at = to;
	}
	rules->count = kept;
	qsort(rules->items, rules->count, sizeof(*rules->items), by_group);
}

/* ---- a group: what one kind of rule lets pass ---- */

struct group {
	const struct rules *rules;
	size_t from, to;
	enum learned_method method;
};

/* Does the rule that let them pass let pass all that the pattern means? A
 * glob that matches its '*' as if it were itself does so by a star. */
static bool is_covered(const struct learned *learned, size_t origin,
		       struct bytes pattern)
{
	const struct policy_strings *paths;

	if (origin == LEARNED_NO_ORIGIN)
		return true;
	paths = &learned->source->policy->rules[origin].paths;
	for (size_t i = 0; i < paths->count; i++)
		if (path_matches(paths->items[i], pattern))
			return true;
	return paths->count == 0;
}

/* No pattern may match what another rule let pass, or what was refused. */
static bool is_free(struct bytes pattern, void *owner)
{
	const struct group *group = owner;
	const struct rules *rules = group->rules;
	const struct learned_request *own = rules->items[group->from];

	if (!is_covered(rules->learned, own->origin, pattern))
		return false;
	for (size_t i = 0; i < rules->count; i++) {
		const struct learned_request *item = rules->items[i];

		if (i >= group->from && i < group->to)
			continue;
		if (item->method == group->method && same_target(item, own) &&
		    path_matches_loosely(pattern, item->path))
			return false;
	}
	return true;
}

/* The patterns of one method, appended to out. -1: memory is out. */
static ptrdiff_t add_method(struct group *group, struct learned_path *out)
{
	const struct rules *rules = group->rules;
	size_t count = 0;

	for (size_t i = group->from; i < group->to; i++)
		if (rules->items[i]->method == group->method)
			out[count++] = (struct learned_path){
				.text = rules->items[i]->path,
				.methods = 1U << group->method,
				.seen = 1,
			};
	return learned_generalise(out, count, &rules->learned->arena, is_free,
				  group);
}

static int by_path(const void *a, const void *b)
{
	return compare(((const struct learned_path *)a)->text,
		       ((const struct learned_path *)b)->text);
}

static int by_methods(const void *a, const void *b)
{
	const struct learned_path *one = a;
	const struct learned_path *two = b;
	int order = compare_numbers(one->methods, two->methods);

	return order ? order : compare(one->text, two->text);
}

/* Each path once, with all of its methods; those with the same methods
 * beside each other. */
static size_t merge(struct learned_path *paths, size_t count)
{
	size_t kept = 0;

	qsort(paths, count, sizeof(*paths), by_path);
	for (size_t i = 0; i < count; i++) {
		struct learned_path *last = kept ? &paths[kept - 1] : NULL;

		if (!last || compare(last->text, paths[i].text) != 0) {
			paths[kept++] = paths[i];
			continue;
		}
		last->methods |= paths[i].methods;
		if (paths[i].seen > last->seen)
			last->seen = paths[i].seen;
	}
	qsort(paths, kept, sizeof(*paths), by_methods);
	return kept;
}

/* ---- as text ---- */

/* A rule of the policy that the session ran with. */
static const struct text_node *source_rule(const struct learned *learned,
					   size_t index)
{
	const struct text_node *at =
		learned->source ? text_child(learned->source->root, "network")
				: NULL;

	at = at ? text_child(at, "rules") : NULL;
	at = at ? at->first : NULL;
	while (at && index-- > 0)
		at = at->next;
	return at;
}

static size_t source_count(const struct learned *learned)
{
	const struct text_node *network =
		learned->source ? text_child(learned->source->root, "network")
				: NULL;
	const struct text_node *rules =
		network ? text_child(network, "rules") : NULL;

	return rules ? rules->count : 0;
}

static void put_methods(struct yaml *yaml, unsigned methods)
{
	static const char *const names[LEARNED_METHOD_MAX] = {
		"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS",
	};
	const char *comma = "";

	yaml_put(yaml, "      methods: [");
	for (int i = 0; i < LEARNED_METHOD_MAX; i++) {
		if (!(methods & 1U << i))
			continue;
		yaml_put(yaml, "%s%s", comma, names[i]);
		comma = ", ";
	}
	yaml_put(yaml, "]\n");
}

static void put_paths(struct yaml *yaml, const struct learned_path *paths,
		      size_t count)
{
	yaml_put(yaml, "      paths:\n");
	for (size_t i = 0; i < count; i++) {
		yaml_put(yaml, "        - ");
		yaml_quote(yaml, paths[i].text);
		if (paths[i].seen > 1)
			yaml_put(yaml, " # %zu paths differed here",
				 paths[i].seen);
		yaml_put(yaml, "\n");
	}
}

static void put_credential(struct rules *rules, struct bytes name)
{
	if (name.len == 0)
		return;
	if (!learned_credential(rules->learned, name)) {
		yaml_remark(rules->yaml, 6,
			    "went with a credential that only --policy can "
			    "define: ",
			    name);
		return;
	}
	yaml_put(rules->yaml, "      credential: ");
	yaml_quote(rules->yaml, name);
	yaml_put(rules->yaml, "\n");
}

/* What else the rule asks for that let it pass. */
static void put_conditions(struct rules *rules,
			   const struct learned_request *first)
{
	static const char *const keys[] = {"query", "headers", "body", "rate"};
	const struct text_node *rule =
		first->origin == LEARNED_NO_ORIGIN
			? NULL
			: source_rule(rules->learned, first->origin);
	const struct text_node *websocket =
		rule ? text_child(rule, "websocket") : NULL;

	for (size_t i = 0; rule && i < ARRAY_SIZE(keys); i++)
		if (text_child(rule, keys[i]))
			yaml_node(rules->yaml, 6, text_child(rule, keys[i]));
	if (first->is_websocket && websocket)
		yaml_node(rules->yaml, 6, websocket);
	else if (first->is_websocket)
		yaml_put(rules->yaml,
			 "      websocket: {} # add binary: true where the "
			 "client sends binary messages\n");
}

static void put_head(struct rules *rules, const struct learned_request *first)
{
	struct yaml *yaml = rules->yaml;

	yaml_put(yaml, "    - hosts: [");
	yaml_quote(yaml, first->host);
	yaml_put(yaml, "]");
	if (first->refused != CONSTRAINT_none)
		yaml_put(yaml, " # was refused: %s",
			 constraint_name(first->refused));
	yaml_put(yaml, "\n      ports: [%u]\n", first->port);
}

static void put_rule(struct rules *rules, const struct learned_request *first,
		     const struct learned_path *paths, size_t count)
{
	put_head(rules, first);
	put_methods(rules->yaml, paths[0].methods);
	put_paths(rules->yaml, paths, count);
	put_credential(rules, first->credential);
	put_conditions(rules, first);
	yaml_put(rules->yaml, "      action: allow\n");
}

static void put_tunnel(struct rules *rules, const struct learned_request *first)
{
	if (first->method == LEARNED_CONNECTION && first->was_allowed) {
		learned_note(rules->learned,
			     "connected to, and nothing more is on record: "
			     "%.*s:%u",
			     BYTES_ARGS(first->host), first->port);
		return;
	}
	put_head(rules, first);
	yaml_put(rules->yaml,
		 "      # a connection that nobody looked into: every method "
		 "and path\n"
		 "      action: allow\n");
}

/* The rules of one group. -1: memory is out. */
static int put_group(struct rules *rules, size_t from, size_t to)
{
	auto_free struct learned_path *paths =
		calloc((to - from), sizeof(*paths));
	struct group group = {.rules = rules, .from = from, .to = to};
	size_t count = 0;

	if (!paths)
		return -1;
	for (int method = 0; method < LEARNED_METHOD_MAX; method++) {
		ptrdiff_t added;

		group.method = (enum learned_method)method;
		added = add_method(&group, paths + count);
		if (added < 0)
			return -1;
		count += (size_t)added;
	}
	count = merge(paths, count);
	for (size_t at = 0; at < count;) {
		size_t end = at;

		while (end < count && paths[end].methods == paths[at].methods)
			end++;
		put_rule(rules, rules->items[from], paths + at, end - at);
		at = end;
	}
	for (size_t i = from; i < to; i++)
		if (!is_request(rules->items[i]))
			put_tunnel(rules, rules->items[i]);
	return 0;
}

/* Rules of the policy that deny, from *next up to one. */
static void put_denials(struct rules *rules, size_t *next, size_t to)
{
	const struct policy *policy =
		rules->learned->source ? rules->learned->source->policy : NULL;
	size_t count = source_count(rules->learned);

	for (; *next < to && *next < count; (*next)++)
		if (policy->rules[*next].action == POLICY_DENY)
			yaml_item(rules->yaml, 4,
				  source_rule(rules->learned, *next));
}

static int put_all(struct rules *rules)
{
	size_t next = 0;

	for (size_t at = 0; at < rules->count;) {
		const struct learned_request *first = rules->items[at];
		size_t end = at;

		while (end < rules->count &&
		       compare_groups(first, rules->items[end]) == 0)
			end++;
		put_denials(rules, &next, first->origin);
		if (learned_is_wanted(rules->learned, first) &&
		    put_group(rules, at, end) < 0)
			return -1;
		at = end;
	}
	return 0;
}

int learned_write_rules(struct learned *learned, struct yaml *yaml)
{
	auto_free struct learned_request **items =
		calloc(HASH_COUNT(learned->requests) + 1, sizeof(*items));
	auto_type(buf_release) struct buf text;
	struct yaml inner = {.out = &text};
	struct rules rules = {learned, &inner, items, 0};

	buf_init(&text, POLICY_TEXT_MAX);
	if (!items)
		return -1;
	for (struct learned_request *item = learned->requests; item;
	     item = item->hh.next)
		items[rules.count++] = item;
	settle(&rules);
	if (put_all(&rules) < 0)
		return -1;
	yaml_put(yaml, buf_len(&text) ? "  rules:\n" : "");
	yaml_raw(yaml, buf_view(&text));
	yaml->is_full |= inner.is_full;
	return 0;
}
