#include "gateway/decide/advice.h"

#include <stdarg.h>
#include <stdio.h>

#include "gateway/decide/request_check.h"
#include "gateway/decide/target_check.h"
#include "policies/decide_rule.h"
#include "policies/guardrail.h"
#include "policies/pattern.h"

#define SHOWN_MAX 200 /* bytes of any untrusted text */
#define ENTRY_MAX 320 /* of one entry: a method, a text that is shown */

/* The list of what would have been allowed. */
struct list {
	struct arena *arena;
	struct bytes *items;
	size_t count;
};

static struct bytes shown(struct bytes text)
{
	return bytes_slice(text, 0, SHOWN_MAX);
}

static bool list_has(const struct list *list, struct bytes text)
{
	for (size_t i = 0; i < list->count; i++)
		if (bytes_equal(list->items[i], text))
			return true;
	return false;
}

static bool list_is_full(const struct list *list)
{
	return !list->items || list->count == REFUSAL_ALLOWED_MAX;
}

static void list_add(struct list *list, struct bytes text)
{
	if (text.len > 0 && !list_is_full(list) && !list_has(list, text))
		list->items[list->count++] = text;
}

/* Only what is new takes from the arena. */
__attribute__((format(printf, 2, 3))) static void
list_add_format(struct list *list, const char *format, ...)
{
	char entry[ENTRY_MAX];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(entry, sizeof(entry), format, args);
	va_end(args);
	if (len < 0 || (size_t)len >= sizeof(entry) ||
	    list_has(list, bytes_str(entry)))
		return;
	list_add(list, arena_copy(list->arena, bytes_str(entry)));
}

static void list_init(struct list *list, struct arena *arena)
{
	*list = (struct list){
		.arena = arena,
		.items = arena_array(arena, REFUSAL_ALLOWED_MAX,
				     sizeof(*list->items)),
	};
}

/* The last two labels of a name. */
static struct bytes family_of(struct bytes host)
{
	size_t dots = 0, i = host.len;

	while (i > 0 && dots < 2)
		dots += host.data[--i] == '.';
	return bytes_slice(host, dots == 2 ? i + 1 : 0, host.len);
}

static void add_hosts(struct list *list, const struct policy *policy,
		      struct bytes family)
{
	for (size_t i = 0; i < policy->repo_count && !list_is_full(list); i++)
		if (bytes_ends_with(policy->repos[i].host, family))
			list_add(list, policy->repos[i].host);
	for (size_t i = 0; i < policy->rule_count && !list_is_full(list); i++) {
		const struct policy_rule *rule = &policy->rules[i];

		for (size_t j = 0; j < rule->hosts.count; j++)
			if (rule->action != POLICY_DENY &&
			    bytes_ends_with(rule->hosts.items[j], family))
				list_add(list, rule->hosts.items[j]);
	}
}

static void add_ports(struct list *list, const struct policy *policy,
		      const struct target_facts *facts)
{
	struct bytes host = shown(facts->host);

	for (size_t i = 0; i < policy->rule_count && !list_is_full(list); i++) {
		const struct policy_rule *rule = &policy->rules[i];

		if (rule->action == POLICY_DENY ||
		    rule_meets_target(rule, facts, false) != RULE_PORT)
			continue;
		for (size_t j = 0; j < rule->port_count; j++)
			list_add_format(list, "%.*s:%u", BYTES_ARGS(host),
					(unsigned)rule->ports[j]);
		if (rule->port_count == 0)
			list_add_format(list, "%.*s:443", BYTES_ARGS(host));
	}
}

/* "GET /repos/a" for one rule, an entry a path. */
static void add_rule(struct list *list, const struct policy_rule *rule,
		     struct bytes method)
{
	static const struct bytes any = BYTES_LITERAL("/**");
	size_t paths = rule->paths.count ? rule->paths.count : 1;

	for (size_t i = 0; i < paths && !list_is_full(list); i++) {
		struct bytes path =
			rule->paths.count ? rule->paths.items[i] : any;

		path = shown(path);
		list_add_format(list, "%.*s %.*s", BYTES_ARGS(method),
				BYTES_ARGS(path));
	}
}

/* "query per_page: [0-9]+". */
static void add_matches(struct list *list, const char *what,
			const struct policy_matches *matches)
{
	for (size_t i = 0; i < matches->count && !list_is_full(list); i++) {
		const struct policy_match *match = &matches->items[i];
		struct bytes name = shown(match->name);
		struct bytes text = shown(pattern_text(match->pattern));

		list_add_format(list, "%s %.*s: %.*s", what, BYTES_ARGS(name),
				BYTES_ARGS(text));
	}
}

/* "json /head: \"agent/42\"", an entry a value. */
static void add_json(struct list *list, const struct policy_body *body)
{
	for (size_t i = 0; i < body->json_count; i++) {
		const struct policy_json *json = &body->json[i];
		struct bytes pointer = shown(json->pointer);
		struct bytes text;

		for (size_t j = 0; j < json->values.count; j++) {
			text = shown(json->values.items[j]);
			list_add_format(list, "json %.*s: %.*s",
					BYTES_ARGS(pointer), BYTES_ARGS(text));
		}
		if (json->test != JSON_MATCHES)
			continue;
		text = shown(pattern_text(json->pattern));
		list_add_format(list, "json %.*s: %.*s", BYTES_ARGS(pointer),
				BYTES_ARGS(text));
	}
}

/* What that one rule would let pass. */
static void add_near_rule(struct list *list, const struct policy_rule *rule,
			  const struct request_facts *facts,
			  enum rule_stage stage)
{
	switch ((int)stage) {
	case RULE_METHOD:
		for (size_t i = 0; i < rule->methods.count; i++)
			add_rule(list, rule, rule->methods.items[i]);
		break;
	case RULE_PATH:
		add_rule(list, rule, facts->method);
		break;
	case RULE_QUERY:
		add_matches(list, "query", &rule->query);
		break;
	case RULE_HEADER:
		add_matches(list, "header", &rule->headers);
		break;
	case RULE_BODY:
		add_json(list, rule->body);
		add_matches(list, "form", &rule->body->form);
		add_matches(list, "part", &rule->body->multipart);
		break;
	case RULE_GRAPHQL:
		for (size_t i = 0; i < rule->body->graphql->fields.count; i++)
			list_add(list, rule->body->graphql->fields.items[i]);
		add_matches(list, "argument", &rule->body->graphql->arguments);
		break;
	case RULE_BODY_TOO_LARGE:
		list_add_format(list, "at most %llu bytes",
				(unsigned long long)rule->body->max);
		break;
	default:
		break;
	}
}

/* The body is gone by now: a rule that looked at it came that far. */
static enum rule_stage stage_of(enum constraint constraint)
{
	enum rule_stage stage = RULE_BODY_TOO_LARGE;

	while (stage < RULE_LOOK && rule_stage_constraint(stage) != constraint)
		stage++;
	return stage;
}

/* Rules that came as close as the decision says. */
static void add_rules(struct list *list, const struct policy *policy,
		      const struct request_facts *facts,
		      enum constraint constraint)
{
	struct hearing hearing;

	hearing_init(&hearing, facts);
	for (size_t i = 0; i < policy->rule_count && !list_is_full(list); i++) {
		const struct policy_rule *rule = &policy->rules[i];
		enum rule_stage stage;

		if (rule->action == POLICY_DENY)
			continue;
		stage = rule_meets_request(rule, &hearing, false).stage;
		if (stage == RULE_LOOK)
			stage = stage_of(constraint);
		if (stage > RULE_PORT &&
		    rule_stage_constraint(stage) == constraint)
			add_near_rule(list, rule, facts, stage);
	}
	hearing_release(&hearing);
}

static void add_near(struct list *list, const struct policy *policy,
		     const struct target_facts *facts,
		     enum constraint constraint)
{
	if (constraint == CONSTRAINT_port_not_allowed) {
		add_ports(list, policy, facts);
	} else if (constraint == CONSTRAINT_host_not_allowed) {
		add_hosts(list, policy, family_of(facts->host));
		add_hosts(list, policy, bytes_from(NULL, 0));
	}
}

/* What to do instead, by what was violated; NULL where only the detail
 * helps. */
static const char *remedy(enum constraint constraint, bool knows_allowed)
{
	switch ((int)constraint) {
	case CONSTRAINT_host_not_allowed:
		return knows_allowed ? "use one of the allowed hosts, or ask "
				       "the session's owner to allow this one"
				     : "ask the session's owner to allow this "
				       "host";
	case CONSTRAINT_port_not_allowed:
		return "use an allowed port of this host";
	case CONSTRAINT_method_not_allowed:
	case CONSTRAINT_path_not_allowed:
		return knows_allowed ? "use one of the allowed requests, or "
				       "ask the session's owner to allow this "
				       "one"
				     : "ask the session's owner to allow this "
				       "request";
	case CONSTRAINT_query_not_allowed:
	case CONSTRAINT_header_not_allowed:
		return "send what the allowed patterns match, whole and "
		       "wherever the name stands";
	case CONSTRAINT_body_too_large:
		return "send a smaller body";
	case CONSTRAINT_body_unreadable:
		return "send a plain body of the type that its Content-Type "
		       "says";
	case CONSTRAINT_body_not_allowed:
	case CONSTRAINT_graphql_not_allowed:
		return "send a body that says what is allowed";
	case CONSTRAINT_secret_in_body:
		return "send it without the secret";
	case CONSTRAINT_websocket_not_allowed:
		return "do without a WebSocket, or ask the session's owner to "
		       "allow one here";
	case CONSTRAINT_approval_pending:
		return "ask the session's owner to allow this request, then "
		       "send it again";
	case CONSTRAINT_denied_by_rule:
		return "do the work without this request, or ask the "
		       "session's owner";
	case CONSTRAINT_scheme_not_allowed:
		return "use https://";
	case CONSTRAINT_git_not_allowed:
		return "ask the session's owner to list this repository under "
		       "`git` in the policy";
	case CONSTRAINT_git_dumb_http:
		return "use git with smart HTTP";
	case CONSTRAINT_host_mismatch:
		return "send the request on a connection to its own host";
	default:
		return NULL;
	}
}

/* Then a verdict's reason is what was found. */
static bool is_about_body(enum constraint constraint)
{
	return constraint == CONSTRAINT_body_not_allowed ||
	       constraint == CONSTRAINT_body_unreadable ||
	       constraint == CONSTRAINT_graphql_not_allowed ||
	       constraint == CONSTRAINT_secret_in_body;
}

/* The rule's own words, or the constraint's about this request. */
static struct bytes detail_of(struct arena *arena,
			      const struct verdict *verdict, struct bytes what)
{
	const char *text = constraint_text(verdict->constraint);

	if (verdict->reason.len > 0 && is_about_body(verdict->constraint))
		what = shown(verdict->reason);
	else if (verdict->reason.len > 0)
		return verdict->reason;
	return bytes_str(
		arena_format(arena, "%s: %.*s", text, BYTES_ARGS(what)));
}

static struct refusal finish(const struct verdict *verdict, struct list *list,
			     struct bytes what)
{
	return (struct refusal){
		.constraint = verdict->constraint,
		.rule = verdict->rule,
		.detail = detail_of(list->arena, verdict, what),
		.allowed = list->items,
		.allowed_count = list->count,
		.try_instead =
			bytes_str(remedy(verdict->constraint, list->count > 0)),
	};
}

/* Whose rules are near: the guardrail's when it refused. */
static const struct policy *who_spoke(const struct policy *policy,
				      const struct verdict *verdict)
{
	return policy->guardrail && guardrail_spoke(verdict) ? policy->guardrail
							     : policy;
}

struct refusal advice_target(const struct policy *policy,
			     const struct target *target,
			     const struct verdict *verdict, struct arena *arena)
{
	struct target_facts facts = target_facts_of(target);
	struct list list;
	const char *what = arena_format(arena, "%s:%u", target->host,
					(unsigned)target->port);

	list_init(&list, arena);
	policy = who_spoke(policy, verdict);
	add_near(&list, policy, &facts, verdict->constraint);
	return finish(verdict, &list, bytes_str(what));
}

struct refusal advice_request(const struct policy *policy,
			      const struct target *target,
			      const struct request *request,
			      const struct verdict *verdict,
			      struct arena *arena)
{
	struct request_facts facts = request_facts_of(target, request);
	struct list list;
	struct bytes path = shown(request->path);
	const char *what = arena_format(arena, "%.*s %.*s on %s",
					BYTES_ARGS(request->method),
					BYTES_ARGS(path), target->host);

	list_init(&list, arena);
	policy = who_spoke(policy, verdict);
	add_near(&list, policy, &facts.target, verdict->constraint);
	add_rules(&list, policy, &facts, verdict->constraint);
	return finish(verdict, &list, bytes_str(what));
}
