#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "sandbox-host/api/egress.h"

#define POLICY_NAME "opensandbox"
#define VAULT_MARK  "\n# vault "

void egress_model_release(struct egress_model *model)
{
	json_decref(model->rules);
	json_decref(model->vault);
	*model = (struct egress_model){0};
}

/* ---- from a policy ---- */

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* The rule of a binding names a credential, or is marked by its name: those
 * are made anew from the bindings. */
static int read_rule(struct egress_model *model, const json_t *rule)
{
	const json_t *hosts = json_object_get(rule, "hosts");
	const char *target = json_string_value(json_array_get(hosts, 0));
	const char *action = text_of(rule, "action");

	if (json_object_get(rule, "paths"))
		return 0;
	if (!target || !*action ||
	    (json_array_size(hosts) != 1 && strcmp(target, "*") != 0))
		return -1;
	return json_array_append_new(
		model->rules,
		json_pack("{s:s, s:s}", "action", action, "target", target));
}

static void take_default(struct egress_model *model, const json_t *raw)
{
	size_t count = json_array_size(model->rules);
	const json_t *last =
		count ? json_array_get(model->rules, count - 1) : NULL;

	if (!last || strcmp(text_of(last, "target"), "*") != 0 ||
	    strcmp(text_of(last, "action"), "allow") != 0)
		return;
	model->allows = true;
	model->of_names = json_array_size(json_object_get(raw, "hosts")) == 1;
	(void)json_array_remove(model->rules, count - 1);
}

static int read_rules(struct egress_model *model, const json_t *root)
{
	const json_t *rules =
		json_object_get(json_object_get(root, "network"), "rules");
	const json_t *rule;
	size_t i;

	model->rules = json_array();
	json_array_foreach(rules, i, rule)
	{
		if (read_rule(model, rule) < 0)
			return -1;
	}
	take_default(model, json_array_get(rules, json_array_size(rules) - 1));
	return 0;
}

int egress_model_read(struct bytes text, struct egress_model *model)
{
	json_t *root = json_loadb(
		(const char *)text.data, text.len,
		JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, NULL);
	static const struct bytes mark = BYTES_LITERAL(VAULT_MARK);
	ptrdiff_t at = bytes_find(text, '\n', 0);
	int result = -1;

	*model = (struct egress_model){0};
	if (strcmp(text_of(root, "name"), POLICY_NAME) == 0)
		result = read_rules(model, root);
	json_decref(root);
	if (result == 0 && at >= 0) {
		struct bytes rest = bytes_slice(text, (size_t)at, text.len);

		if (bytes_equal(bytes_slice(rest, 0, mark.len), mark))
			model->vault =
				json_loadb((const char *)rest.data + mark.len,
					   rest.len - mark.len,
					   JSON_REJECT_DUPLICATES, NULL);
		if (!model->vault)
			result = -1;
	}
	if (result < 0)
		egress_model_release(model);
	return result;
}

/* ---- to a policy ---- */

static json_t *write_rules(const struct egress_model *model)
{
	json_t *rules = json_array();
	const json_t *rule;
	size_t i;

	json_array_foreach(model->rules, i, rule)
	{
		if (egress_policy_rules(model, (int)i, rules) < 0 ||
		    json_array_append_new(
			    rules,
			    egress_target_rule(text_of(rule, "target"),
					       text_of(rule, "action"))) < 0) {
			json_decref(rules);
			return NULL;
		}
	}
	if (model->allows &&
	    json_array_append_new(
		    rules, model->of_names ? egress_target_rule("*", "allow")
					   : egress_default_rule()) < 0) {
		json_decref(rules);
		return NULL;
	}
	return rules;
}

static char *join(char *policy, char *vault)
{
	char *text = NULL;

	if (policy && vault &&
	    asprintf(&text, "%s" VAULT_MARK "%s\n", policy, vault) < 0)
		text = NULL;
	free(policy);
	free(vault);
	return text;
}

char *egress_model_write(const struct egress_model *model)
{
	json_t *rules = write_rules(model);
	json_t *root =
		json_pack("{s:s, s:s}", "version", "1", "name", POLICY_NAME);
	char *policy, *vault;

	if (rules)
		(void)json_object_set_new(root, "network",
					  egress_network(json_incref(rules)));
	if (model->vault &&
	    json_array_size(json_object_get(model->vault, "bindings")) > 0)
		(void)json_object_set_new(
			root, "credentials",
			egress_policy_credentials(model->vault));
	policy = rules ? json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(rules);
	json_decref(root);
	if (!model->vault)
		return policy;
	vault = json_dumps(model->vault, JSON_COMPACT);
	return join(policy, vault);
}

/* ---- rules ---- */

static bool has_target(const json_t *rules, const char *target)
{
	const json_t *rule;
	size_t i;

	json_array_foreach(rules, i, rule)
	{
		if (!strcasecmp(text_of(rule, "target"), target))
			return true;
	}
	return false;
}

int egress_model_add(struct egress_model *model, json_t *rules)
{
	json_t *all = json_array();
	json_t *rule;
	size_t i;

	(void)json_array_extend(rules, model->rules);
	json_array_foreach(rules, i, rule)
	{
		if (!has_target(all, text_of(rule, "target")))
			(void)json_array_append(all, rule);
	}
	json_decref(rules);
	json_decref(model->rules);
	model->rules = all;
	return json_array_size(all) > EGRESS_RULES_MAX ? -1 : 0;
}

/* "*.b.c" covers "a.b.c" and "*.a.b.c", not "b.c". */
static bool covers(const char *target, const char *host)
{
	size_t target_len = strlen(target), host_len = strlen(host);

	if (!strcasecmp(target, host))
		return true;
	return target[0] == '*' && host_len >= target_len &&
	       !strcasecmp(host + host_len - (target_len - 1), target + 1);
}

int egress_model_rule_for(const struct egress_model *model, const char *host)
{
	const json_t *rule;
	size_t i;

	json_array_foreach(model->rules, i, rule)
	{
		const char *target = text_of(rule, "target");

		/* What is below a pattern may be decided before it. */
		if (covers(target, host) ||
		    (host[0] == '*' && covers(host, target) &&
		     strcmp(text_of(rule, "action"), "deny") == 0))
			return (int)i;
	}
	return -1;
}
