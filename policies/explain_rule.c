#include "policies/explain_rule.h"

#include "common/cleanup.h"
#include "policies/pattern.h"

#define LISTED_MAX 40 /* of one list */

/* ---- words ---- */

int explain_list(struct buf *out, const struct policy_strings *list)
{
	size_t shown = list->count < LISTED_MAX ? list->count : LISTED_MAX;

	for (size_t i = 0; i < shown; i++) {
		const char *before = i == 0 ? "" : ", ";

		if (i > 0 && i + 1 == list->count)
			before = " and ";
		if (buf_add_format(out, "%s`%.*s`", before,
				   BYTES_ARGS(list->items[i])) < 0)
			return -1;
	}
	if (shown == list->count)
		return 0;
	return buf_add_format(out, " and %zu more", list->count - shown);
}

/* The largest unit that divides it. */
struct unit {
	uint64_t size;
	const char *name;
};

static int add_units(struct buf *out, uint64_t number, const struct unit *units)
{
	while (units->size > 1 && (number == 0 || number % units->size))
		units++;
	return buf_add_format(out, "%llu %s",
			      (unsigned long long)(number / units->size),
			      units->name);
}

int explain_bytes(struct buf *out, uint64_t bytes)
{
	static const struct unit units[] = {
		{1u << 30, "GiB"},
		{1u << 20, "MiB"},
		{1u << 10, "KiB"},
		{1, "bytes"},
	};

	return add_units(out, bytes, units);
}

int explain_period(struct buf *out, uint64_t ms)
{
	static const struct unit units[] = {
		{3600000, "h"},
		{60000, "min"},
		{1000, "s"},
		{1, "ms"},
	};

	return add_units(out, ms, units);
}

static int add_quota(struct buf *out, const struct policy_quota *quota,
		     const char **before, const char *what)
{
	if (quota->count == 0)
		return 0;
	if (buf_add_str(out, *before) < 0)
		return -1;
	*before = ", ";
	if (what ? explain_bytes(out, quota->count) < 0 ||
			    buf_add_str(out, what) < 0
		 : buf_add_format(out, "%llu requests",
				  (unsigned long long)quota->count) < 0)
		return -1;
	if (buf_add_str(out, " in ") < 0)
		return -1;
	return explain_period(out, quota->period_ms);
}

int explain_rate(struct buf *out, const char *before,
		 const struct policy_rate *rate)
{
	const char *first = before;

	if (add_quota(out, &rate->requests, &before, NULL) < 0 ||
	    add_quota(out, &rate->upload, &before, " sent") < 0 ||
	    add_quota(out, &rate->download, &before, " received") < 0)
		return -1;
	return before == first ? 0 : buf_add_str(out, " at most.\n");
}

/* ---- conditions ---- */

static int add_matches(struct buf *out, const char *what,
		       const struct policy_matches *matches)
{
	for (size_t i = 0; i < matches->count && i < LISTED_MAX; i++)
		if (buf_add_format(out, "  - %s `%.*s` must be `%.*s`\n", what,
				   BYTES_ARGS(matches->items[i].name),
				   BYTES_ARGS(pattern_text(
					   matches->items[i].pattern))) < 0)
			return -1;
	return 0;
}

static int add_json(struct buf *out, const struct policy_json *json)
{
	if (json->test == JSON_ABSENT)
		return buf_add_format(out, "  - the JSON body has no `%.*s`\n",
				      BYTES_ARGS(json->pointer));
	if (buf_add_format(out, "  - the JSON body's `%.*s` must be %s",
			   BYTES_ARGS(json->pointer),
			   json->test == JSON_MATCHES  ? "like "
			   : json->test == JSON_ONE_OF ? "one of "
						       : "") < 0)
		return -1;
	if (json->test == JSON_MATCHES
		    ? buf_add_format(out, "`%.*s`",
				     BYTES_ARGS(pattern_text(json->pattern))) <
			      0
		    : explain_list(out, &json->values) < 0)
		return -1;
	return buf_add_str(out, "\n");
}

static int add_nodes(struct buf *out, const struct policy_graphql *graphql)
{
	for (size_t i = 0; i < graphql->node_count && i < LISTED_MAX; i++) {
		const struct policy_node *node = &graphql->nodes[i];

		if (buf_add_format(out,
				   "  - the argument `%.*s` must be of "
				   "`%.*s`",
				   BYTES_ARGS(node->argument),
				   BYTES_ARGS(node->repository)) < 0 ||
		    (node->head.len &&
		     buf_add_format(out,
				    ", a pull request from its branch `%.*s`",
				    BYTES_ARGS(node->head)) < 0) ||
		    buf_add_str(out, "\n") < 0)
			return -1;
	}
	return 0;
}

static int add_graphql(struct buf *out, const struct policy_graphql *graphql)
{
	static const struct {
		unsigned bit;
		const char *word;
	} words[] = {
		{POLICY_QUERY, " query"},
		{POLICY_MUTATION, " mutation"},
		{POLICY_SUBSCRIPTION, " subscription"},
	};

	if (buf_add_str(out, "  - GraphQL; operations:") < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if ((graphql->operations & words[i].bit) &&
		    buf_add_str(out, words[i].word) < 0)
			return -1;
	if (graphql->fields.count > 0 &&
	    (buf_add_str(out, "; fields ") < 0 ||
	     explain_list(out, &graphql->fields) < 0))
		return -1;
	if (buf_add_str(out, "\n") < 0)
		return -1;
	if (add_matches(out, "the argument", &graphql->arguments) < 0)
		return -1;
	if (graphql->absent.count > 0 &&
	    (buf_add_str(out, "  - without the arguments ") < 0 ||
	     explain_list(out, &graphql->absent) < 0 ||
	     buf_add_str(out, "\n") < 0))
		return -1;
	return add_nodes(out, graphql);
}

static int add_body(struct buf *out, const struct policy_body *body)
{
	if (buf_add_str(out, "  - the body: at most ") < 0 ||
	    explain_bytes(out, body->max) < 0 ||
	    buf_add_str(out, body->deny_secrets
				     ? ", without secrets or tokens in it\n"
				     : "\n") < 0)
		return -1;
	for (size_t i = 0; i < body->json_count && i < LISTED_MAX; i++)
		if (add_json(out, &body->json[i]) < 0)
			return -1;
	if (add_matches(out, "the form field", &body->form) < 0 ||
	    add_matches(out, "the part", &body->multipart) < 0)
		return -1;
	return body->graphql ? add_graphql(out, body->graphql) : 0;
}

static int add_websocket(struct buf *out,
			 const struct policy_websocket *websocket)
{
	if (buf_add_str(out, "  - WebSocket messages: at most ") < 0 ||
	    explain_bytes(out, websocket->message_max) < 0 ||
	    buf_add_str(out, websocket->allow_binary ? ", text or binary"
						     : ", text") < 0)
		return -1;
	if (websocket->text &&
	    buf_add_format(out, " like `%.*s`",
			   BYTES_ARGS(pattern_text(websocket->text))) < 0)
		return -1;
	if (websocket->deny_secrets &&
	    buf_add_str(out, ", without a secret or token") < 0)
		return -1;
	return buf_add_str(out, "\n");
}

static int add_conditions(const struct policy_rule *rule, struct buf *out)
{
	if (add_matches(out, "the query's", &rule->query) < 0 ||
	    add_matches(out, "the header", &rule->headers) < 0 ||
	    (rule->body && add_body(out, rule->body) < 0) ||
	    (rule->websocket && add_websocket(out, rule->websocket) < 0))
		return -1;
	return explain_rate(out, "  - ", &rule->rate);
}

/* ---- the rule ---- */

static int add_paths(const struct policy_rule *rule, struct buf *out)
{
	if (rule->paths.count == 0)
		return 0;
	if (buf_add_str(out, ", paths ") < 0)
		return -1;
	return explain_list(out, &rule->paths);
}

static int add_where(const struct policy_rule *rule, struct buf *out)
{
	if (rule->methods.count == 0 ? buf_add_str(out, "any method") < 0
				     : explain_list(out, &rule->methods) < 0)
		return -1;
	if (buf_add_str(out, " on ") < 0)
		return -1;
	if (rule->hosts.count == 0 ? buf_add_str(out, "every host") < 0
				   : explain_list(out, &rule->hosts) < 0)
		return -1;
	if (rule->port_count && rule->ports[0] == PORT_ANY)
		return buf_add_str(out, " any port") < 0 ? -1
							 : add_paths(rule, out);
	for (size_t i = 0; i < rule->port_count && i < LISTED_MAX; i++)
		if (buf_add_format(out, "%s%u", i == 0 ? " port " : ", ",
				   (unsigned)rule->ports[i]) < 0)
			return -1;
	return add_paths(rule, out);
}

int explain_rule(const struct policy_rule *rule, struct buf *out)
{
	static const char *const actions[] = {
		[POLICY_DENY] = "Refused",
		[POLICY_ALLOW] = "Allowed",
		[POLICY_ASK] = "A person is asked",
	};

	if (buf_add_format(out, "- %s (rule `%.*s`): ", actions[rule->action],
			   BYTES_ARGS(rule->name)) < 0 ||
	    add_where(rule, out) < 0)
		return -1;
	if (rule->credential.len > 0 &&
	    buf_add_format(out, ", with credential `%.*s`",
			   BYTES_ARGS(rule->credential)) < 0)
		return -1;
	if (rule->action == POLICY_ASK &&
	    (buf_add_str(out, ", who has ") < 0 ||
	     explain_period(out, rule->hold_ms) < 0 ||
	     buf_add_str(out, " to answer") < 0))
		return -1;
	if (rule->reason.len > 0 &&
	    buf_add_format(out, ": %.*s", BYTES_ARGS(rule->reason)) < 0)
		return -1;
	if (buf_add_str(out, "\n") < 0)
		return -1;
	return add_conditions(rule, out);
}
