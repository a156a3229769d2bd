#include "common/cleanup.h"
#include "policies/compile.h"

struct command_nodes {
	const struct text_node *autonomy, *allow, *deny, *actions, *hold;
};

const char *command_autonomy_name(enum command_autonomy autonomy)
{
	static const char *const names[AUTONOMY_MAX] = {
		[AUTONOMY_READ_ONLY] = "read-only",
		[AUTONOMY_SUPERVISED] = "supervised",
		[AUTONOMY_FULL] = "full",
	};

	return names[autonomy];
}

/* A word that a command line could have, as it is. */
static bool is_plain(struct bytes word)
{
	for (size_t i = 0; i < word.len; i++)
		if (word.data[i] < ' ' || word.data[i] == 0x7f ||
		    strchr("'\"\\`$;&|<>(){}[]?#", word.data[i]))
			return false;
	return true;
}

static bool split_entry(struct reader *reader, const struct text_node *node,
			struct command_entry *entry)
{
	struct bytes *words =
		arena_array(reader->arena, COMMAND_WORDS_MAX, sizeof(*words));
	struct bytes rest = entry->text;
	struct bytes word;

	if (!words)
		return reader_error(reader, node, "no memory");
	entry->words = words;
	while (rest.len > 0) {
		bool has_more = bytes_split(&rest, ' ', &word);

		if (word.len == 0 || (has_more && rest.len == 0))
			return reader_error(reader, node,
					    "its words are separated by one "
					    "space each");
		if (entry->word_count == COMMAND_WORDS_MAX)
			return reader_error(reader, node, "more than %d words",
					    COMMAND_WORDS_MAX);
		words[entry->word_count++] = word;
	}
	return true;
}

static bool entry_item(struct reader *reader, const struct text_node *node,
		       void *item)
{
	struct command_entry *entry = item;
	struct bytes name;

	if (!reader_word(reader, node, &entry->text))
		return false;
	if (!is_plain(entry->text))
		return reader_error(reader, node,
				    "a command is words without quotes and "
				    "operators, as \"git push\"");
	if (!split_entry(reader, node, entry))
		return false;
	name = entry->words[0];
	if (bytes_find(name, '*', 0) >= 0 &&
	    (!bytes_is(name, "*") || entry->word_count > 1))
		return reader_error(reader, node,
				    "a command's name has no \"*\"; \"*\" "
				    "alone is every command");
	if (bytes_find(name, '=', 0) >= 0)
		return reader_error(reader, node,
				    "a command's name has no \"=\"");
	return true;
}

static void read_entries(struct compile *compile, const struct text_node *node,
			 struct command_entries *entries)
{
	void *items = NULL;

	if (node && node->count > COMMAND_LIST_MAX) {
		(void)reader_error(&compile->reader, node,
				   "more than %d entries", COMMAND_LIST_MAX);
		return;
	}
	if (node &&
	    reader_list(&compile->reader, node, sizeof(struct command_entry),
			entry_item, &items, &entries->count))
		entries->items = items;
	else
		entries->count = 0;
}

/* "200/1h" */
static void read_actions(struct compile *compile, const struct text_node *node,
			 struct policy_commands *commands)
{
	struct reader *reader = &compile->reader;
	struct text_node count, period;

	if (!reader_kind(reader, node, TEXT_SCALAR))
		return;
	period = count = *node;
	if (!bytes_split(&period.value, '/', &count.value)) {
		(void)reader_error(reader, node, "this must be like 200/1h");
		return;
	}
	period.at += count.value.len + 1 + !node->is_plain;
	if (reader_number(reader, &count, 1, COMMAND_ACTIONS_MAX,
			  &commands->actions) &&
	    reader_duration(reader, &period, &commands->actions_ms) &&
	    commands->actions_ms > COMMAND_ACTIONS_MS_MAX)
		(void)reader_error(reader, &period, "more than 7 days");
}

/* Only who supervises asks anybody. */
static void read_hold(struct compile *compile, const struct text_node *node,
		      struct policy_commands *commands)
{
	uint64_t ms;

	if (!reader_duration(&compile->reader, node, &ms))
		return;
	if (commands->autonomy != AUTONOMY_SUPERVISED)
		(void)reader_error(&compile->reader, node,
				   "only autonomy: supervised asks a person");
	else if (ms > POLICY_HOLD_MAX_MS)
		(void)reader_error(&compile->reader, node,
				   "more than %d minutes",
				   POLICY_HOLD_MAX_MS / 60000);
	else
		commands->hold_ms = (uint32_t)ms;
}

void compile_commands(struct compile *compile, const struct text_node *node)
{
	static const struct reader_field fields[] = {
		{"autonomy", reader_keep,
		 offsetof(struct command_nodes, autonomy)},
		{"allow", reader_keep, offsetof(struct command_nodes, allow)},
		{"deny", reader_keep, offsetof(struct command_nodes, deny)},
		{"actions", reader_keep,
		 offsetof(struct command_nodes, actions)},
		{"hold", reader_keep, offsetof(struct command_nodes, hold)},
	};
	static const struct choice choices[] = {
		{"read-only", AUTONOMY_READ_ONLY},
		{"supervised", AUTONOMY_SUPERVISED},
		{"full", AUTONOMY_FULL},
	};
	struct policy_commands *commands = &compile->policy->commands;
	struct command_nodes nodes = {NULL, NULL, NULL, NULL, NULL};
	int autonomy = AUTONOMY_SUPERVISED;

	if (!node || !reader_map(&compile->reader, node, fields,
				 ARRAY_SIZE(fields), &nodes))
		return;
	commands->is_set = true;
	if (nodes.autonomy)
		(void)reader_choice(&compile->reader, nodes.autonomy, choices,
				    ARRAY_SIZE(choices), &autonomy);
	commands->autonomy = (enum command_autonomy)autonomy;
	read_entries(compile, nodes.allow, &commands->allow);
	read_entries(compile, nodes.deny, &commands->deny);
	if (nodes.actions)
		read_actions(compile, nodes.actions, commands);
	commands->hold_ms = POLICY_HOLD_DEFAULT_MS;
	if (nodes.hold)
		read_hold(compile, nodes.hold, commands);
}
