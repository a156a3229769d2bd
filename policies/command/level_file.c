/*
 * Commands on files whose risk depends on their options.
 */
#include "common/cleanup.h"
#include "policies/command/call.h"

static struct command_level level_rm(const struct command_call *call)
{
	if (call_has_option(call, "rR", "recursive no-preserve-root"))
		return level_high(call_is_unclear(call)
					  ? "rm could remove a whole tree: its "
					    "words are not all known"
					  : "rm -r removes a whole tree");
	return level_medium("it removes files");
}

/* u+s, 4755: set-user-id and set-group-id. */
static bool gives_rights(const struct shell_word *mode)
{
	struct bytes text;

	if (!mode || !word_is_clear(mode))
		return true;
	text = mode->text;
	if (text.len > 0 && text.data[0] >= '0' && text.data[0] <= '7') {
		while (text.len > 0 && text.data[0] == '0')
			text = bytes_slice(text, 1, text.len);
		return text.len > 3;
	}
	return bytes_find(text, 's', 0) >= 0;
}

static struct command_level level_chmod(const struct command_call *call)
{
	if (call_has_option(call, "R", "recursive"))
		return level_high("it changes the rights of a whole tree");
	if (gives_rights(call_operand(call, 0)))
		return level_high("it can give a program its owner's rights");
	return level_medium("it changes the rights of files");
}

static struct command_level level_chown(const struct command_call *call)
{
	if (call_has_option(call, "R", "recursive"))
		return level_high("it changes the owner of a whole tree");
	return level_medium("it changes the owner of files");
}

/* Could a word be that one? Enough for find's: what is not known is split
 * where it is not quoted, and may be anything. */
static bool may_be(const struct shell_word *word, const char *list)
{
	if (word_is_clear(word))
		return text_is_one_of(word->text, list);
	/* A file may have that name. */
	if (word->flags & SHELL_GLOB && word->text.data[0] == '-')
		return true;
	return word->flags & (SHELL_EXPANDS | SHELL_BRACE) &&
	       word_may_be_option(word);
}

/* Is the word behind this one its value, whatever it says? This one may be the
 * value of the word before, too. */
static bool takes_value(const struct shell_word *word)
{
	const struct shell_word *before = word - 1;

	if (word_may_be_option(before) &&
	    !word_is_one_of(before, "-o -a -or -and -not -print -print0 -prune "
				    "-xdev -mount -depth -follow -L -H -P"))
		return false;
	return word_is_one_of(word, "-name -iname -path -ipath -wholename "
				    "-regex -iregex -newer -maxdepth -mindepth "
				    "-type -size -mtime -mmin -atime -ctime "
				    "-perm -user -group -samefile");
}

static struct command_level level_find(const struct command_call *call)
{
	for (size_t i = 1; i < call->count; i++) {
		const struct shell_word *word = &call->words[i];

		if (takes_value(word) && i + 1 < call->count &&
		    word_is_single(word + 1)) {
			i++;
			continue;
		}
		if (may_be(word, "-delete"))
			return level_high(
				word_is_clear(word)
					? "find -delete removes whole "
					  "trees"
					: "find could get an action "
					  "that is not known");
		if (may_be(word, "-fprint -fprint0 -fprintf -fls"))
			return level_medium("it writes a file");
	}
	return call->more_words
		       ? level_high(
				 "find could get an action that is not known")
		       : level_low();
}

static struct command_level level_tar(const struct command_call *call)
{
	const struct shell_word *first = call_operand(call, 0);

	if (call_has_option(call, "IF",
			    "to-command checkpoint-action use-compress-program "
			    "info-script new-volume-script rsh-command "
			    "rmt-command"))
		return level_high("tar can run a program of its options");
	/* tar cIf: the first word has options, without a "-". */
	if (first == &call->words[1] &&
	    (!word_is_clear(first) || bytes_find(first->text, 'I', 0) >= 0 ||
	     bytes_find(first->text, 'F', 0) >= 0))
		return level_high("tar can run a program of its options");
	return level_medium("it writes files");
}

bool level_of_file(const struct command_call *call, struct command_level *level)
{
	static const struct {
		const char *name;
		struct command_level (*of)(const struct command_call *call);
	} rows[] = {
		{"rm", level_rm},	{"unlink", level_rm},
		{"chmod", level_chmod}, {"chown", level_chown},
		{"chgrp", level_chown}, {"find", level_find},
		{"tar", level_tar},	{"bsdtar", level_tar},
	};
	struct bytes name = call_name(call);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (bytes_is(name, rows[i].name)) {
			*level = rows[i].of(call);
			return true;
		}
	return false;
}
