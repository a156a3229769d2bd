/*
 * Commands that read texts, and can do more by their options or scripts.
 */
#include "common/cleanup.h"
#include "policies/command/call.h"

/* ---- sed ---- */

/* Behind a "[" of a regular expression, to behind its "]". False: none, or the
 * delimiter is in it, which ends the expression for some seds alone. */
static bool skip_bracket(struct bytes script, size_t *at, uint8_t delimiter)
{
	size_t first = *at;

	if (first < script.len && script.data[first] == '^')
		first++;
	for (size_t i = first; i < script.len; i++) {
		uint8_t c = script.data[i];
		uint8_t next = i + 1 < script.len ? script.data[i + 1] : 0;

		if (c == delimiter || c == '\n' || c == '\\')
			return false;
		if (c == ']' && i > first) {
			*at = i + 1;
			return true;
		}
		/* [:alpha:] */
		if (c == '[' && strchr(":.=", next)) {
			while (++i < script.len && script.data[i] != ']')
				;
		}
	}
	return false;
}

/* Behind a delimiter at *at, to behind the next one; false: there is none. */
static bool skip_delimited(struct bytes script, size_t *at, uint8_t delimiter,
			   bool is_regex)
{
	while (*at < script.len && script.data[*at] != delimiter) {
		uint8_t c = script.data[*at];

		if (c == '\n')
			return false;
		*at += c == '\\' ? 2 : 1;
		if (c == '[' && is_regex &&
		    !skip_bracket(script, at, delimiter))
			return false;
	}
	return (*at)++ < script.len;
}

static void skip_set(struct bytes script, size_t *at, const char *set)
{
	while (*at < script.len && strchr(set, script.data[*at]))
		(*at)++;
}

/* 3, $, /x/, and a second one behind a comma. */
static bool skip_addresses(struct bytes script, size_t *at)
{
	do {
		skip_set(script, at, "0123456789$~+ ");
		if (*at < script.len && script.data[*at] == '/') {
			(*at)++;
			if (!skip_delimited(script, at, '/', true))
				return false;
			skip_set(script, at, "IM ");
		}
		if (*at >= script.len || script.data[*at] != ',')
			break;
		(*at)++;
	} while (true);
	skip_set(script, at, "! ");
	return true;
}

/* Of a label. */
static bool is_letter(struct bytes script, size_t at)
{
	uint8_t c = at < script.len ? script.data[at] : 0;

	return c == '_' || (c >= '0' && c <= '9') ||
	       ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static bool skip_command(struct bytes script, size_t *at)
{
	uint8_t command = *at < script.len ? script.data[(*at)++] : 0;

	if (command == 's' || command == 'y') {
		uint8_t delimiter = *at < script.len ? script.data[(*at)++] : 0;

		if (!delimiter || delimiter == '\\' || delimiter == '\n' ||
		    !skip_delimited(script, at, delimiter, command == 's') ||
		    !skip_delimited(script, at, delimiter, false))
			return false;
		skip_set(script, at, "gpiIm0123456789");
	} else if (command && strchr("aic", command)) {
		while (*at < script.len && script.data[*at] != '\n')
			*at += script.data[*at] == '\\' ? 2 : 1;
	} else if (command && strchr("dDpPqQnNhHgGxl={}", command)) {
		skip_set(script, at, "0123456789 ");
	} else if (command && strchr(":btT", command)) {
		skip_set(script, at, " ");
		while (is_letter(script, *at))
			(*at)++;
	} else {
		return false;
	}
	return true;
}

/* Nothing in it writes files or runs commands: s///e, w, r and e are not
 * looked for, what is not known here is refused. */
static bool sed_is_plain(const struct shell_word *word)
{
	struct bytes script = word->text;
	size_t at = 0;

	if (!word_is_clear(word))
		return false;
	while (at < script.len) {
		skip_set(script, &at, " \t\n;}");
		if (at >= script.len)
			break;
		if (!skip_addresses(script, &at) || !skip_command(script, &at))
			return false;
		skip_set(script, &at, " ");
		if (at < script.len && !strchr(";\n}", script.data[at]) &&
		    script.data[at - 1] != '{')
			return false;
	}
	return true;
}

/* -i.bak; with a slash or a star the copy has another name. */
static bool keeps_copy(const struct shell_word *word)
{
	return word_is_clear(word) &&
	       bytes_starts_with(word->text, bytes_str("-i.")) &&
	       bytes_find(word->text, '/', 0) < 0 &&
	       bytes_find(word->text, '*', 0) < 0;
}

static struct command_level level_sed(const struct command_call *call)
{
	bool has_script = false;
	bool edits = false;

	for (size_t i = 1; i < call->count; i++) {
		const struct shell_word *word = &call->words[i];
		bool is_script = false;

		if (word_is_one_of(word, "-n -E -r -s -u -z --quiet --silent "
					 "--regexp-extended --null-data "
					 "--separate --posix -nE -nr -En"))
			continue;
		if (word_is_one_of(word, "-i --in-place -ni -Ei -ri") ||
		    keeps_copy(word)) {
			edits = true;
			continue;
		}
		if (word_is_one_of(word, "-e -ne --expression")) {
			is_script = ++i < call->count;
			word = &call->words[is_script ? i : i - 1];
		} else if (word_may_be_option(word)) {
			return level_high(
				"sed has an option that is not known");
		} else if (!has_script) {
			is_script = true;
		}
		if (is_script && !sed_is_plain(word))
			return level_high("sed's script could run commands or "
					  "write files");
		has_script |= is_script;
	}
	if (call->more_words)
		return level_high("sed gets words that are not known");
	return edits ? level_medium("it writes files") : level_low();
}

/* ---- awk ---- */

static struct command_level level_awk(const struct command_call *call)
{
	static const char *const marks[] = {"system", "getline", "@",
					    "close",  "fflush",	 "\\\n"};
	const struct shell_word *program = NULL;
	ptrdiff_t printed;

	for (size_t i = 1; i < call->count && !program; i++) {
		const struct shell_word *word = &call->words[i];

		if (word_is_one_of(word, "-F -v") && i + 1 < call->count &&
		    word_is_single(word + 1))
			i++;
		else if (!word_may_be_option(word))
			program = word;
		else if (!word_is_clear(word) || word->text.len < 3 ||
			 (word->text.data[1] != 'F' &&
			  word->text.data[1] != 'v'))
			return level_high("awk has an option that is not "
					  "known");
	}
	if (!program || !word_is_clear(program))
		return level_high("awk's program is not known");
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (bytes_find_bytes(program->text, bytes_str(marks[i]), 0) >=
		    0)
			return level_high("awk's program could run commands or "
					  "write files");
	/* Before any print, ">" compares, and "|" is an "or". */
	printed = bytes_find_bytes(program->text, bytes_str("print"), 0);
	if (printed >= 0 &&
	    (bytes_find(program->text, '>', (size_t)printed) >= 0 ||
	     bytes_find(program->text, '|', (size_t)printed) >= 0))
		return level_high("awk's program could run commands or write "
				  "files");
	return level_low();
}

/* ---- others ---- */

static struct command_level level_sort(const struct command_call *call)
{
	if (call_has_option(call, "", "compress-program"))
		return level_high("sort could run a program");
	return call_has_option(call, "oT", "output temporary-directory")
		       ? level_medium("it writes a file")
		       : level_low();
}

/* uniq IN OUT, xxd IN OUT */
static struct command_level level_second(const struct command_call *call)
{
	return call_operand(call, 1) || call->more_words ||
			       (bytes_is(call_name(call), "xxd") &&
				call_has_option(call, "r", "revert"))
		       ? level_medium("it writes a file")
		       : level_low();
}

static struct command_level level_rg(const struct command_call *call)
{
	return call_has_option(call, "", "pre hostname-bin")
		       ? level_high("it could run a program")
		       : level_low();
}

static struct command_level level_tree(const struct command_call *call)
{
	return call_has_option(call, "oR", "") ? level_medium("it writes files")
					       : level_low();
}

static struct command_level level_date(const struct command_call *call)
{
	return call_has_option(call, "s", "set")
		       ? level_high("it changes the system")
		       : level_low();
}

static struct command_level level_file(const struct command_call *call)
{
	return call_has_option(call, "CSz", "compile no-sandbox uncompress")
		       ? level_medium("it writes files, or runs a program")
		       : level_low();
}

static struct command_level level_hostname(const struct command_call *call)
{
	return call_operand(call, 0) || call_has_option(call, "FB", "file boot")
		       ? level_high("it changes the system")
		       : level_low();
}

bool level_of_text(const struct command_call *call, struct command_level *level)
{
	static const struct {
		const char *name;
		struct command_level (*of)(const struct command_call *call);
	} rows[] = {
		{"sed", level_sed},    {"awk", level_awk},
		{"gawk", level_awk},   {"mawk", level_awk},
		{"nawk", level_awk},   {"original-awk", level_awk},
		{"sort", level_sort},  {"uniq", level_second},
		{"xxd", level_second}, {"rg", level_rg},
		{"tree", level_tree},  {"date", level_date},
		{"file", level_file},  {"hostname", level_hostname},
	};
	struct bytes name = call_name(call);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (bytes_is(name, rows[i].name)) {
			*level = rows[i].of(call);
			return true;
		}
	return false;
}
