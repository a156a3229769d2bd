#include "policies/command/call.h"

bool text_is_one_of(struct bytes text, const char *list)
{
	struct bytes rest = bytes_str(list);
	struct bytes one;

	while (rest.len > 0) {
		(void)bytes_split(&rest, ' ', &one);
		if (one.len > 0 && bytes_equal(one, text))
			return true;
	}
	return false;
}

bool word_is_one_of(const struct shell_word *word, const char *list)
{
	return word_is_clear(word) && text_is_one_of(word->text, list);
}

bool word_may_be_option(const struct shell_word *word)
{
	uint8_t first = word->shape.len > 0 ? word->shape.data[0] : 0;

	return word->flags & SHELL_SPLITS || first == '-' ||
	       first == SHELL_ANYTHING || first == SHELL_STAR ||
	       first == SHELL_ONE;
}

struct bytes call_name(const struct command_call *call)
{
	struct bytes name = call->words[0].text;
	ptrdiff_t slash;

	if (!word_is_clear(&call->words[0]))
		return bytes_from(NULL, 0);
	while ((slash = bytes_find(name, '/', 0)) >= 0)
		name = bytes_slice(name, (size_t)slash + 1, name.len);
	return name;
}

bool call_is_system(const struct command_call *call)
{
	static const char *const places[] = {
		"/bin/",      "/usr/bin/",	 "/sbin/",
		"/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/"};
	struct bytes path = call->words[0].text;
	struct bytes name = call_name(call);

	if (path.len == name.len)
		return true;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (bytes_equal(bytes_slice(path, 0, path.len - name.len),
				bytes_str(places[i])))
			return true;
	return false;
}

struct command_call call_from(const struct command_call *call, size_t from)
{
	struct command_call inner = *call;

	inner.words += from;
	inner.count -= from;
	return inner;
}

/* "--outp", "--output=x" are --output. */
static bool is_long(struct bytes text, const char *longs)
{
	struct bytes rest = bytes_str(longs);
	struct bytes given, one;

	text = bytes_slice(text, 2, text.len);
	(void)bytes_split(&text, '=', &given);
	while (rest.len > 0) {
		(void)bytes_split(&rest, ' ', &one);
		if (given.len > 0 && one.len > 0 &&
		    bytes_starts_with(one, given))
			return true;
	}
	return false;
}

static bool is_option(struct bytes text, const char *letters, const char *longs)
{
	if (bytes_starts_with(text, bytes_str("--")))
		return is_long(text, longs);
	for (size_t i = 1; i < text.len; i++)
		if (strchr(letters, text.data[i]))
			return true;
	return false;
}

bool call_has_option(const struct command_call *call, const char *letters,
		     const char *longs)
{
	if (call->more_words)
		return true;
	for (size_t i = 1; i < call->count; i++) {
		const struct shell_word *word = &call->words[i];

		if (word_is(word, "--") &&
		    (i == 1 || !word_may_be_option(word - 1)))
			return false;
		if (!word_may_be_option(word))
			continue;
		if (!word_is_clear(word) ||
		    is_option(word->text, letters, longs))
			return true;
	}
	return false;
}

bool call_is_unclear(const struct command_call *call)
{
	for (size_t i = 1; i < call->count; i++)
		if (!word_is_clear(&call->words[i]))
			return true;
	return call->more_words;
}

const struct shell_word *call_operand(const struct command_call *call, size_t n)
{
	bool ended = false;

	for (size_t i = 1; i < call->count; i++) {
		const struct shell_word *word = &call->words[i];

		if (!ended && word_is(word, "--"))
			ended = true;
		else if ((ended || word->text.len < 2 ||
			  word->text.data[0] != '-') &&
			 n-- == 0)
			return word;
	}
	return NULL;
}

static bool is_program_path(const struct command_call *call)
{
	return call->words[0].text.len > call_name(call).len;
}

struct command_level command_level_of(const struct command_call *call)
{
	struct bytes name = call_name(call);
	struct command_level level;

	if (name.len == 0)
		return level_ambiguous("the command's name is not known");
	if (name.data[0] == '-')
		return level_ambiguous("an option stands where a command "
				       "should");
	if (!level_of_builtin(call, &level) && !level_of_file(call, &level) &&
	    !level_of_text(call, &level) &&
	    !level_of_interpreter(call, &level) &&
	    !level_of_git(call, &level) && !level_of_option(call, &level) &&
	    !level_from_table(name, &level))
		level = level_medium(is_program_path(call)
					     ? "a program of the workspace"
					     : "a program that is not in the "
					       "table of risks");
	if (level.risk == RISK_LOW && !call_is_system(call))
		level = level_medium("a program that only has the name of one "
				     "that reads");
	return level;
}
