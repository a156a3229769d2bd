#include <stdlib.h>

#include "common/cleanup.h"
#include "policies/compile_rule.h"
#include "policies/preset.h"
#include "policies/rule_index.h"

#define PRESETS_MAX 16 /* in `extends` */

/* The rules of one text. */
struct rule_list {
	struct text_source source;
	struct bytes preset;
	const struct text_node *rules; /* may be NULL */
};

/* ---- presets ---- */

static bool preset_item(struct reader *reader, const struct text_node *node,
			void *item)
{
	const char *names[PRESETS_MAX * 4];
	size_t count = 0;
	struct bytes name;

	if (!reader_name(reader, node, &name))
		return false;
	if (preset_text(name).data) {
		memcpy(item, &name, sizeof(name));
		return true;
	}
	for (; count < ARRAY_SIZE(names) && presets_embedded[count].name;
	     count++)
		names[count] = presets_embedded[count].name;
	return reader_error(reader, node, "there is no preset \"%.*s\"%s",
			    BYTES_ARGS(name),
			    reader_hint(reader, name, names, count));
}

struct preset_nodes {
	const struct text_node *version, *network;
};

/* A preset says version and network.rules, and nothing else. */
static const struct text_node *preset_rules(struct reader *reader,
					    const struct text_node *root)
{
	static const struct reader_field fields[] = {
		{"version", reader_keep,
		 offsetof(struct preset_nodes, version)},
		{"network", reader_keep,
		 offsetof(struct preset_nodes, network)},
	};
	static const struct reader_field network[] = {
		{"rules", reader_keep, 0}};
	struct preset_nodes nodes = {NULL, NULL};
	const struct text_node *rules = NULL;
	uint64_t version;

	if (!reader_map(reader, root, fields, ARRAY_SIZE(fields), &nodes) ||
	    !reader_require(reader, root, "version") ||
	    !reader_require(reader, root, "network") ||
	    !reader_number(reader, nodes.version, 1, 1, &version) ||
	    !reader_map(reader, nodes.network, network, ARRAY_SIZE(network),
			&rules))
		return NULL;
	return rules;
}

static void load_preset(struct compile *compile,
			const struct text_node *extends, struct bytes name,
			struct rule_list *list)
{
	struct reader reader = compile->reader;
	const char *file =
		arena_format(reader.arena, "preset %.*s", BYTES_ARGS(name));
	const struct text_node *root;

	if (!compile_has_values(compile, extends, file ? file : "preset",
				preset_text(name)))
		return;
	reader.source.bytes = preset_text(name);
	reader.source.file = file ? file : "preset";
	root = text_parse(&reader.source, compile->trees);
	list->source = reader.source;
	list->preset = name;
	list->rules = root ? preset_rules(&reader, root) : NULL;
}

/* The presets of `extends` into lists[PRESETS_MAX]; how many. */
static size_t load_presets(struct compile *compile,
			   const struct text_node *extends,
			   struct rule_list *lists)
{
	struct policy_strings names = {NULL, 0};

	if (!extends ||
	    !reader_strings(&compile->reader, extends, preset_item, &names))
		return 0;
	if (names.count > PRESETS_MAX) {
		text_error(&compile->reader.source, extends->at,
			   "more than %d presets", PRESETS_MAX);
		return 0;
	}
	for (size_t i = 0; i < names.count; i++) {
		for (size_t j = 0; j < i; j++)
			if (bytes_equal(names.items[i], names.items[j]))
				text_error(&compile->reader.source, extends->at,
					   "\"%.*s\" stands here twice",
					   BYTES_ARGS(names.items[i]));
		load_preset(compile, extends, names.items[i], &lists[i]);
	}
	return names.count;
}

/* ---- rules ---- */

/* A given name and where it stands. */
struct rule_name {
	struct bytes name;
	size_t at;
};

static int compare_names(const void *a, const void *b)
{
	const struct rule_name *one = a;
	const struct rule_name *two = b;
	size_t len =
		one->name.len < two->name.len ? one->name.len : two->name.len;
	int order = len ? memcmp(one->name.data, two->name.data, len) : 0;

	if (order == 0)
		order = (one->name.len > two->name.len) -
			(one->name.len < two->name.len);
	return order ? order : (one->at > two->at) - (one->at < two->at);
}

/* Refusals and logs call a rule by its name: it must be one rule's. */
static void check_names(struct compile *compile, const struct text_node *rules)
{
	struct rule_name *names =
		arena_array(compile->trees, rules->count, sizeof(*names));
	size_t count = 0;

	for (const struct text_node *rule = names ? rules->first : NULL; rule;
	     rule = rule->next) {
		const struct text_node *name = text_child(rule, "name");

		if (name && name->kind == TEXT_SCALAR)
			names[count++] =
				(struct rule_name){name->value, name->at};
	}
	if (count)
		qsort(names, count, sizeof(*names), compare_names);
	for (size_t i = 1; i < count; i++)
		if (bytes_equal(names[i - 1].name, names[i].name))
			text_error(&compile->reader.source, names[i].at,
				   "there is a rule \"%.*s\" already",
				   BYTES_ARGS(names[i].name));
}

static void read_list(struct compile *compile, const struct rule_list *list,
		      struct policy_rule *array)
{
	struct policy *policy = compile->policy;
	struct text_source own = compile->reader.source;
	size_t index = 0;

	compile->reader.source = list->source;
	compile->preset = list->preset;
	for (const struct text_node *node = list->rules->first; node;
	     node = node->next)
		compile_rule(compile, node, index++,
			     &array[policy->rule_count++]);
	check_names(compile, list->rules);
	compile->reader.source = own;
	compile->preset = bytes_from(NULL, 0);
}

void compile_rules(struct compile *compile, const struct text_node *rules,
		   const struct text_node *extends)
{
	struct rule_list lists[1 + PRESETS_MAX] = {
		{compile->reader.source, compile->preset, rules}};
	size_t count = 1 + load_presets(compile, extends, lists + 1);
	struct policy_rule *array;
	size_t total = 0;

	for (size_t i = 0; i < count; i++) {
		struct reader reader = compile->reader;

		reader.source = lists[i].source;
		if (lists[i].rules &&
		    !reader_kind(&reader, lists[i].rules, TEXT_LIST))
			lists[i].rules = NULL;
		total += lists[i].rules ? lists[i].rules->count : 0;
	}
	array = total <= POLICY_RULES_MAX ? arena_array(compile->reader.arena,
							total, sizeof(*array))
					  : NULL;
	if (!array) {
		text_error(&compile->reader.source, rules ? rules->at : 0,
			   "more than %d rules", POLICY_RULES_MAX);
		return;
	}
	compile->policy->rules = array;
	for (size_t i = 0; i < count; i++)
		if (lists[i].rules)
			read_list(compile, &lists[i], array);
	if (rule_index_build(compile->policy))
		text_error(&compile->reader.source, 0,
			   "the text is too large to be read");
}
