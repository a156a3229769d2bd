#include "cli/settings_file.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "common/cleanup.h"
#include "policies/settings/settings.h"
#include "sandbox-host/environment.h"

#define VARIABLES_MAX 1024
#define NAMES_MAX     (256 * 1024)

static bool is_name(struct bytes text)
{
	for (size_t i = 0; i < text.len; i++) {
		uint8_t c = text.data[i];
		bool is_letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';

		if (c != '_' && !is_letter && (i == 0 || c < '0' || c > '9'))
			return false;
	}
	return text.len > 0;
}

/* Those of ours that are no secrets, as far as a name tells. */
static size_t take_variables(struct arena *arena,
			     const char *names[VARIABLES_MAX])
{
	size_t count = 0;

	for (char **at = environ; *at && count < VARIABLES_MAX; at++) {
		struct bytes name = bytes_from(*at, strcspn(*at, "="));
		const char *copy =
			is_name(name) ? arena_str(arena, name) : NULL;

		if (copy && !environment_is_secret(copy) &&
		    strcmp(copy, "_") != 0)
			names[count++] = copy;
	}
	return count;
}

int settings_file_read(const char *path, struct buf *policy, struct buf *notes)
{
	auto_type(buf_release) struct buf text;
	auto_type(arena_release) struct arena arena;
	const char *names[VARIABLES_MAX];
	char cwd[PATH_MAX];
	struct settings_facts facts = {
		.file = path ? path : "default settings",
		.home = bytes_str(getenv("HOME")),
		.variables = names,
	};
	struct err err;

	buf_init(&text, SETTINGS_TEXT_MAX + 1);
	arena_init(&arena, NAMES_MAX);
	if (!path)
		(void)buf_add_str(&text, SETTINGS_DEFAULT_TEXT);
	else if (cli_read_file(path, &text, &err) < 0) {
		(void)buf_add_format(notes, "%s\n", err.text);
		return -1;
	}
	if (!getcwd(cwd, sizeof(cwd))) {
		(void)buf_add_str(notes, "the current directory is gone\n");
		return -1;
	}
	facts.cwd = bytes_str(cwd);
	facts.variable_count = take_variables(&arena, names);
	return settings_translate(buf_view(&text), &facts, policy, notes);
}
