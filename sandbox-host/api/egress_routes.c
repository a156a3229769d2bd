/*
 * /policy of a sandbox: what it may reach.
 */
#include <string.h>
#include <strings.h>

#include "sandbox-host/api/areas.h"
#include "sandbox-host/api/egress.h"

/* ---- answers ---- */

static const char *mode_of(const struct egress_model *model)
{
	if (json_array_size(model->rules) > 0)
		return "enforcing";
	return model->allows ? "allow_all" : "deny_all";
}

static void tell(struct egress_task *task, const struct egress_model *model)
{
	json_t *answer = json_pack(
		"{s:s, s:s, s:s, s:{s:s, s:o}}", "status", "ok", "mode",
		task->is_foreign ? "enforcing" : mode_of(model),
		"enforcementMode", "dns+nft", "policy", "defaultAction",
		model->allows ? "allow" : "deny", "egress",
		model->rules ? json_incref(model->rules) : json_array());

	if (task->is_foreign)
		(void)json_object_set_new(
			answer, "reason",
			json_string("the sandbox has a policy of its own"));
	exchange_reply_json(task->exchange, 200, answer);
}

/* ---- what is asked ---- */

static int fail(struct egress_task *task, const char *why)
{
	exchange_fail(task->exchange, 400, "INVALID_REQUEST", "%s", why);
	return -1;
}

static bool is_action(const char *text)
{
	return text && (!strcmp(text, "allow") || !strcmp(text, "deny"));
}

/* A list of rules as it came, in lower case; NULL: the request is answered. */
static json_t *read_rules(struct egress_task *task, const json_t *list)
{
	json_t *rules = json_array();
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		const char *action =
			json_string_value(json_object_get(item, "action"));
		const char *target =
			json_string_value(json_object_get(item, "target"));
		char lower[EGRESS_TARGET_MAX + 1] = "";
		const char *fault = "a rule is {action: allow|deny, target}";

		if (is_action(action) && target && json_object_size(item) == 2)
			fault = egress_rule_fault(action, target);
		if (fault) {
			json_decref(rules);
			(void)fail(task, fault);
			return NULL;
		}
		for (size_t j = 0; target[j]; j++)
			lower[j] = target[j] >= 'A' && target[j] <= 'Z'
					   ? (char)(target[j] + 'a' - 'A')
					   : target[j];
		(void)json_array_append_new(rules,
					    json_pack("{s:s, s:s}", "action",
						      action, "target", lower));
	}
	return rules;
}

/* A vault's hosts must stay allowed. */
static int finish(struct egress_task *task, struct egress_model *model,
		  json_t *rules)
{
	const char *fault;

	if (egress_model_add(model, rules) < 0) {
		exchange_fail(task->exchange, 413, "TOO_LARGE",
			      "at most %d rules", EGRESS_RULES_MAX);
		return -1;
	}
	fault = egress_vault_fault(task->exchange->arena, model);
	return fault ? fail(task, fault) : 0;
}

static bool is_policy(const json_t *body)
{
	const json_t *action = json_object_get(body, "defaultAction");
	const json_t *egress = json_object_get(body, "egress");
	size_t known = (action != NULL) + (egress != NULL);

	return json_is_object(body) && json_object_size(body) == known &&
	       (!action || json_is_null(action) ||
		is_action(json_string_value(action))) &&
	       (!egress || json_is_null(egress) || json_is_array(egress));
}

/* Nothing, null and {} deny everything. */
static int replace(struct egress_task *task, struct egress_model *model)
{
	const char *action =
		json_string_value(json_object_get(task->body, "defaultAction"));
	json_t *rules;

	if (task->body && !is_policy(task->body))
		return fail(task, "a policy is {defaultAction: allow|deny, "
				  "egress: [{action, target}]}");
	rules = read_rules(task, json_object_get(task->body, "egress"));
	if (!rules)
		return -1;
	model->allows = action && !strcmp(action, "allow");
	model->of_names = false;
	(void)json_array_clear(model->rules);
	return finish(task, model, rules);
}

static int patch(struct egress_task *task, struct egress_model *model)
{
	json_t *rules;

	if (!json_is_array(task->body) || json_array_size(task->body) == 0)
		return fail(task, "a list of rules is wanted");
	rules = read_rules(task, task->body);
	return rules ? finish(task, model, rules) : -1;
}

static bool is_named(const json_t *targets, const char *target)
{
	const json_t *item;
	size_t i;

	json_array_foreach(targets, i, item)
	{
		if (!strcasecmp(json_string_value(item), target))
			return true;
	}
	return false;
}

static int take_out(struct egress_task *task, struct egress_model *model)
{
	json_t *kept = json_array();
	json_t *item;
	size_t i;

	json_array_foreach(task->body, i, item)
	{
		if (json_is_string(item))
			continue;
		json_decref(kept);
		return fail(task, "a list of targets is wanted");
	}
	if (!json_is_array(task->body) || json_array_size(task->body) == 0) {
		json_decref(kept);
		return fail(task, "a list of targets is wanted");
	}
	json_array_foreach(model->rules, i, item)
	{
		const char *target =
			json_string_value(json_object_get(item, "target"));

		if (!is_named(task->body, target))
			(void)json_array_append(kept, item);
	}
	(void)json_array_clear(model->rules);
	return finish(task, model, kept);
}

/* ---- routes ---- */

static void begin(struct exchange *exchange, egress_edit_fn *edit)
{
	json_t *body = NULL;

	if (exchange->body.len > 0 && !bytes_is(exchange->body, "null")) {
		body = exchange_json(exchange);
		if (!body)
			return;
	}
	egress_begin(exchange, edit, tell, body);
}

static void handle_show(struct exchange *exchange)
{
	egress_begin(exchange, NULL, tell, NULL);
}

static void handle_replace(struct exchange *exchange)
{
	begin(exchange, replace);
}

static void handle_patch(struct exchange *exchange)
{
	begin(exchange, patch);
}

static void handle_take_out(struct exchange *exchange)
{
	begin(exchange, take_out);
}

static void tell_health(struct egress_task *task,
			const struct egress_model *model)
{
	(void)model;
	exchange_reply_json(task->exchange, 200,
			    json_pack("{s:s}", "status", "ok"));
}

static void handle_health(struct exchange *exchange)
{
	egress_begin(exchange, NULL, tell_health, NULL);
}

const struct route egress_routes[] = {
	{"GET", "/policy", ROUTE_TOKEN, 0, ROUTE_WHOLE, handle_show},
	{"POST", "/policy", ROUTE_TOKEN, EGRESS_BODY_MAX, ROUTE_WHOLE,
	 handle_replace},
	{"PUT", "/policy", ROUTE_TOKEN, EGRESS_BODY_MAX, ROUTE_WHOLE,
	 handle_replace},
	{"PATCH", "/policy", ROUTE_TOKEN, EGRESS_BODY_MAX, ROUTE_WHOLE,
	 handle_patch},
	{"DELETE", "/policy", ROUTE_TOKEN, EGRESS_BODY_MAX, ROUTE_WHOLE,
	 handle_take_out},
	{"GET", "/healthz", ROUTE_TOKEN, 0, ROUTE_WHOLE, handle_health},
	{0},
};
