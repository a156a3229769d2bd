#include "cli/policy/show.h"

#include <getopt.h>
#include <stdio.h>

#include "cli/arguments.h"
#include "cli/host.h"
#include "cli/policy/yaml.h"
#include "cli/policy_file.h"
#include "common/cleanup.h"
#include "policies/preset.h"

#define TREE_BYTES_MAX (16 * 1024 * 1024)

/* ---- rules ---- */

/* A preset's rule. Verdicts call it PRESET/NAME, which no policy can say. */
static void put_rule(struct yaml *yaml, struct bytes preset, size_t index,
		     const struct text_node *rule)
{
	const struct text_node *name = text_child(rule, "name");

	yaml_put(yaml, "    - name: %.*s.", BYTES_ARGS(preset));
	if (name)
		yaml_put(yaml, "%.*s\n", BYTES_ARGS(name->value));
	else
		yaml_put(yaml, "%zu\n", index);
	for (const struct text_node *item = rule->first; item;
	     item = item->next)
		if (item != name)
			yaml_node(yaml, 6, item);
}

static int put_preset(struct yaml *yaml, struct bytes name, struct arena *trees)
{
	struct policy_errors errors = {.file = "preset"};
	const struct text_source source = {
		.bytes = preset_text(name),
		.file = "preset",
		.errors = &errors,
	};
	const struct text_node *root = text_parse(&source, trees);
	size_t index = 0;

	if (!root)
		return -1;
	yaml_remark(yaml, 4, "preset ", name);
	for (const struct text_node *rule =
		     text_child(text_child(root, "network"), "rules")->first;
	     rule; rule = rule->next)
		put_rule(yaml, name, index++, rule);
	return 0;
}

static int put_rules(struct yaml *yaml, const struct text_node *rules,
		     const struct text_node *extends, struct arena *trees)
{
	bool has_own = rules && rules->first;

	if (!has_own && !(extends && extends->first))
		return 0;
	yaml_put(yaml, "  rules:\n");
	for (const struct text_node *rule = has_own ? rules->first : NULL; rule;
	     rule = rule->next)
		yaml_item(yaml, 4, rule);
	for (const struct text_node *name = extends ? extends->first : NULL;
	     name; name = name->next)
		if (put_preset(yaml, name->value, trees) < 0)
			return -1;
	return 0;
}

/* ---- the policy ---- */

static int put_network(struct yaml *yaml, const struct text_node *root,
		       struct arena *trees)
{
	const struct text_node *network = text_child(root, "network");
	const struct text_node *rules =
		network ? text_child(network, "rules") : NULL;

	yaml_put(yaml, "network:\n");
	if (!network || !text_child(network, "default"))
		yaml_put(yaml, "  default: deny\n");
	for (const struct text_node *item = network ? network->first : NULL;
	     item; item = item->next)
		if (item != rules)
			yaml_node(yaml, 2, item);
	return put_rules(yaml, rules, text_child(root, "extends"), trees);
}

int show_write(const struct text_node *root, struct arena *trees,
	       struct buf *out, struct err *err)
{
	struct yaml yaml = {.out = out};

	for (const struct text_node *item = root->first; item;
	     item = item->next)
		if (!bytes_is(item->key, "network") &&
		    !bytes_is(item->key, "extends"))
			yaml_node(&yaml, 0, item);
	if (put_network(&yaml, root, trees) < 0 || yaml.is_full)
		return err_set(err, ERR_TOO_LARGE, "the policy is too large");
	return 0;
}

/* ---- the command ---- */

static void print_policy(const json_t *value)
{
	(void)fputs(json_text(value, "policy"), stdout);
}

static int print(const struct cli *cli, const char *file, struct bytes policy)
{
	json_t *value =
		json_pack("{s:o, s:o}", "file", host_text_json(bytes_str(file)),
			  "policy", host_text_json(policy));
	int code = value ? cli_print(cli, value, print_policy)
			 : cli_fail(EXIT_FAILED, "memory is out");

	json_decref(value);
	return code;
}

static int show(const struct cli *cli, struct bytes text, const char *file)
{
	auto_type(arena_release) struct arena trees;
	auto_type(buf_release) struct buf out;
	struct policy_errors errors = {.file = file};
	const struct text_source source = {text, file, &errors};
	const struct text_node *root;
	struct err err;

	arena_init(&trees, TREE_BYTES_MAX);
	buf_init(&out, SHOW_BYTES_MAX);
	root = text_parse(&source, &trees);
	if (!root)
		return cli_fail(EXIT_FAILED, "memory is out");
	if (show_write(root, &trees, &out, &err) < 0)
		return cli_fail_err(&err);
	return print(cli, file, buf_view(&out));
}

int policy_show(struct cli *cli)
{
	auto_type(buf_release) struct buf text;
	struct policy *policy;

	buf_init(&text, 0);
	if (arguments_words(cli, 1, 1) < 0)
		return cli_usage(cli);
	policy = policy_file_read(cli->argv[optind], NULL, &text);
	if (!policy)
		return EXIT_INVALID;
	policy_free(policy);
	return show(cli, buf_view(&text), cli->argv[optind]);
}
