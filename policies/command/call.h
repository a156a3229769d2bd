/*
 * A command with its words, as it would be executed: from a line, or from
 * within a wrapper (`env`, `timeout 5`, `find -exec`). What is not known of a
 * word counts as whatever would be worst.
 */
#ifndef POLICIES_COMMAND_CALL_H
#define POLICIES_COMMAND_CALL_H

#include "policies/command/shell.h"

struct command_call {
	const struct shell_word *words; /* at least the name */
	size_t count;
	bool reads_pipe; /* its input is not the caller's */
	bool more_words; /* it gets words that are not known (xargs) */
};

enum command_risk { RISK_LOW, RISK_MEDIUM, RISK_HIGH, RISK_MAX };

/* What a command can do. */
struct command_level {
	enum command_risk risk;
	const char *why;   /* in words; NULL where the risk is low */
	bool is_ambiguous; /* it could not be told: high */
};

static inline bool word_is_clear(const struct shell_word *word)
{
	return !(word->flags & SHELL_UNCLEAR);
}

/* Is it one word for the command, whatever its text may be? */
static inline bool word_is_single(const struct shell_word *word)
{
	return !(word->flags & (SHELL_SPLITS | SHELL_GLOB | SHELL_BRACE));
}

/* Is the word that, and nothing but it? */
static inline bool word_is(const struct shell_word *word, const char *text)
{
	return word_is_clear(word) && bytes_is(word->text, text);
}

/* Is it one of a list that is separated by blanks? */
bool text_is_one_of(struct bytes text, const char *list);
bool word_is_one_of(const struct shell_word *word, const char *list);
/* Could it, or a word that it is split into, begin with a "-"? */
bool word_may_be_option(const struct shell_word *word);

/* The name without the directory; empty: it is not known. */
struct bytes call_name(const struct command_call *call);
/* Is the program one of the system's: without a directory, or in one of the
 * usual? */
bool call_is_system(const struct command_call *call);
/* The call of the words from that one on. */
struct command_call call_from(const struct command_call *call, size_t from);

/* Does the call have, or could it have, an option: one of the letters (in a
 * cluster too), or a long one, also shortened, of a list separated by blanks?
 * Words behind "--" are none, unless that can be an option's value. */
bool call_has_option(const struct command_call *call, const char *letters,
		     const char *longs);
/* Is there any word behind the name that is not clear? */
bool call_is_unclear(const struct command_call *call);
/* The n-th word that is no option (options of call have no values of their
 * own); NULL: none. */
const struct shell_word *call_operand(const struct command_call *call,
				      size_t n);

/* How far a call can go; what it calls in turn is judged by itself. */
struct command_level command_level_of(const struct command_call *call);

/* The parts of it: false when the name is none of theirs. */
bool level_from_table(struct bytes name, struct command_level *level);
bool level_of_file(const struct command_call *call,
		   struct command_level *level);
bool level_of_text(const struct command_call *call,
		   struct command_level *level);
bool level_of_builtin(const struct command_call *call,
		      struct command_level *level);
bool level_of_interpreter(const struct command_call *call,
			  struct command_level *level);
bool level_of_option(const struct command_call *call,
		     struct command_level *level);
bool level_of_git(const struct command_call *call, struct command_level *level);
/* Can a variable of this name change what programs do? */
bool variable_is_dangerous(struct bytes name);

/* "Low": can only read. */
static inline struct command_level level_low(void)
{
	return (struct command_level){RISK_LOW, NULL, false};
}
static inline struct command_level level_medium(const char *why)
{
	return (struct command_level){RISK_MEDIUM, why, false};
}
static inline struct command_level level_high(const char *why)
{
	return (struct command_level){RISK_HIGH, why, false};
}
static inline struct command_level level_ambiguous(const char *why)
{
	return (struct command_level){RISK_HIGH, why, true};
}

#endif
