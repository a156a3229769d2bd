/*
 * The paths in a line.
 */
#include "common/cleanup.h"
#include "policies/command/judge_parts.h"

static const char unclear[] = "a path in it could be one that is hidden or "
			      "outside";

static void tell_path(struct judge *judge, enum path_answer answer,
		      struct finding finding)
{
	if (answer == PATH_UNCLEAR) {
		finding.level = level_ambiguous(unclear);
		judge_level(judge, &finding);
	} else if (answer != PATH_FINE) {
		finding.level = level_high(answer == PATH_HIDDEN
						   ? "the policy hides this "
						     "path"
						   : "this path is outside of "
						     "what the policy opens");
		judge_tell(judge, &finding, VERDICT_DENY, CONSTRAINT_filesystem,
			   answer == PATH_HIDDEN ? "filesystem.hide"
						 : "filesystem");
	}
}

/* grep PATTERN, sed SCRIPT: the first word is no path, unless an option says
 * that it is one. */
static const struct shell_word *text_of(const struct command_call *call)
{
	if (!text_is_one_of(
		    call_name(call),
		    "grep egrep fgrep zgrep rg sed awk gawk mawk jq tr"))
		return NULL;
	return call_has_option(call, "ef", "regexp file expression from-file")
		       ? NULL
		       : call_operand(call, 0);
}

void judge_paths(struct judge *judge, const struct command_call *call,
		 size_t at, size_t end)
{
	const struct shell_word *text = text_of(call);
	enum path_answer worst = PATH_FINE;

	if (text_is_one_of(call_name(call), "echo printf expr seq true false : "
					    "sleep kill export read set unset"))
		return;
	for (size_t i = 1; i < call->count; i++) {
		enum path_answer answer = PATH_FINE;

		if (&call->words[i] != text)
			answer = path_of_word(&judge->places, &call->words[i]);
		if (answer > worst)
			worst = answer;
	}
	tell_path(judge, worst,
		  (struct finding){.at = at, .end = end, .call = call});
}

static bool is_write(enum shell_redirect_kind kind)
{
	return kind == REDIRECT_OUT || kind == REDIRECT_APPEND ||
	       kind == REDIRECT_READ_WRITE;
}

static bool is_device(const struct shell_word *target)
{
	return word_is_one_of(target, "/dev/null /dev/stdout /dev/stderr "
				      "/dev/tty /dev/fd/1 /dev/fd/2");
}

static void judge_redirect(struct judge *judge,
			   const struct shell_redirect *redirect,
			   struct finding finding)
{
	const struct shell_word *target = &redirect->target;
	enum path_answer answer;

	if (bytes_starts_with(target->text, bytes_str("/dev/tcp/")) ||
	    bytes_starts_with(target->text, bytes_str("/dev/udp/"))) {
		finding.level = level_high("it opens a connection");
		judge_level(judge, &finding);
		return;
	}
	if (is_device(target))
		return;
	answer = path_of_target(&judge->places, target,
				is_write(redirect->kind));
	tell_path(judge, answer, finding);
	finding.level = level_medium("it writes a file");
	if (is_write(redirect->kind) && answer == PATH_FINE)
		judge_level(judge, &finding);
}

void judge_redirects(struct judge *judge, const struct shell_command *command,
		     const struct command_call *call)
{
	const struct finding finding = {
		.at = judge->is_fixed ? judge->fixed_at : command->at,
		.end = judge->is_fixed ? judge->fixed_end : command->end,
		.call = call,
	};

	for (size_t i = 0; i < command->redirect_count; i++) {
		enum shell_redirect_kind kind = command->redirects[i].kind;

		if (kind == REDIRECT_IN || is_write(kind))
			judge_redirect(judge, &command->redirects[i], finding);
	}
}

/* Without `command` and `builtin` before it. */
static struct command_call bare_call(struct command_call call)
{
	while (call.count > 1 &&
	       text_is_one_of(call_name(&call), "command builtin")) {
		size_t from = 1;

		while (from + 1 < call.count &&
		       word_may_be_option(&call.words[from]))
			from++;
		call = call_from(&call, from);
	}
	return call;
}

/* Could the code of `eval cd x` lead elsewhere? */
static bool may_change_directory(const struct command_call *call)
{
	static const char *const changes[] = {"cd", "chdir", "pushd", "popd"};

	if (!text_is_one_of(call_name(call), "eval trap"))
		return false;
	for (size_t i = 1; i < call->count; i++)
		for (size_t c = 0; c < ARRAY_SIZE(changes); c++)
			if (bytes_find_bytes(call->words[i].text,
					     bytes_str(changes[c]), 0) >= 0)
				return true;
	return false;
}

/* Where the line's relative paths begin. */
void judge_directories(struct judge *judge, const struct shell_line *line)
{
	for (const struct shell_command *command = line->first; command;
	     command = command->next) {
		struct command_call call = {command->words, command->word_count,
					    false, false};
		const struct shell_word *to;

		if (call.count == 0)
			continue;
		call = bare_call(call);
		if (may_change_directory(&call))
			judge->places.cwd_count = 0;
		if (!text_is_one_of(call_name(&call), "cd pushd popd chdir"))
			continue;
		to = call_operand(&call, 0);
		path_change(&judge->places, to);
		/* It may run again, from where it led. */
		if (text_is_one_of(call_name(&call), "pushd popd") ||
		    (line->has_loop && to && to->text.len > 0 &&
		     to->text.data[0] != '/'))
			judge->places.cwd_count = 0;
	}
}

/* --directory=DIR, --chd DIR. */
static bool names_directory(struct bytes head)
{
	return head.len > 1 &&
	       (bytes_starts_with(bytes_str("directory"), head) ||
		bytes_starts_with(bytes_str("chdir"), head) ||
		text_is_one_of(head, "cd cwd prefix project"));
}

/* The value that stands in a word, "-Cdir"; empty: it is the next word. False:
 * it names no directory. */
static bool directory_in(struct bytes text, bool is_sudo, struct bytes *value)
{
	struct bytes head;

	*value = bytes_slice(text, 2, text.len);
	if (bytes_starts_with(text, bytes_str("--"))) {
		if (!bytes_split(value, '=', &head))
			*value = bytes_from(NULL, 0);
		return names_directory(head);
	}
	for (size_t i = 1; i < text.len; i++)
		if (text.data[i] == 'C' || (is_sudo && text.data[i] == 'D')) {
			*value = bytes_slice(text, i + 1, text.len);
			return true;
		}
	return false;
}

void judge_own_directory(struct judge *judge, const struct command_call *call)
{
	if (!text_is_one_of(call_name(call),
			    "git make gmake ninja env sudo tar bsdtar npm pnpm "
			    "yarn poetry uv cargo conda mamba"))
		return;
	for (size_t i = 1; i < call->count; i++) {
		struct shell_word word = call->words[i];
		struct bytes value;

		if (word.shape.len < 2 || word.shape.data[0] != '-' ||
		    !directory_in(word.shape, bytes_is(call_name(call), "sudo"),
				  &value))
			continue;
		if (value.len > 0)
			word.shape = value;
		else if (i + 1 < call->count)
			word = call->words[i + 1];
		path_change(&judge->places, &word);
	}
}
