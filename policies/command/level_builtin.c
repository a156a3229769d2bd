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

static struct command_level level_read(const struct command_call *call)
{
	for (size_t i = 1; i < call->count; i++)
		if (!word_is_clear(&call->words[i]) ||
		    variable_is_dangerous(call->words[i].text) ||
		    bytes_find(call->words[i].text, '[', 0) >= 0)
			return level_high("it can set a variable that changes "
					  "what programs do");
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
		{"read", level_read},
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
