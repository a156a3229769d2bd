/*
 * Builtins of shells that set what later commands see.
 */
#include "common/cleanup.h"
#include "policies/command/call.h"

/* export A=1 B: variables that change what programs do? */
static struct command_level level_export(const struct command_call *call)
{
	for (size_t i = 1; i < call->count; i++) {
		const struct shell_word *word = &call->words[i];
		struct bytes name, value = word->text;

		if (!bytes_split(&value, '=', &name) && !word_is_clear(word))
			return level_ambiguous("the variable is not known");
		if (word->shape.len > 0 &&
		    (word->shape.data[0] == SHELL_ANYTHING ||
		     (word->text.data[0] == '-' &&
		      !word_is_one_of(word, "-x -r -g -a -A -p -f -gx -rx "
					    "-xg -ga -gA"))))
			return level_ambiguous("an option of it is not known");
		if (variable_is_dangerous(name))
			return level_high(
				"it sets a variable that changes what "
				"programs do");
	}
	return call->more_words ? level_ambiguous("the variable is not known")
				: level_low();
}

/* PATH; an option with it, as -aPATH. */
static bool names_dangerous(struct bytes text)
{
	bool is_option = text.len > 0 && text.data[0] == '-';

	for (size_t i = 0; i < text.len; i++)
		if ((i == 0 || is_option) &&
		    variable_is_dangerous(bytes_slice(text, i, text.len)))
			return true;
	return false;
}

/* Without a PATH a shell looks for programs where it stands. */
static struct command_level level_read(const struct command_call *call)
{
	for (size_t i = 1; i < call->count; i++)
		if (!word_is_clear(&call->words[i]) ||
		    names_dangerous(call->words[i].text) ||
		    bytes_find(call->words[i].text, '[', 0) >= 0)
			return level_high("it can set a variable that changes "
					  "what programs do");
	return level_low();
}

/* getopts OPTIONS NAME [WORD...] */
static struct command_level level_getopts(const struct command_call *call)
{
	struct command_call named = *call;

	if (named.count > 3)
		named.count = 3;
	return level_read(&named);
}

/* wait -p NAME */
static struct command_level level_wait(const struct command_call *call)
{
	for (size_t i = 1; i < call->count; i++) {
		struct bytes text = call->words[i].text;

		if (word_is_clear(&call->words[i]) && text.len > 1 &&
		    text.data[0] == '-' && bytes_find(text, 'p', 0) > 0)
			return level_read(call);
	}
	return level_low();
}

static bool is_letters(struct bytes text, const char *letters)
{
	for (size_t i = 0; i < text.len; i++)
		if (!strchr(letters, text.data[i]))
			return false;
	return text.len > 0;
}

static struct command_level level_set(const struct command_call *call)
{
	static const char names[] = "errexit nounset pipefail xtrace verbose "
				    "noglob noclobber errtrace noexec";
	bool wants_name = false;

	for (size_t i = 1; i < call->count; i++) {
		const struct shell_word *word = &call->words[i];
		struct bytes text = word->text;

		if (word_is(word, "--"))
			return level_low();
		if (!word_is_clear(word) || text.len == 0)
			return level_high("an option of set is not known");
		if (wants_name && !text_is_one_of(text, names))
			return level_high("an option of set is not known");
		if (!wants_name &&
		    (text.data[0] == '-' || text.data[0] == '+') &&
		    !is_letters(bytes_slice(text, 1, text.len), "aefnuvxECo"))
			return level_high("an option of set is not known");
		wants_name = !wants_name &&
			     (text.data[0] == '-' || text.data[0] == '+') &&
			     text.data[text.len - 1] == 'o';
	}
	return level_low();
}

static struct command_level level_printf(const struct command_call *call)
{
	return call_has_option(call, "v", "") ? level_high("it sets a variable")
					      : level_low();
}

/* Without a command behind them, wrappers show something or do nothing. */
static struct command_level level_nothing(const struct command_call *call)
{
	(void)call;
	return level_low();
}

static struct command_level level_trap(const struct command_call *call)
{
	return call->count > 1
		       ? level_high("it changes what the shell does, or runs "
				    "text as code")
		       : level_low();
}

static struct command_level level_mapfile(const struct command_call *call)
{
	return call_has_option(call, "C", "")
		       ? level_high("it runs text as code")
		       : level_read(call);
}

static struct command_level level_jobs(const struct command_call *call)
{
	return call_has_option(call, "x", "") ? level_high("it runs a command")
					      : level_low();
}

bool level_of_builtin(const struct command_call *call,
		      struct command_level *level)
{
	static const struct {
		const char *names;
		struct command_level (*of)(const struct command_call *call);
	} rows[] = {
		{"export declare typeset readonly local", level_export},
		{"read unset", level_read},
		{"getopts", level_getopts},
		{"wait", level_wait},
		{"mapfile readarray", level_mapfile},
		{"set", level_set},
		{"printf", level_printf},
		{"trap", level_trap},
		{"jobs", level_jobs},
		{"env nice ionice timeout nohup setsid stdbuf time command "
		 "builtin exec xargs busybox toybox fakeroot chronic",
		 level_nothing},
	};
	struct bytes name = call_name(call);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (text_is_one_of(name, rows[i].names)) {
			*level = rows[i].of(call);
			return true;
		}
	return false;
}
