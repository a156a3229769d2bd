/*
 * What stands between words: blanks, comments, continued lines, line feeds,
 * and the here-documents that begin after those.
 */
#include "policies/command/shell_parts.h"

void shell_blanks(struct shell_scan *scan)
{
	for (;;) {
		int c = shell_peek(scan, 0);

		if (c == ' ' || c == '\t') {
			scan->pos++;
		} else if (c == '\\' && shell_peek(scan, 1) == '\n') {
			scan->pos += 2;
		} else if (c == '#') {
			while (shell_peek(scan, 0) >= 0 &&
			       shell_peek(scan, 0) != '\n')
				scan->pos++;
		} else {
			return;
		}
	}
}

/* ---- here-documents ---- */

/* The next line without its line feed; pos is behind that. */
static struct bytes take_line(struct shell_scan *scan)
{
	ptrdiff_t end = bytes_find(scan->text, '\n', scan->pos);
	size_t to = end < 0 ? scan->text.len : (size_t)end;
	struct bytes row = bytes_slice(scan->text, scan->pos, to);

	scan->pos = end < 0 ? to : to + 1;
	return row;
}

static bool ends_in_backslash(struct bytes row)
{
	size_t count = 0;

	while (count < row.len && row.data[row.len - 1 - count] == '\\')
		count++;
	return count % 2 == 1;
}

/* What is in the body and runs. */
static bool read_body(struct shell_scan *scan, size_t from, size_t to)
{
	struct shell_draft draft;
	struct shell_scan body = *scan;
	bool done;

	body.text = bytes_slice(scan->text, 0, to);
	body.pos = from;
	body.heredoc_count = 0;
	body.heredoc_base = 0;
	shell_draft_open(&draft);
	done = shell_double(&body, &draft, QUOTES_HEREDOC);
	shell_draft_release(&draft);
	return done;
}

/* A row whose line feed is escaped: bash joins the next one to it, and could
 * find the delimiter in the two. */
static bool may_begin(struct bytes row, struct bytes delimiter)
{
	return ends_in_backslash(row) &&
	       bytes_starts_with(delimiter, bytes_slice(row, 0, row.len - 1));
}

static bool read_heredoc(struct shell_scan *scan,
			 const struct shell_heredoc *doc)
{
	size_t from = scan->pos;
	bool is_continued = false;

	while (scan->pos < scan->text.len) {
		size_t at = scan->pos;
		struct bytes row = take_line(scan);

		while (doc->drops_tabs && row.len > 0 && row.data[0] == '\t')
			row = bytes_slice(row, 1, row.len);
		if (!doc->is_literal && may_begin(row, doc->delimiter))
			return shell_fail(scan, "a here-document's end may be "
						"a continued line");
		if (bytes_equal(row, doc->delimiter)) {
			if (is_continued)
				return shell_fail(scan, "a here-document's end "
							"is a continued line");
			if (!doc->is_literal)
				return read_body(scan, from, at);
			shell_note_code(scan,
					bytes_slice(scan->text, from, at));
			return true;
		}
		is_continued = !doc->is_literal && ends_in_backslash(row);
	}
	return shell_fail(scan, "a here-document has no end");
}

bool shell_line_feed(struct shell_scan *scan)
{
	scan->pos++;
	if (scan->heredoc_base > 0)
		return shell_fail(scan, "a here-document begins inside what "
					"is nested");
	for (size_t i = 0; i < scan->heredoc_count; i++)
		if (!read_heredoc(scan, &scan->heredocs[i]))
			return false;
	scan->heredoc_count = 0;
	return true;
}

bool shell_line_feeds(struct shell_scan *scan)
{
	shell_blanks(scan);
	while (shell_peek(scan, 0) == '\n') {
		if (!shell_line_feed(scan))
			return false;
		shell_blanks(scan);
	}
	return true;
}

/* ---- plain words ---- */

static bool ends_word(int c)
{
	return c < 0 || strchr(" \t\n;&|()<>", c);
}

bool shell_is_word(const struct shell_scan *scan, const char *w)
{
	return shell_at(scan, w) && ends_word(shell_peek(scan, strlen(w)));
}

bool shell_take_word(struct shell_scan *scan, const char *w)
{
	if (!shell_is_word(scan, w))
		return false;
	scan->pos += strlen(w);
	shell_blanks(scan);
	return true;
}

bool shell_is_word_start(const struct shell_scan *scan)
{
	int c = shell_peek(scan, 0);
	int next = shell_peek(scan, 1);

	return ((c == '<' || c == '>') && next == '(') || !ends_word(c);
}
