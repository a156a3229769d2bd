/*
 * "$": variables, substitutions, arithmetic; and backquotes.
 */
#include "common/cleanup.h"
#include "policies/command/shell_parts.h"

/* ---- $'...' ---- */

static int hex_of(int c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* \n, \x41, \101 at pos, which moves behind it; -1: another escape. */
static int take_escape(struct shell_scan *scan)
{
	static const char from[] = "abeEfnrtv\\\"?", to[] = "\a\b\033\033\f\n"
							    "\r\t\v\\\"?";
	int c = shell_peek(scan, 1);
	const char *found = c > 0 ? strchr(from, c) : NULL;
	int value = 0;
	size_t digits = 0;

	if (found) {
		scan->pos += 2;
		return to[found - from];
	}
	if (c == 'x') {
		while (digits < 2 && hex_of(shell_peek(scan, 2 + digits)) >= 0)
			value = value * 16 +
				hex_of(shell_peek(scan, 2 + digits++));
		scan->pos += 2 + digits;
		return digits > 0 && value >= 0x20 && value < 0x7f ? value : -1;
	}
	while (digits < 3 && shell_peek(scan, 1 + digits) >= '0' &&
	       shell_peek(scan, 1 + digits) <= '7')
		value = value * 8 + shell_peek(scan, 1 + digits++) - '0';
	scan->pos += 1 + digits;
	return digits > 0 && value >= 0x20 && value < 0x7f ? value : -1;
}

/* dash reads "$" and a word in single quotes: what ends such a word must be
 * the same for both. */
static bool read_ansi(struct shell_scan *scan, struct shell_draft *draft)
{
	scan->pos += 2;
	draft->flags |= SHELL_QUOTED;
	for (;;) {
		int c = shell_peek(scan, 0);

		if (c < 0)
			return shell_fail(scan, "a quote has no end");
		if (c == '\'') {
			scan->pos++;
			return true;
		}
		if (c == '\\') {
			c = take_escape(scan);
			/* A control: what it does is for the program. */
			if (c < 0)
				return shell_fail(scan, "an escape in $'...' "
							"is not known");
			if (c < 0x20 && c != '\n' && c != '\t')
				c = '?';
		} else {
			scan->pos++;
		}
		if (!shell_draft_add(scan, draft, c))
			return false;
		if (c == '`' || c == '$')
			scan->line->has_code_text = true;
	}
}

/* ---- arithmetic ---- */

bool shell_note_set(struct shell_scan *scan)
{
	size_t start = scan->pos > 0 ? scan->pos - 1 : 0;
	size_t len = shell_name(scan->text, scan->pos);
	size_t at = len;

	while (shell_peek(scan, at) == ' ' || shell_peek(scan, at) == '\t')
		at++;
	/* Not in the middle of a name, nor "==". */
	if (len == 0 || shell_name(scan->text, start) > len ||
	    shell_peek(scan, at) != '=' || shell_peek(scan, at + 1) == '=')
		return true;
	return shell_set_variable(
		scan, bytes_slice(scan->text, scan->pos, scan->pos + len));
}

bool shell_arithmetic(struct shell_scan *scan)
{
	auto_type(shell_draft_release) struct shell_draft draft;
	unsigned open = 0;

	shell_draft_open(&draft);

	for (;;) {
		int c = shell_peek(scan, 0);

		if (c < 0 || strchr("'\"\\{}[]#`\n", c))
			return shell_fail(scan, "arithmetic is not plain");
		if (c == ')' && open == 0)
			break;
		open += c == '(';
		open -= c == ')';
		if (c == '$' || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z'))
			scan->line->has_named_arithmetic = true;
		if (!shell_note_set(scan))
			return false;
		if (c != '$')
			scan->pos++;
		else if (!shell_dollar(scan, &draft, QUOTES_DOUBLE))
			return false;
	}
	if (shell_peek(scan, 1) != ')')
		return shell_fail(scan, "arithmetic or a subshell");
	scan->pos += 2;
	return true;
}

/* ---- ${...} ---- */

/* Behind the operator, up to "}". */
static bool read_operand(struct shell_scan *scan, enum shell_quotes quotes)
{
	auto_type(shell_draft_release) struct shell_draft draft;

	shell_draft_open(&draft);
	for (;;) {
		int c = shell_peek(scan, 0);
		bool done = true;

		if (c < 0)
			return shell_fail(scan, "\"${\" has no end");
		if (c == '}') {
			scan->pos++;
			return true;
		}
		/* Where such a quote ends is another question in each shell. */
		if (c == '\'' || c == '{' || (c == '"' && quotes))
			return shell_fail(scan, "a quote or brace in ${...}");
		/* bash runs it, between quotes at times too; to dash it is
		 * text. */
		if ((c == '<' || c == '>') && shell_peek(scan, 1) == '(')
			return shell_fail(scan, "a process in ${...}");
		if (c == '\\')
			scan->pos += 2;
		else if (c == '$')
			done = shell_dollar(scan, &draft, quotes);
		else if (c == '`')
			done = shell_backquote(scan, &draft, quotes);
		else if (c == '"')
			done = ++scan->pos &&
			       shell_double(scan, &draft, QUOTES_DOUBLE);
		else
			scan->pos++;
		if (!done)
			return false;
	}
}

/* [@], [*], [3]: others are arithmetic, or a key. */
static bool take_subscript(struct shell_scan *scan)
{
	size_t from = ++scan->pos;

	while (shell_peek(scan, 0) >= '0' && shell_peek(scan, 0) <= '9')
		scan->pos++;
	if (scan->pos == from &&
	    (shell_peek(scan, 0) == '@' || shell_peek(scan, 0) == '*'))
		scan->pos++;
	if (scan->pos == from || shell_peek(scan, 0) != ']')
		return shell_fail(scan, "a subscript is not plain");
	scan->pos++;
	return true;
}

/* The name in braces; specials and numbers, too. */
static bool take_parameter(struct shell_scan *scan)
{
	size_t len = shell_name(scan->text, scan->pos);
	int c = shell_peek(scan, 0);

	if (len > 0) {
		scan->pos += len;
		return true;
	}
	if (c >= '0' && c <= '9') {
		while (shell_peek(scan, 0) >= '0' && shell_peek(scan, 0) <= '9')
			scan->pos++;
		return true;
	}
	if (c < 0 || !strchr("@*?$!#-", c))
		return shell_fail(scan, "\"${\" without a name");
	scan->pos++;
	return true;
}

/* ${x:0:7}: numbers alone run nothing, and set nothing. */
static bool note_offset(struct shell_scan *scan)
{
	size_t len = 0;
	int c;

	do {
		c = shell_peek(scan, ++len);
	} while ((c >= '0' && c <= '9') || c == ':' || c == ' ' || c == '-');
	if (c == '}')
		return true;
	scan->line->has_named_arithmetic = true;
	while ((c = shell_peek(scan, len++)) >= 0 && c != '}')
		if (c == '=')
			return shell_fail(scan, "arithmetic is not plain");
	return true;
}

/* ${NAME:=...}, which begins at `from`. */
static bool set_variable(struct shell_scan *scan, size_t from)
{
	size_t len = shell_name(scan->text, from);

	if (len == 0)
		return shell_fail(scan, "the variable that is set is not "
					"known");
	return shell_set_variable(scan,
				  bytes_slice(scan->text, from, from + len));
}

static bool read_braced(struct shell_scan *scan, enum shell_quotes quotes)
{
	size_t name;
	int c;

	scan->pos += 2;
	name = scan->pos;
	c = shell_peek(scan, 0);
	if ((c == '#' || c == '!') && shell_peek(scan, 1) != '}' &&
	    shell_name(scan->text, scan->pos + 1) > 0)
		scan->pos++;
	if (!take_parameter(scan) ||
	    (shell_peek(scan, 0) == '[' && !take_subscript(scan)))
		return false;
	c = shell_peek(scan, 0);
	if (c == '}') {
		scan->pos++;
		return true;
	}
	/* ${x@P} runs what is in x. */
	if (c < 0 || !strchr(":-=?+#%/^,", c))
		return shell_fail(scan, "an operator in ${...} is not known");
	if (c == ':' && !strchr("-=?+", shell_peek(scan, 1)) &&
	    !note_offset(scan))
		return false;
	if ((c == '=' || (c == ':' && shell_peek(scan, 1) == '=')) &&
	    !set_variable(scan, name))
		return false;
	scan->pos++;
	return read_operand(scan, quotes);
}

/* ---- $(...) and `...` ---- */

/* "$@" and "${x[@]}" are words of their own between quotes, too. */
static bool expand(struct shell_scan *scan, struct shell_draft *draft,
		   size_t from, enum shell_quotes quotes)
{
	struct bytes text = bytes_slice(scan->text, from, scan->pos);

	if (quotes == QUOTES_NONE || bytes_find(text, '@', 0) >= 0)
		draft->flags |= SHELL_SPLITS;
	return shell_draft_expand(scan, draft, from);
}

static bool read_substitution(struct shell_scan *scan)
{
	scan->pos += 2;
	scan->line->has_code_text = true;
	if (!shell_nested(scan, SHELL_IN_SUBSTITUTION, false))
		return false;
	if (shell_peek(scan, 0) != ')')
		return shell_fail(scan, "a substitution has no end");
	scan->pos++;
	return true;
}

/* The text between backquotes, its escapes undone. */
static bool take_backquoted(struct shell_scan *scan, struct buf *inside,
			    enum shell_quotes quotes)
{
	for (;;) {
		int c = shell_peek(scan, 0);
		int next = shell_peek(scan, 1);

		if (c < 0)
			return shell_fail(scan, "a backquote has no end");
		scan->pos++;
		if (c == '`')
			return true;
		if (c == '\\' && next > 0 &&
		    (strchr("$`\\", next) ||
		     (next == '"' && quotes == QUOTES_DOUBLE))) {
			c = next;
			scan->pos++;
		}
		if (buf_add_byte(inside, (uint8_t)c) < 0)
			return shell_no_memory(scan);
	}
}

bool shell_backquote(struct shell_scan *scan, struct shell_draft *draft,
		     enum shell_quotes quotes)
{
	auto_type(buf_release) struct buf inside;
	size_t from = scan->pos;
	struct bytes copy;

	buf_init(&inside, SHELL_LINE_MAX);
	scan->line->has_code_text = true;
	scan->pos++;
	if (!take_backquoted(scan, &inside, quotes))
		return false;
	copy = arena_copy(scan->arena, buf_view(&inside));
	if (copy.len != buf_len(&inside))
		return shell_no_memory(scan);
	return shell_text(scan, copy, SHELL_IN_SUBSTITUTION) &&
	       expand(scan, draft, from, quotes);
}

/* ---- all of them ---- */

/* $HOME and ${HOME}: the text that stands for them. */
static bool take_home(struct shell_scan *scan, struct shell_draft *draft,
		      bool *taken)
{
	size_t len = shell_name(scan->text, scan->pos + 1);
	size_t whole = 0;

	if (shell_at(scan, "${HOME}"))
		whole = strlen("${HOME}");
	else if (len == 4 && shell_at(scan, "$HOME"))
		whole = strlen("$HOME");
	/* The name may go on in the next line. */
	*taken = whole > 0 && scan->home.len > 0 &&
		 !(shell_peek(scan, whole) == '\\' &&
		   shell_peek(scan, whole + 1) == '\n');
	for (size_t i = 0; *taken && i < scan->home.len; i++)
		if (!shell_draft_add(scan, draft, scan->home.data[i]))
			return false;
	scan->pos += *taken ? whole : 0;
	return true;
}

static bool read_parenthesis(struct shell_scan *scan)
{
	if (shell_peek(scan, 2) != '(')
		return read_substitution(scan);
	scan->pos += 3;
	return shell_arithmetic(scan);
}

bool shell_dollar(struct shell_scan *scan, struct shell_draft *draft,
		  enum shell_quotes quotes)
{
	int next = shell_peek(scan, 1);
	size_t from = scan->pos;
	size_t len = shell_name(scan->text, scan->pos + 1);
	bool is_home;

	if (!take_home(scan, draft, &is_home) || is_home)
		return is_home;
	if (next == '(') {
		if (!read_parenthesis(scan))
			return false;
	} else if (next == '{') {
		if (!read_braced(scan, quotes))
			return false;
	} else if (len > 0) {
		scan->pos += 1 + len;
	} else if (next > 0 && strchr("@*?$!#-0123456789", next)) {
		scan->pos += 2;
	} else if (next == '\'' && quotes == QUOTES_NONE) {
		return read_ansi(scan, draft);
	} else if (next == '"' && quotes == QUOTES_NONE) {
		return shell_fail(scan, "a text to translate");
	} else if (next == '[') {
		return shell_fail(scan, "arithmetic of an old kind");
	} else {
		scan->pos++;
		scan->line->has_code_text = true;
		return shell_draft_add(scan, draft, '$');
	}
	return expand(scan, draft, from, quotes);
}
