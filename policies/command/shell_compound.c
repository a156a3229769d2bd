/*
 * Compound commands: what they hold is read as lists, so that every command
 * in them is found.
 */
#include "common/cleanup.h"
#include "policies/command/shell_parts.h"

static bool expect(struct shell_scan *scan, const char *word)
{
	shell_blanks(scan);
	return shell_take_word(scan, word) ||
	       shell_fail(scan, "a reserved word is missing");
}

static bool expect_byte(struct shell_scan *scan, int byte)
{
	shell_blanks(scan);
	if (shell_peek(scan, 0) != byte)
		return shell_fail(scan, "a parenthesis is missing");
	scan->pos++;
	return true;
}

static bool part(struct shell_scan *scan, enum shell_place place)
{
	if (place == SHELL_IN_LOOP)
		scan->line->has_loop = true;
	return shell_nested(scan, place, scan->reads_pipe);
}

static bool read_subshell(struct shell_scan *scan)
{
	scan->pos++;
	return part(scan, SHELL_IN_SUBSHELL) && expect_byte(scan, ')');
}

static bool read_group(struct shell_scan *scan)
{
	return part(scan, SHELL_IN_GROUP) && expect(scan, "}");
}

static bool read_if(struct shell_scan *scan)
{
	do {
		if (!part(scan, SHELL_IN_GROUP) || !expect(scan, "then") ||
		    !part(scan, SHELL_IN_GROUP))
			return false;
	} while (shell_take_word(scan, "elif"));
	if (shell_take_word(scan, "else") && !part(scan, SHELL_IN_GROUP))
		return false;
	return expect(scan, "fi");
}

static bool read_body(struct shell_scan *scan)
{
	return expect(scan, "do") && part(scan, SHELL_IN_LOOP) &&
	       expect(scan, "done");
}

static bool read_while(struct shell_scan *scan)
{
	return part(scan, SHELL_IN_LOOP) && read_body(scan);
}

/* ---- for, select ---- */

bool shell_set_variable(struct shell_scan *scan, struct bytes name)
{
	size_t at = shell_here(scan);
	struct shell_word *word = arena_alloc(scan->arena, sizeof(*word));
	char *text = arena_format(scan->arena, "%.*s=", BYTES_ARGS(name));

	if (!word || !text)
		return shell_no_memory(scan);
	*word = (struct shell_word){bytes_str(text), bytes_str(text),
				    SHELL_EXPANDS, at, at + name.len};
	return shell_emit(scan, &(struct shell_command){
					.assignments = word,
					.assignment_count = 1,
					.place = scan->place,
					.depth = scan->depth,
					.at = at,
					.end = at + name.len,
				});
}

static bool skip_separator(struct shell_scan *scan)
{
	shell_blanks(scan);
	if (shell_peek(scan, 0) == ';' && shell_peek(scan, 1) != ';')
		scan->pos++;
	return shell_line_feeds(scan);
}

static bool read_for(struct shell_scan *scan)
{
	size_t len = shell_name(scan->text, scan->pos);
	struct shell_word word;

	if (shell_at(scan, "((")) {
		scan->pos += 2;
		return shell_arithmetic(scan) && skip_separator(scan) &&
		       read_body(scan);
	}
	if (len == 0)
		return shell_fail(scan, "a variable is missing");
	if (!shell_set_variable(
		    scan, bytes_slice(scan->text, scan->pos, scan->pos + len)))
		return false;
	scan->pos += len;
	if (!shell_line_feeds(scan))
		return false;
	if (shell_take_word(scan, "in"))
		while (shell_is_word_start(scan)) {
			if (!shell_word(scan, &word))
				return false;
			shell_blanks(scan);
		}
	return skip_separator(scan) && read_body(scan);
}

/* ---- case ---- */

static bool read_patterns(struct shell_scan *scan)
{
	struct shell_word word;

	if (shell_peek(scan, 0) == '(')
		scan->pos++;
	for (;;) {
		shell_blanks(scan);
		if (!shell_word(scan, &word))
			return false;
		shell_blanks(scan);
		if (shell_peek(scan, 0) != '|')
			return expect_byte(scan, ')');
		scan->pos++;
	}
}

static bool read_case(struct shell_scan *scan)
{
	struct shell_word word;

	if (!shell_word(scan, &word) || !shell_line_feeds(scan) ||
	    !expect(scan, "in"))
		return false;
	for (;;) {
		if (!shell_line_feeds(scan))
			return false;
		if (shell_take_word(scan, "esac"))
			return true;
		if (!read_patterns(scan) || !part(scan, SHELL_IN_GROUP))
			return false;
		if (shell_at(scan, ";;&"))
			scan->pos += 3;
		else if (shell_at(scan, ";;") || shell_at(scan, ";&"))
			scan->pos += 2;
		else
			return expect(scan, "esac");
	}
}

/* ---- [[ ]], (( )) ---- */

/* Another shell reads a command named "[[": operators would be its. */
static bool read_test(struct shell_scan *scan)
{
	struct shell_word word;

	scan->line->has_named_arithmetic = true;
	for (;;) {
		shell_blanks(scan);
		if (shell_take_word(scan, "]]"))
			return true;
		if (!shell_is_word_start(scan))
			return shell_fail(scan, "an operator in [[ ]]");
		/* [[ x=1 -eq 1 ]] */
		if (!shell_note_set(scan) || !shell_word(scan, &word))
			return false;
	}
}

/* x=1, x+=y-1, x++, --x, 1: no name of a program. */
static bool is_counting(struct bytes text)
{
	static const char *const steps[] = {"++", "--"};

	if (bytes_find(text, '=', 0) >= 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		if (bytes_starts_with(text, bytes_str(steps[i])))
			return true;
		if (text.len > 2 &&
		    bytes_equal(bytes_slice(text, text.len - 2, text.len),
				bytes_str(steps[i])))
			return shell_name(text, 0) == text.len - 2;
	}
	return text.len > 0 && text.data[0] >= '0' && text.data[0] <= '9' &&
	       bytes_find(text, '-', 0) < 0;
}

/* Another shell reads two subshells, and a command in them. */
static bool read_arithmetic(struct shell_scan *scan)
{
	size_t from = scan->pos + 2;

	scan->pos = from;
	for (;;) {
		int c = shell_peek(scan, 0);
		bool is_word = c == '_' || (c >= '0' && c <= '9') ||
			       ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');

		if (c == ')' && shell_peek(scan, 1) == ')')
			break;
		if (c < 0 || (!is_word && !strchr("+-=", c)))
			return shell_fail(scan, "arithmetic or a subshell");
		if (!shell_note_set(scan))
			return false;
		scan->pos++;
	}
	if (!is_counting(bytes_slice(scan->text, from, scan->pos)))
		return shell_fail(scan, "arithmetic or a subshell");
	scan->pos += 2;
	scan->line->has_named_arithmetic = true;
	return true;
}

/* ---- functions ---- */

bool shell_function(struct shell_scan *scan)
{
	struct shell_command *before = scan->line->last;
	struct shell_command *inner;

	scan->line->has_loop = true;
	if (!shell_line_feeds(scan))
		return false;
	if (!shell_is_compound(scan))
		return shell_fail(scan, "a function has no body");
	if (!shell_compound(scan))
		return false;
	inner = before ? before->next : scan->line->first;
	for (; inner; inner = inner->next)
		if (inner->depth == scan->depth + 1)
			inner->place = SHELL_IN_FUNCTION;
	return true;
}

static bool read_function(struct shell_scan *scan)
{
	struct shell_word name;

	if (!shell_word(scan, &name))
		return false;
	if (name.flags & (SHELL_UNCLEAR | SHELL_QUOTED))
		return shell_fail(scan, "a function's name is not plain");
	shell_blanks(scan);
	if (shell_peek(scan, 0) == '(') {
		scan->pos++;
		if (!expect_byte(scan, ')'))
			return false;
	}
	return shell_function(scan);
}

/* ---- which it is ---- */

static bool read_coprocess(struct shell_scan *scan)
{
	return shell_fail(scan, "a coprocess");
}

static const struct {
	const char *word;
	bool (*read)(struct shell_scan *scan);
} compounds[] = {
	{"{", read_group},	     {"if", read_if},
	{"while", read_while},	     {"until", read_while},
	{"for", read_for},	     {"select", read_for},
	{"case", read_case},	     {"[[", read_test},
	{"function", read_function}, {"coproc", read_coprocess},
};

bool shell_is_compound(const struct shell_scan *scan)
{
	if (shell_peek(scan, 0) == '(')
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(compounds); i++)
		if (shell_is_word(scan, compounds[i].word))
			return true;
	return false;
}

static bool read_compound(struct shell_scan *scan)
{
	if (shell_at(scan, "(("))
		return read_arithmetic(scan);
	if (shell_peek(scan, 0) == '(')
		return read_subshell(scan);
	for (size_t i = 0; i < ARRAY_SIZE(compounds); i++)
		if (shell_take_word(scan, compounds[i].word))
			return compounds[i].read(scan);
	return false;
}

bool shell_compound(struct shell_scan *scan)
{
	struct shell_command *before = scan->line->last;

	return read_compound(scan) && shell_redirects_of(scan, before);
}
