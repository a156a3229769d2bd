#include "policies/compile_attach.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "policies/guardrail.h"

/* Nodes and copies of a text of POLICY_TEXT_MAX: at most some 60 bytes a
 * byte of text. */
#define TREES_MAX  (192 * 1024 * 1024)
#define POLICY_MAX (128 * 1024 * 1024)

struct top_nodes {
	const struct text_node *version, *name, *extends, *network,
		*credentials, *git, *filesystem, *commands, *limits, *require,
		*quiet, *environment;
};

struct network_nodes {
	const struct text_node *standard, *rules, *tls, *addresses, *limits,
		*rate, *script;
};

static void compile_name(struct compile *compile, const struct top_nodes *nodes)
{
	static const struct choice versions[] = {{"1", 1}};
	int version;

	if (nodes->version)
		(void)reader_choice(&compile->reader, nodes->version, versions,
				    ARRAY_SIZE(versions), &version);
	if (nodes->name)
		(void)reader_name(&compile->reader, nodes->name,
				  &compile->policy->name);
}

static void compile_default(struct compile *compile,
			    const struct text_node *node)
{
	static const struct choice choices[] = {{"deny", POLICY_DENY},
						{"ask", POLICY_ASK}};
	int value;

	if (node && reader_choice(&compile->reader, node, choices,
				  ARRAY_SIZE(choices), &value))
		compile->policy->fallback = (enum policy_action)value;
}

static void compile_sections(struct compile *compile,
			     const struct top_nodes *nodes)
{
	static const struct reader_field fields[] = {
		{"default", reader_keep,
		 offsetof(struct network_nodes, standard)},
		{"rules", reader_keep, offsetof(struct network_nodes, rules)},
		{"tls", reader_keep, offsetof(struct network_nodes, tls)},
		{"addresses", reader_keep,
		 offsetof(struct network_nodes, addresses)},
		{"limits", reader_keep, offsetof(struct network_nodes, limits)},
		{"rate", reader_keep, offsetof(struct network_nodes, rate)},
		{"script", reader_keep, offsetof(struct network_nodes, script)},
	};
	struct network_nodes network = {0};

	compile_name(compile, nodes);
	if (nodes->network)
		(void)reader_map(&compile->reader, nodes->network, fields,
				 ARRAY_SIZE(fields), &network);
	compile_default(compile, network.standard);
	compile_tls(compile, network.tls);
	compile_addresses(compile, network.addresses);
	compile_network_limits(compile, network.limits);
	compile_rate(compile, network.rate, &compile->policy->rate);
	compile_script(compile, network.script);
	compile_credentials(compile, nodes->credentials);
	compile_git(compile, nodes->git);
	compile_rules(compile, network.rules, nodes->extends);
	compile_bindings(compile, nodes->credentials);
	compile_filesystem(compile, nodes->filesystem);
	compile_commands(compile, nodes->commands);
	compile_limits(compile, nodes->limits);
	compile_require(compile, nodes->require);
	compile_quiet(compile, nodes->quiet);
	compile_environment(compile, nodes->environment);
}

static void check_keys(struct compile *compile, const struct text_node *map,
		       const char *const *keys)
{
	for (const struct text_node *item = map->first; item;
	     item = item->next) {
		size_t i = 0;

		while (keys[i] && !bytes_is(item->key, keys[i]))
			i++;
		if (!keys[i])
			text_error(&compile->reader.source, item->key_at,
				   "a guardrail has no \"%.*s\" here",
				   BYTES_ARGS(item->key));
	}
}

/* What would add something, or would not narrow. */
static void check_guardrail(struct compile *compile,
			    const struct text_node *root)
{
	static const char *const keys[] = {"version", "name", "network", "git",
					   NULL};
	static const char *const network_keys[] = {"default",	"rules",  "tls",
						   "addresses", "limits", NULL};
	const struct text_node *network = text_child(root, "network");

	check_keys(compile, root, keys);
	if (network && network->kind == TEXT_MAP)
		check_keys(compile, network, network_keys);
}

static void compile_top(struct compile *compile, const struct text_node *root)
{
	static const struct reader_field fields[] = {
		{"version", reader_keep, offsetof(struct top_nodes, version)},
		{"name", reader_keep, offsetof(struct top_nodes, name)},
		{"extends", reader_keep, offsetof(struct top_nodes, extends)},
		{"network", reader_keep, offsetof(struct top_nodes, network)},
		{"credentials", reader_keep,
		 offsetof(struct top_nodes, credentials)},
		{"git", reader_keep, offsetof(struct top_nodes, git)},
		{"filesystem", reader_keep,
		 offsetof(struct top_nodes, filesystem)},
		{"commands", reader_keep, offsetof(struct top_nodes, commands)},
		{"limits", reader_keep, offsetof(struct top_nodes, limits)},
		{"require", reader_keep, offsetof(struct top_nodes, require)},
		{"ignore-violations", reader_keep,
		 offsetof(struct top_nodes, quiet)},
		{"environment", reader_keep,
		 offsetof(struct top_nodes, environment)},
		{"guardrail", NULL, 0},
	};
	struct top_nodes nodes = {0};

	if (!reader_map(&compile->reader, root, fields, ARRAY_SIZE(fields),
			&nodes))
		return;
	(void)reader_require(&compile->reader, root, "version");
	if (compile->policy->is_guardrail)
		check_guardrail(compile, root);
	compile_sections(compile, &nodes);
}

/* What ${session.*} is when a text is checked alone. */
static const struct policy_variables placeholders = {
	.session_id = BYTES_LITERAL("session"),
	.branch = BYTES_LITERAL("session/branch"),
	.repo = BYTES_LITERAL("https://forge.invalid/owner/name"),
};

static struct policy *compile_text(struct bytes text,
				   const struct policy_variables *variables,
				   struct policy_errors *errors,
				   bool is_guardrail)
{
	struct policy *policy = calloc(1, sizeof(*policy));
	auto_type(arena_release) struct arena trees;
	struct compile compile = {
		.reader.source = {text, errors->file, errors},
		.reader.owner = &compile,
		.trees = &trees,
		.policy = policy,
		.variables = variables ? variables : &placeholders,
		.is_check = !variables,
		.preset = bytes_str(is_guardrail ? "guardrail" : NULL),
	};
	const struct text_node *root;

	errors->count = 0;
	arena_init(&trees, TREES_MAX);
	if (!policy) {
		text_error(&compile.reader.source, 0, "no memory");
		return NULL;
	}
	policy->is_guardrail = is_guardrail;
	arena_init(&policy->arena, POLICY_MAX);
	compile.reader.arena = &policy->arena;
	root = text_parse(&compile.reader.source, &trees);
	if (root)
		compile_top(&compile, root);
	if (errors->count == 0)
		return policy;
	policy_free(policy);
	return NULL;
}

struct policy *policy_compile(struct bytes text,
			      const struct policy_variables *variables,
			      struct policy_errors *errors)
{
	return compile_text(text, variables, errors, false);
}

struct policy *guardrail_compile(struct bytes text,
				 const struct policy_variables *variables,
				 struct policy_errors *errors)
{
	return compile_text(text, variables, errors, true);
}

void policy_free(struct policy *policy)
{
	if (!policy)
		return;
	policy_free(policy->guardrail);
	arena_release(&policy->arena);
	free(policy);
}
