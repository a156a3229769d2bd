/*
 * A simple command: assignments, words, redirections; and the redirections
 * behind a compound one.
 */
#include "common/cleanup.h"
#include "policies/command/shell_parts.h"

static bool add(struct shell_scan *scan, struct buf *list, const void *item,
		size_t size)
{
	return buf_add(list, bytes_from(item, size)) == 0 ||
	       shell_no_memory(scan);
}

struct parts {
	struct buf words, assignments, redirects;
	bool reads_pipe;
	bool has_both; /* "&>" behind a word */
};

#define PARTS_BYTES_MAX (8 * 1024 * 1024)

static void parts_open(struct parts *parts)
{
	*parts = (struct parts){0};
	buf_init(&parts->words, PARTS_BYTES_MAX);
	buf_init(&parts->assignments, PARTS_BYTES_MAX);
	buf_init(&parts->redirects, PARTS_BYTES_MAX);
}

static void parts_release(struct parts *parts)
{
	buf_release(&parts->words);
	buf_release(&parts->assignments);
	buf_release(&parts->redirects);
}

static bool keep(struct shell_scan *scan, const struct buf *list,
		 const void **items)
{
	struct bytes copy = arena_copy(scan->arena, buf_view(list));

	*items = copy.data;
	return copy.len == buf_len(list) || shell_no_memory(scan);
}

static bool is_named(const struct shell_word *word, const char *const *names)
{
	for (; *names; names++)
		if (bytes_is(word->text, *names))
			return true;
	return false;
}

/* NAME, NAME=value: nothing in it is evaluated. */
static bool is_plain_name(const struct shell_word *word)
{
	size_t len = shell_name(word->text, 0);

	if (len == word->text.len)
		return true;
	return len > 0 &&
	       (word->text.data[len] == '=' || word->text.data[len] == '+') &&
	       bytes_find(word->text, '[', 0) < 0 &&
	       bytes_find(word->text, '(', len) != (ptrdiff_t)len + 1;
}

/* Builtins that run what is in the brackets of a name (`test -v 'a[...]'`)
 * or in a list (`declare -a 'x=(...)'`), and those that take a text from
 * outside. */
static void note_builtins(struct shell_line *line,
			  const struct shell_word *words, size_t count)
{
	static const char *const evaluate[] = {"unset",	 "declare", "typeset",
					       "local",	 "wait",    "readonly",
					       "export", "getopts", NULL};
	static const char *const tests[] = {"test", "[", NULL};
	static const char *const modes[] = {"-v", "-R", NULL};
	static const char *const lists[] = {"-a", "-A", "-ga", "-gA", NULL};
	static const char *const read[] = {"read", "mapfile", "readarray",
					   NULL};
	bool is_evaluator = false, is_test = false, is_list = false;

	for (size_t i = 0; i < count; i++) {
		const struct shell_word *word = &words[i];
		bool is_clear = !(word->flags & SHELL_UNCLEAR);

		if (is_evaluator && (is_list || !is_plain_name(word)) &&
		    (!is_clear || bytes_find(word->text, '[', 0) >= 0 ||
		     bytes_find(word->text, '(', 0) >= 0))
			line->has_named_arithmetic = true;
		is_list |= is_named(word, lists);
		is_evaluator |=
			is_named(word, evaluate) ||
			(is_test && (!is_clear || is_named(word, modes)));
		is_test |= is_named(word, tests);
		line->has_code_text |= is_named(word, read);
	}
}

static bool emit(struct shell_scan *scan, struct parts *parts, size_t at)
{
	struct shell_command command = {
		.word_count =
			buf_len(&parts->words) / sizeof(struct shell_word),
		.assignment_count = buf_len(&parts->assignments) /
				    sizeof(struct shell_word),
		.redirect_count = buf_len(&parts->redirects) /
				  sizeof(struct shell_redirect),
		.place = scan->place,
		.depth = scan->depth,
		.reads_pipe = scan->reads_pipe || parts->reads_pipe,
		.at = at,
		.end = shell_here(scan),
	};
	const void *words, *assignments, *redirects;

	if (!keep(scan, &parts->words, &words) ||
	    !keep(scan, &parts->assignments, &assignments) ||
	    !keep(scan, &parts->redirects, &redirects))
		return false;
	command.words = words;
	command.assignments = assignments;
	command.redirects = redirects;
	note_builtins(scan->line, command.words, command.word_count);
	return shell_emit(scan, &command);
}

/* ---- redirections ---- */

static bool add_redirect(struct shell_scan *scan, struct parts *parts)
{
	struct shell_redirect redirect = {0};

	parts->has_both |=
		shell_peek(scan, 0) == '&' && buf_len(&parts->words) > 0;
	if (!shell_redirect(scan, &redirect) ||
	    !add(scan, &parts->redirects, &redirect, sizeof(redirect)))
		return false;
	if (redirect.fd == 0)
		parts->reads_pipe = true;
	return true;
}

bool shell_redirects_of(struct shell_scan *scan, struct shell_command *before)
{
	auto_type(parts_release) struct parts parts;
	struct shell_command *inner;
	size_t at = shell_here(scan);

	parts_open(&parts);
	shell_blanks(scan);
	while (shell_is_redirect(scan)) {
		if (!add_redirect(scan, &parts))
			return false;
		shell_blanks(scan);
	}
	if (parts.reads_pipe) {
		inner = before ? before->next : scan->line->first;
		for (; inner; inner = inner->next)
			inner->reads_pipe = true;
	}
	return buf_len(&parts.redirects) == 0 || emit(scan, &parts, at);
}

/* ---- assignments ---- */

/* NAME= and NAME+= at from: how long that is, 0: it is none. */
static size_t assignment_at(struct bytes text, size_t from)
{
	size_t len = shell_name(text, from);
	size_t plus = from + len < text.len && text.data[from + len] == '+';

	if (len == 0 || from + len + plus >= text.len ||
	    text.data[from + len + plus] != '=')
		return 0;
	return len + plus + 1;
}

/* Behind NAME=(: the values. */
static bool read_array(struct shell_scan *scan)
{
	struct shell_word word;

	scan->pos++;
	for (;;) {
		if (!shell_line_feeds(scan))
			return false;
		if (shell_peek(scan, 0) == ')') {
			scan->pos++;
			return true;
		}
		if (shell_peek(scan, 0) == '[')
			return shell_fail(scan, "a subscript is not plain");
		if (!shell_word(scan, &word))
			return false;
	}
}

static bool add_assignment(struct shell_scan *scan, struct parts *parts,
			   size_t len)
{
	struct shell_word word;
	size_t from = scan->pos;

	if (!shell_word(scan, &word))
		return false;
	if (scan->pos == from + len && shell_peek(scan, 0) == '(') {
		if (!read_array(scan))
			return false;
		word.flags |= SHELL_EXPANDS;
	}
	return add(scan, &parts->assignments, &word, sizeof(word));
}

/* ---- words ---- */

/* NAME[...]= evaluates what is in the brackets. */
static bool is_subscripted(struct bytes text, size_t from)
{
	size_t len = shell_name(text, from);

	return len > 0 && from + len < text.len && text.data[from + len] == '[';
}

/* Behind the first word: "()"? */
static bool take_parentheses(struct shell_scan *scan, bool *taken)
{
	*taken = false;
	shell_blanks(scan);
	if (shell_peek(scan, 0) != '(')
		return true;
	scan->pos++;
	shell_blanks(scan);
	if (shell_peek(scan, 0) != ')')
		return shell_fail(scan, "a parenthesis is out of place");
	scan->pos++;
	*taken = true;
	return true;
}

/* A word that shells know, where this has not found it to be one: it is
 * spelled across lines, or stands where it must not. */
static bool is_reserved(const struct shell_word *word)
{
	static const char *const names[] = {
		"if",	  "then", "else",     "elif",	"fi",	 "do",
		"done",	  "case", "esac",     "while",	"until", "for",
		"select", "in",	  "function", "coproc", "{",	 "}",
		"!",	  "[[",	  "]]",	      "time"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!(word->flags & SHELL_QUOTED) &&
		    bytes_is(word->text, names[i]))
			return true;
	return false;
}

static bool add_word(struct shell_scan *scan, struct parts *parts,
		     bool *is_function)
{
	bool is_first = buf_len(&parts->words) == 0;
	size_t from = scan->pos;
	struct shell_word word;
	int next;

	if (parts->has_both)
		return shell_fail(scan, "dash runs what is behind \"&>\" and "
					"its file");
	if (is_first && is_subscripted(scan->text, from))
		return shell_fail(scan, "a subscript is not plain");
	if (!shell_word(scan, &word) ||
	    !add(scan, &parts->words, &word, sizeof(word)))
		return false;
	next = shell_peek(scan, 0);
	if ((next == '<' || next == '>') &&
	    scan->text.data[scan->pos - 1] == '}' &&
	    scan->text.data[from] == '{')
		return shell_fail(scan, "a descriptor's name");
	if (!is_first)
		return true;
	if (is_reserved(&word))
		return shell_fail(scan, "a reserved word is out of place");
	/* Once joined it may be an assignment. */
	if (bytes_find(word.text, '=', 0) >= 0 &&
	    bytes_find_bytes(bytes_slice(scan->text, from, scan->pos),
			     bytes_str("\\\n"), 0) >= 0)
		return shell_fail(scan, "an assignment may be continued on "
					"the next line");
	if (!take_parentheses(scan, is_function))
		return false;
	if (*is_function && (word.flags & (SHELL_UNCLEAR | SHELL_QUOTED) ||
			     buf_len(&parts->assignments) > 0 ||
			     buf_len(&parts->redirects) > 0))
		return shell_fail(scan, "a function's name is not plain");
	return true;
}

bool shell_simple(struct shell_scan *scan)
{
	auto_type(parts_release) struct parts parts;
	size_t at = shell_here(scan);
	size_t start = scan->pos;
	bool is_function = false;
	bool done = true;

	parts_open(&parts);
	while (done && !is_function) {
		size_t len = 0;

		if (buf_len(&parts.words) == 0)
			len = assignment_at(scan->text, scan->pos);
		if (shell_is_redirect(scan))
			done = add_redirect(scan, &parts);
		else if (len > 0)
			done = add_assignment(scan, &parts, len);
		else if (shell_is_word_start(scan))
			done = add_word(scan, &parts, &is_function);
		else
			break;
		if (!is_function)
			shell_blanks(scan);
	}
	if (done && is_function)
		return shell_function(scan);
	if (scan->pos == start)
		return shell_fail(scan, "a command is missing");
	/* What was read of it counts, also when it cannot be read on. */
	return emit(scan, &parts, at) && done;
}
