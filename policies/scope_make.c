#include <stdlib.h>

#include "common/cleanup.h"
#include "policies/scope_guard.h"

static const uint16_t default_ports[] = {443, 80};

/* A growing list of hosts, in a fixed array. */
struct host_list {
	struct scope_host *hosts;
	size_t count;
};

static void add_host(struct host_list *list, struct bytes pattern,
		     uint16_t port)
{
	list->hosts[list->count++] = (struct scope_host){pattern, port};
}

static size_t port_count(const struct policy_rule *rule)
{
	return rule->port_count ? rule->port_count : ARRAY_SIZE(default_ports);
}

/* A credential never goes to port 80 because nobody said a port. */
static void add_rule(struct host_list *list, const struct policy_rule *rule,
		     bool with_credential)
{
	const uint16_t *ports = rule->port_count ? rule->ports : default_ports;
	size_t count =
		rule->port_count || !with_credential ? port_count(rule) : 1;

	for (size_t i = 0; i < rule->hosts.count; i++)
		for (size_t j = 0; j < count; j++)
			add_host(list, rule->hosts.items[i], ports[j]);
}

static int compare_hosts(const void *a, const void *b)
{
	const struct scope_host *one = a;
	const struct scope_host *two = b;
	size_t len = one->pattern.len < two->pattern.len ? one->pattern.len
							 : two->pattern.len;
	int order = len ? memcmp(one->pattern.data, two->pattern.data, len) : 0;

	if (order == 0)
		order = (one->pattern.len > two->pattern.len) -
			(one->pattern.len < two->pattern.len);
	return order ? order : one->port - two->port;
}

/* Sort, and drop what stands there twice. */
static void settle(struct host_list *list)
{
	size_t kept = 0;

	if (list->count)
		qsort(list->hosts, list->count, sizeof(list->hosts[0]),
		      compare_hosts);
	for (size_t i = 0; i < list->count; i++)
		if (i == 0 ||
		    compare_hosts(&list->hosts[i], &list->hosts[kept - 1]) != 0)
			list->hosts[kept++] = list->hosts[i];
	list->count = kept;
}

/* The hosts of rules that allow or ask and of repositories: all, or with one
 * credential. -1: too many. */
static int make_hosts(const struct policy *policy, struct bytes credential,
		      struct arena *arena, struct host_list *list)
{
	static const struct bytes any = BYTES_LITERAL("*");
	size_t max = policy->repo_count + ARRAY_SIZE(default_ports);

	for (size_t i = 0; i < policy->repo_count; i++)
		max += policy->repos[i].lfs_hosts.count;
	for (size_t i = 0; i < policy->rule_count; i++)
		max += policy->rules[i].hosts.count *
		       port_count(&policy->rules[i]);
	list->count = 0;
	list->hosts = arena_array(arena, max, sizeof(list->hosts[0]));
	if (!list->hosts)
		return -1;
	for (size_t i = 0; i < policy->rule_count; i++) {
		const struct policy_rule *rule = &policy->rules[i];

		/* What is asked about may be allowed later. */
		if (rule->action != POLICY_DENY &&
		    (!credential.len ||
		     bytes_equal(rule->credential, credential)))
			add_rule(list, rule, credential.len > 0);
	}
	for (size_t i = 0; i < policy->repo_count; i++) {
		const struct policy_repo *repo = &policy->repos[i];

		if (!credential.len ||
		    bytes_equal(repo->credential, credential))
			add_host(list, repo->host, repo->port);
		/* No credential goes there. */
		for (size_t j = 0; !credential.len && j < repo->lfs_hosts.count;
		     j++)
			add_host(list, repo->lfs_hosts.items[j],
				 repo->lfs_port);
	}
	if (policy->fallback == POLICY_ASK && !credential.len)
		for (size_t i = 0; i < ARRAY_SIZE(default_ports); i++)
			add_host(list, any, default_ports[i]);
	settle(list);
	return list->count <= SCOPE_HOSTS_MAX ? 0 : -1;
}

static int make_texts(const struct policy_strings *strings, struct arena *arena,
		      const struct scope_text **texts, size_t *count)
{
	struct scope_text *array =
		arena_array(arena, strings->count, sizeof(*array));

	if (!array)
		return -1;
	for (size_t i = 0; i < strings->count; i++)
		array[i].text = strings->items[i];
	*texts = array;
	*count = strings->count;
	return 0;
}

/* Where the credential itself says so, on its ports alone. */
static void keep_ports(const struct policy_credential *credential,
		       struct host_list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++)
		for (size_t j = 0; j < credential->port_count; j++)
			if (list->hosts[i].port == credential->ports[j]) {
				list->hosts[kept++] = list->hosts[i];
				break;
			}
	if (credential->port_count)
		list->count = kept;
}

static int make_binding(const struct policy *policy,
			const struct policy_credential *from,
			struct arena *arena, struct scope_binding *binding)
{
	struct host_list list;

	if (make_hosts(policy, from->name, arena, &list))
		return -1;
	keep_ports(from, &list);
	*binding = (struct scope_binding){
		.name = from->name,
		.secret = from->secret,
		.attach = (uint8_t)from->attach,
		.username = from->username,
		.scrub = (uint8_t)from->scrub,
		.hosts = list.hosts,
		.hosts_count = list.count,
		.field = from->field,
		.prefix = from->prefix,
		.suffix = from->suffix,
		.region = from->region,
		.service = from->service,
		.may_be_unsigned = from->may_be_unsigned,
		.shape = (uint8_t)from->shape,
		.places = (uint8_t)from->places,
		.placeholder = from->placeholder_text,
	};
	if (make_texts(&from->methods, arena, &binding->methods,
		       &binding->methods_count))
		return -1;
	return make_texts(&from->paths, arena, &binding->paths,
			  &binding->paths_count);
}

static int make_bindings(const struct policy *policy, struct arena *arena,
			 struct scope *scope)
{
	struct scope_binding *bindings =
		arena_array(arena, policy->credential_count, sizeof(*bindings));

	if (!bindings)
		return -1;
	scope->bindings = bindings;
	scope->bindings_count = policy->credential_count;
	for (size_t i = 0; i < policy->credential_count; i++)
		if (make_binding(policy, &policy->credentials[i], arena,
				 &bindings[i]))
			return -1;
	return 0;
}

static int make_repos(const struct policy *policy, struct arena *arena,
		      struct scope *scope)
{
	struct scope_repo *repos =
		arena_array(arena, policy->repo_count, sizeof(*repos));

	if (!repos)
		return -1;
	scope->repos = repos;
	scope->repos_count = policy->repo_count;
	for (size_t i = 0; i < policy->repo_count; i++) {
		const struct policy_repo *from = &policy->repos[i];

		repos[i] = (struct scope_repo){
			.host = from->host,
			.port = from->port,
			.path = from->path,
			.ignores_case = from->ignores_case,
			.credential = from->credential,
			.read = from->read,
			.verbs = (uint8_t)from->verbs,
			.has_options = from->options.count > 0,
		};
		if (make_texts(&from->branches, arena, &repos[i].branches,
			       &repos[i].branches_count) ||
		    make_texts(&from->tags, arena, &repos[i].tags,
			       &repos[i].tags_count))
			return -1;
	}
	return 0;
}

static int make_ranges(const struct policy_range *from, size_t count,
		       struct arena *arena, const struct scope_range **ranges,
		       size_t *ranges_count)
{
	struct scope_range *array = arena_array(arena, count, sizeof(*array));

	if (!array)
		return -1;
	for (size_t i = 0; i < count; i++)
		array[i] = (struct scope_range){
			.address = bytes_from(from[i].address,
					      sizeof(from[i].address)),
			.prefix = from[i].prefix,
		};
	*ranges = array;
	*ranges_count = count;
	return 0;
}

static int make_scope(const struct policy *policy, struct arena *arena,
		      struct scope *scope, struct err *err)
{
	const struct policy_addresses *addresses = &policy->addresses;
	struct host_list list;

	*scope = (struct scope){
		.deny_classes = addresses->deny_classes,
		.signs = policy->sign.is_on,
		.sign_secret = policy->sign.secret,
		.sign_name = policy->sign.name,
		.sign_email = policy->sign.email,
	};
	if (make_hosts(policy, bytes_from(NULL, 0), arena, &list) ||
	    make_bindings(policy, arena, scope) ||
	    make_repos(policy, arena, scope) ||
	    make_ranges(addresses->deny, addresses->deny_count, arena,
			&scope->deny, &scope->deny_count) ||
	    make_ranges(addresses->allow, addresses->allow_count, arena,
			&scope->allow, &scope->allow_count))
		return err_set(err, ERR_TOO_LARGE, "make the scope: too large");
	scope->hosts = list.hosts;
	scope->hosts_count = list.count;
	return 0;
}

int scope_from_policy(const struct policy *policy, struct arena *arena,
		      struct scope *scope, struct err *err)
{
	struct scope guard;

	if (make_scope(policy, arena, scope, err))
		return -1;
	if (!policy->guardrail)
		return 0;
	if (make_scope(policy->guardrail, arena, &guard, err))
		return err_prefix(err, "guardrail");
	if (scope_narrow(scope, &guard, policy, arena))
		return err_set(err, ERR_TOO_LARGE, "make the scope: too large");
	return 0;
}
