/* ignoreViolations: lists of texts, each for the commands that a key stands
 * in. */
#include "policies/quiet.h"
#include "policies/settings/settings_parts.h"

struct quiet {
	struct settings *settings;
	size_t count;
};

static bool is_all(struct bytes text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] != '*' && text.data[i] != ' ')
			return false;
	return true;
}

static void add(struct quiet *quiet, struct bytes text, const char *where)
{
	struct settings *settings = quiet->settings;

	if (is_all(text)) {
		settings_error(settings, where,
			       "this would hide every violation");
		return;
	}
	if (bytes_find(text, '*', 0) >= 0)
		settings_note(settings, where,
			      "a \"*\" in it stands for any text here");
	if (++quiet->count > QUIET_PATTERNS_MAX) {
		settings_error(settings, where, "more than %d entries",
			       QUIET_PATTERNS_MAX);
		return;
	}
	if (quiet->count == 1)
		settings_add(settings, "ignore-violations:\n");
	settings_add(settings, "  - ");
	settings_add_quoted(settings, text);
	settings_add(settings, "\n");
}

static void check_texts(struct settings *settings, const json_t *list,
			const char *where)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (!json_is_string(json_array_get(list, i)))
			settings_error(settings, where,
				       "this must be a list of strings");
	if (!json_is_array(list))
		settings_error(settings, where,
			       "this must be a list of strings");
}

/* Is the command one of those that a key is of? */
static bool is_of_command(struct settings *settings, const char *name,
			  const char *where)
{
	const char *command = settings->facts->command;

	if (!strcmp(name, "*"))
		return true;
	if (!command)
		settings_note(settings, where,
			      "for a command that has this in it");
	return command && strstr(command, name);
}

void settings_quiet(struct settings *settings)
{
	struct quiet quiet = {.settings = settings};
	const char *name;
	json_t *list;

	json_object_foreach((json_t *)(uintptr_t)settings->quiet, name, list)
	{
		const char *where = arena_format(
			&settings->arena, "ignoreViolations.%.64s", name);

		if (!where)
			where = "ignoreViolations";
		check_texts(settings, list, where);
		if (settings->is_wrong || !is_of_command(settings, name, where))
			continue;
		for (size_t i = 0; i < json_array_size(list); i++)
			add(&quiet, settings_string(list, i), where);
	}
}
