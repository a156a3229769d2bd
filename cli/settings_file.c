#include "cli/settings_file.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/file_kind.h"
#include "common/cleanup.h"
#include "policies/settings/settings.h"
#include "sandbox-host/environment.h"

#define VARIABLES_MAX 1024
#define NAMES_MAX     (256 * 1024)
#define COMMAND_MAX   (4 * 1024 * 1024)

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

/* As srt has it, with blanks between. NULL: no memory, or words is. */
static const char *join(struct arena *arena, char *const *words)
{
	auto_type(buf_release) struct buf out;

	buf_init(&out, COMMAND_MAX);
	for (; words && *words; words++)
		if ((buf_len(&out) > 0 && buf_add_byte(&out, ' ') < 0) ||
		    buf_add_str(&out, *words) < 0)
			return NULL;
	return words ? arena_str(arena, buf_view(&out)) : NULL;
}

/* Where they are to hold; everything lives in source. */
struct source {
	struct arena arena;
	const char *names[VARIABLES_MAX];
	char cwd[PATH_MAX];
	struct settings_facts facts;
};

static int look_around(struct source *source, const char *file,
		       char *const *words, struct buf *notes)
{
	arena_init(&source->arena, NAMES_MAX + COMMAND_MAX);
	source->facts = (struct settings_facts){
		.file = file,
		.home = bytes_str(getenv("HOME")),
		.variables = source->names,
	};
	if (!getcwd(source->cwd, sizeof(source->cwd))) {
		(void)buf_add_str(notes, "the current directory is gone\n");
		return -1;
	}
	source->facts.cwd = bytes_str(source->cwd);
	source->facts.variable_count =
		take_variables(&source->arena, source->names);
	source->facts.command = join(&source->arena, words);
	return 0;
}

int settings_file_load(const char *path, struct buf *text, struct buf *notes)
{
	struct err err;

	if (!path)
		return buf_add_str(text, SETTINGS_DEFAULT_TEXT);
	if (cli_read_file(path, text, &err) == 0)
		return 0;
	(void)buf_add_format(notes, "%s\n", err.text);
	return -1;
}

int settings_file_read(const char *path, struct bytes text, char *const *words,
		       struct buf *policy, struct buf *notes)
{
	struct source source;
	int result = look_around(&source, path ? path : "default settings",
				 words, notes);

	if (result == 0)
		result = settings_translate(text, &source.facts, policy, notes);
	if (result < 0 && path && !file_kind_is_object(text))
		file_kind_tell(text, FILE_KIND_SETTINGS, path, notes);
	arena_release(&source.arena);
	return result;
}

int settings_file_follow(struct bytes first, struct bytes line,
			 char *const *words, struct buf *policy,
			 struct buf *notes)
{
	struct source source;
	int result = look_around(&source, "a line", words, notes);

	if (result == 0)
		result = settings_follow(first, line, &source.facts, policy,
					 notes);
	arena_release(&source.arena);
	return result;
}
