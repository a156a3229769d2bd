/*
 * Lists, "&&" and "||", pipelines.
 */
#include "common/cleanup.h"
#include "policies/command/shell_parts.h"

/* What a list ends at; who reads what the list is in knows which it wants. */
static bool is_list_end(const struct shell_scan *scan)
{
	static const char *const ends[] = {"then", "elif", "else", "fi", "do",
					   "done", "esac", "}",	   ";;", ";&"};

	if (shell_peek(scan, 0) < 0 || shell_peek(scan, 0) == ')')
		return true;
	if (shell_at(scan, ";;") || shell_at(scan, ";&"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (shell_is_word(scan, ends[i]))
			return true;
	return false;
}

static void set_after(struct shell_scan *scan, enum shell_operator operator)
{
	if (scan->line->last)
		scan->line->last->after = operator;
}

/* "!" and "time", which bash takes for words of its own. */
static bool take_prefixes(struct shell_scan *scan)
{
	shell_blanks(scan);
	for (;;) {
		if (shell_take_word(scan, "!"))
			continue;
		if (!shell_take_word(scan, "time"))
			return true;
		(void)shell_take_word(scan, "-p");
		if (shell_peek(scan, 0) == '-')
			return shell_fail(scan, "time with options is another "
						"command in each shell");
	}
}

static bool read_pipeline(struct shell_scan *scan)
{
	bool outer = scan->reads_pipe;
	bool done = take_prefixes(scan);

	while (done) {
		done = shell_is_compound(scan) ? shell_compound(scan)
					       : shell_simple(scan);
		shell_blanks(scan);
		if (!done || shell_peek(scan, 0) != '|' ||
		    shell_peek(scan, 1) == '|')
			break;
		set_after(scan, shell_peek(scan, 1) == '&' ? OPERATOR_PIPE_BOTH
							   : OPERATOR_PIPE);
		scan->pos += shell_peek(scan, 1) == '&' ? 2 : 1;
		scan->reads_pipe = true;
		done = shell_line_feeds(scan);
	}
	scan->reads_pipe = outer;
	return done;
}

static bool read_and_or(struct shell_scan *scan)
{
	if (!read_pipeline(scan))
		return false;
	while (shell_at(scan, "&&") || shell_at(scan, "||")) {
		set_after(scan, shell_peek(scan, 0) == '&' ? OPERATOR_AND
							   : OPERATOR_OR);
		scan->pos += 2;
		if (!shell_line_feeds(scan) || !read_pipeline(scan))
			return false;
	}
	return true;
}

bool shell_list(struct shell_scan *scan)
{
	for (;;) {
		int c;

		if (!shell_line_feeds(scan))
			return false;
		if (is_list_end(scan))
			return true;
		if (!read_and_or(scan))
			return false;
		c = shell_peek(scan, 0);
		if (c == '\n') {
			set_after(scan, OPERATOR_SEQUENCE);
		} else if ((c == ';' || c == '&') && !shell_at(scan, ";;") &&
			   !shell_at(scan, ";&")) {
			set_after(scan, c == ';' ? OPERATOR_SEQUENCE
						 : OPERATOR_BACKGROUND);
			scan->pos++;
		} else {
			return true;
		}
	}
}
