#include "policies/compile_rule.h"

#include "common/cleanup.h"
#include "policies/decide_rule.h"
#include "policies/host_range.h"
#include "policies/path.h"

#define REASON_MAX 512

struct rule_nodes {
	const struct text_node *name, *hosts, *ports, *methods, *paths;
	const struct text_node *query, *headers, *body, *websocket, *rate;
	const struct text_node *action, *hold, *reason;
	const struct text_node *credential;
};

/* ---- the parts ---- */

static bool port_item(struct reader *reader, const struct text_node *node,
		      void *item)
{
	uint64_t port;

	if (!reader_number(reader, node, 1, UINT16_MAX, &port))
		return false;
	*(uint16_t *)item = (uint16_t)port;
	return true;
}

/* A range is a host to a rule alone: a credential is for names. */
static bool host_item(struct reader *reader, const struct text_node *node,
		      void *item)
{
	struct bytes word;
	struct err err;

	if (node->kind != TEXT_SCALAR || !host_is_range(node->value))
		return compile_host_item(reader, node, item);
	if (!reader_word(reader, node, &word))
		return false;
	if (host_range_pattern(reader->arena, word, item, &err))
		return reader_error(reader, node, "%s", err.text);
	return true;
}

static bool method_item(struct reader *reader, const struct text_node *node,
			void *item)
{
	static const struct choice choices[] = {
		{"GET", 0},   {"HEAD", 1},   {"POST", 2},    {"PUT", 3},
		{"PATCH", 4}, {"DELETE", 5}, {"OPTIONS", 6},
	};
	int value;

	return reader_choice(reader, node, choices, ARRAY_SIZE(choices),
			     &value) &&
	       reader_word(reader, node, item);
}

static bool path_item(struct reader *reader, const struct text_node *node,
		      void *item)
{
	struct bytes text;
	struct err err;

	if (!compile_expand(compile_of(reader), node, EXPAND_PATH, &text))
		return false;
	/* What requests are matched in: the same form for both. */
	if (path_normalise(reader->arena, text, item, &err))
		return reader_error(reader, node, "%s", err.text);
	return true;
}

/* A list that is there must say something: an empty one would match all. */
static void read_strings(struct compile *compile, const struct text_node *node,
			 reader_item_fn *read, struct policy_strings *strings)
{
	if (node && reader_strings(&compile->reader, node, read, strings) &&
	    node->count == 0)
		text_error(&compile->reader.source, node->at,
			   "an empty list; leave it out to match everything");
}

void compile_methods(struct compile *compile, const struct text_node *node,
		     struct policy_strings *methods)
{
	read_strings(compile, node, method_item, methods);
}

void compile_paths(struct compile *compile, const struct text_node *node,
		   struct policy_strings *paths)
{
	read_strings(compile, node, path_item, paths);
}

void compile_ports(struct compile *compile, const struct text_node *node,
		   const uint16_t **ports, size_t *count)
{
	void *items = NULL;

	if (!node || !reader_list(&compile->reader, node, sizeof(uint16_t),
				  port_item, &items, count))
		return;
	*ports = items;
	if (node->count == 0)
		text_error(&compile->reader.source, node->at,
			   "an empty list; leave it out for 443 and 80");
}

static void read_ports(struct compile *compile, const struct text_node *node,
		       struct policy_rule *rule)
{
	static const uint16_t any[] = {PORT_ANY};

	if (!node || node->kind != TEXT_SCALAR ||
	    !bytes_is(node->value, "any")) {
		compile_ports(compile, node, &rule->ports, &rule->port_count);
		return;
	}
	rule->ports = any;
	rule->port_count = ARRAY_SIZE(any);
}

static void read_hosts(struct compile *compile, const struct text_node *node,
		       struct policy_rule *rule)
{
	read_strings(compile, node, host_item, &rule->hosts);
	for (size_t i = 0; i < rule->hosts.count; i++)
		rule->has_range |= host_is_range(rule->hosts.items[i]);
}

static void read_name(struct compile *compile, const struct text_node *node,
		      size_t index, struct policy_rule *rule)
{
	struct bytes preset = compile->preset;
	const char *slash = preset.len ? "/" : "";
	struct bytes name = {NULL, 0};
	const char *text;

	if (node && reader_name(&compile->reader, node, &name) &&
	    (bytes_is(name, "default") || bytes_is(name, "git")))
		text_error(&compile->reader.source, node->at,
			   "\"%.*s\" means something else", BYTES_ARGS(name));
	text = name.len
		       ? arena_format(compile->reader.arena, "%.*s%s%.*s",
				      BYTES_ARGS(preset), slash,
				      BYTES_ARGS(name))
		       : arena_format(compile->reader.arena, "%.*s%srules[%zu]",
				      BYTES_ARGS(preset), slash, index);
	if (!text)
		text_error(&compile->reader.source, 0,
			   "the text is too large to be read");
	rule->name = bytes_str(text);
}

static void read_reason(struct compile *compile, const struct text_node *node,
			struct policy_rule *rule)
{
	if (compile_expand(compile, node, EXPAND_TEXT, &rule->reason) &&
	    rule->reason.len > REASON_MAX)
		text_error(&compile->reader.source, node->at,
			   "longer than %d bytes", REASON_MAX);
}

/* By a variable too: a preset cannot know its name. */
static void read_credential(struct compile *compile,
			    const struct text_node *node,
			    struct policy_rule *rule)
{
	struct text_node name = *node;

	if (compile_expand(compile, node, EXPAND_TEXT, &name.value))
		(void)compile_credential_name(compile, &name,
					      &rule->credential);
}

/* ---- what must fit together ---- */

static void check_credential(struct compile *compile,
			     const struct rule_nodes *nodes,
			     const struct policy_rule *rule)
{
	if (rule->action == POLICY_DENY) {
		text_error(&compile->reader.source, nodes->credential->at,
			   "a rule that denies has no credential");
		return;
	}
	if (rule->port_count && rule->ports[0] == PORT_ANY)
		text_error(&compile->reader.source, nodes->ports->at,
			   "a credential goes to ports that are named");
	for (size_t i = 0; i < rule->hosts.count; i++)
		(void)compile_credential_covers(compile, nodes->credential,
						rule->credential,
						rule->hosts.items[i]);
}

/* Every host's own words; "*" names none. */
static void check_tunnel(struct compile *compile, const struct text_node *hosts,
			 const struct policy_rule *rule)
{
	/* A person may be asked about a tunnel as a whole. */
	if (rule->action == POLICY_ASK ? !rule_is_conditional(rule)
				       : !rule_looks_inside(rule))
		return;
	for (size_t i = 0; i < rule->hosts.count; i++)
		if (!bytes_is(rule->hosts.items[i], "*") &&
		    !compile_not_tunnelled(compile, hosts, rule->hosts.items[i],
					   "this rule"))
			return;
}

static void check_hold(struct compile *compile, const struct text_node *hold,
		       struct policy_rule *rule)
{
	uint64_t ms;

	if (!reader_duration(&compile->reader, hold, &ms))
		return;
	if (rule->action != POLICY_ASK)
		(void)reader_error(&compile->reader, hold,
				   "only a rule that asks holds a request");
	else if (ms > POLICY_HOLD_MAX_MS)
		(void)reader_error(&compile->reader, hold,
				   "more than %d minutes",
				   POLICY_HOLD_MAX_MS / 60000);
	else
		rule->hold_ms = (uint32_t)ms;
}

/* What says nothing where nothing passes. */
static void check_denial(struct compile *compile,
			 const struct rule_nodes *nodes,
			 const struct policy_rule *rule)
{
	const struct text_node *const vain[] = {nodes->websocket, nodes->rate};
	const struct policy_body *body = rule->body;

	for (size_t i = 0; i < ARRAY_SIZE(vain); i++)
		if (vain[i])
			text_error(&compile->reader.source, vain[i]->key_at,
				   "a rule that denies has no \"%.*s\"",
				   BYTES_ARGS(vain[i]->key));
	if (body && !body->json_count && !body->form.count &&
	    !body->multipart.count && !body->deny_secrets && !body->graphql)
		text_error(&compile->reader.source, nodes->body->at,
			   "a rule that denies must say which bodies");
}

/* A handshake is a GET without a body (RFC 6455 4.1). */
static void check_websocket(struct compile *compile,
			    const struct text_node *websocket,
			    const struct policy_rule *rule)
{
	bool has_get = rule->methods.count == 0;

	for (size_t i = 0; i < rule->methods.count; i++)
		has_get |= bytes_is(rule->methods.items[i], "GET");
	if (!has_get)
		(void)reader_error(&compile->reader, websocket,
				   "the rule's methods need GET for a "
				   "WebSocket");
	if (rule->body)
		(void)reader_error(&compile->reader, websocket,
				   "a WebSocket has no body; make it two "
				   "rules");
}

static bool has_nodes(const struct policy_rule *rule)
{
	return rule->body && rule->body->graphql &&
	       rule->body->graphql->node_count > 0;
}

/* What a guardrail's rule would add, and what only one rule can say. */
static void check_guardrail(struct compile *compile,
			    const struct rule_nodes *nodes,
			    const struct policy_rule *rule)
{
	size_t known = rule->websocket && rule->websocket->deny_secrets;

	if (nodes->credential)
		text_error(&compile->reader.source, nodes->credential->key_at,
			   "a guardrail's rule has no \"credential\"");
	if (nodes->websocket && nodes->websocket->count > known)
		text_error(&compile->reader.source, nodes->websocket->at,
			   "a guardrail allows WebSockets by {} or "
			   "{secrets: deny} alone");
}

static void check_rule(struct compile *compile, const struct text_node *node,
		       const struct rule_nodes *nodes, struct policy_rule *rule)
{
	if (rule->action == POLICY_ALLOW && !nodes->hosts)
		text_error(&compile->reader.source, node->at,
			   "a rule that allows needs \"hosts\"; for every "
			   "host say hosts: [\"*\"]");
	if (rule->action == POLICY_ASK && !nodes->hosts)
		text_error(&compile->reader.source, node->at,
			   "a rule that asks needs \"hosts\"; for every host "
			   "say hosts: [\"*\"]");
	if (compile->policy->is_guardrail)
		check_guardrail(compile, nodes, rule);
	if (has_nodes(rule) &&
	    (rule->action != POLICY_ALLOW || compile->policy->is_guardrail))
		text_error(&compile->reader.source, nodes->body->at,
			   "only a session's rule that allows has "
			   "graphql.nodes");
	if (nodes->credential)
		check_credential(compile, nodes, rule);
	if (nodes->hold)
		check_hold(compile, nodes->hold, rule);
	if (rule->action == POLICY_DENY)
		check_denial(compile, nodes, rule);
	if (nodes->websocket)
		check_websocket(compile, nodes->websocket, rule);
	if (nodes->hosts)
		check_tunnel(compile, nodes->hosts, rule);
}

static bool read_action(struct compile *compile, const struct text_node *node,
			struct policy_rule *rule)
{
	static const struct choice choices[] = {
		{"allow", POLICY_ALLOW},
		{"deny", POLICY_DENY},
		{"ask", POLICY_ASK},
	};
	int action;

	if (!reader_choice(&compile->reader, node, choices, ARRAY_SIZE(choices),
			   &action))
		return false;
	rule->action = (enum policy_action)action;
	if (rule->action == POLICY_ASK)
		rule->hold_ms = POLICY_HOLD_DEFAULT_MS;
	return true;
}

static void read_rule(struct compile *compile, const struct rule_nodes *nodes,
		      struct policy_rule *rule)
{
	read_hosts(compile, nodes->hosts, rule);
	read_ports(compile, nodes->ports, rule);
	compile_methods(compile, nodes->methods, &rule->methods);
	compile_paths(compile, nodes->paths, &rule->paths);
	if (nodes->query)
		compile_matches(compile, nodes->query, false, &rule->query);
	if (nodes->headers)
		compile_matches(compile, nodes->headers, true, &rule->headers);
	if (nodes->body)
		rule->body = compile_body(compile, nodes->body);
	if (nodes->websocket)
		compile_websocket(compile, nodes->websocket, rule);
	compile_rate(compile, nodes->rate, &rule->rate);
	if (nodes->credential)
		read_credential(compile, nodes->credential, rule);
	if (nodes->reason)
		read_reason(compile, nodes->reason, rule);
}

void compile_rule(struct compile *compile, const struct text_node *node,
		  size_t index, struct policy_rule *rule)
{
	static const struct reader_field fields[] = {
		{"name", reader_keep, offsetof(struct rule_nodes, name)},
		{"hosts", reader_keep, offsetof(struct rule_nodes, hosts)},
		{"ports", reader_keep, offsetof(struct rule_nodes, ports)},
		{"methods", reader_keep, offsetof(struct rule_nodes, methods)},
		{"paths", reader_keep, offsetof(struct rule_nodes, paths)},
		{"credential", reader_keep,
		 offsetof(struct rule_nodes, credential)},
		{"action", reader_keep, offsetof(struct rule_nodes, action)},
		{"reason", reader_keep, offsetof(struct rule_nodes, reason)},
		{"query", reader_keep, offsetof(struct rule_nodes, query)},
		{"headers", reader_keep, offsetof(struct rule_nodes, headers)},
		{"hold", reader_keep, offsetof(struct rule_nodes, hold)},
		{"body", reader_keep, offsetof(struct rule_nodes, body)},
		{"websocket", reader_keep,
		 offsetof(struct rule_nodes, websocket)},
		{"rate", reader_keep, offsetof(struct rule_nodes, rate)},
		{"client-certificate", NULL, 0},
	};
	struct rule_nodes nodes = {0};

	if (!reader_map(&compile->reader, node, fields, ARRAY_SIZE(fields),
			&nodes))
		return;
	read_name(compile, nodes.name, index, rule);
	read_rule(compile, &nodes, rule);
	if (reader_require(&compile->reader, node, "action") &&
	    read_action(compile, nodes.action, rule))
		check_rule(compile, node, &nodes, rule);
}
