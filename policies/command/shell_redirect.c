#include "policies/command/shell_parts.h"

#define FD_DIGITS_MAX 3

static const struct {
	const char *sign;
	enum shell_redirect_kind kind;
	bool is_both; /* 1 and 2, where no number is given */
	int fd;
} signs[] = {
	/* The longer ones first. */
	{"<<<", REDIRECT_HERESTRING, false, 0},
	{"<<-", REDIRECT_HEREDOC, false, 0},
	{"<<", REDIRECT_HEREDOC, false, 0},
	{"<&", REDIRECT_COPY, false, 0},
	{"<>", REDIRECT_READ_WRITE, false, 0},
	{"<", REDIRECT_IN, false, 0},
	{"&>>", REDIRECT_APPEND, true, 1},
	{"&>", REDIRECT_OUT, true, 1},
	{">>", REDIRECT_APPEND, false, 1},
	{">&", REDIRECT_COPY, false, 1},
	{">|", REDIRECT_OUT, false, 1},
	{">", REDIRECT_OUT, false, 1},
};

static size_t digits_at(const struct shell_scan *scan)
{
	size_t count = 0;

	while (shell_peek(scan, count) >= '0' && shell_peek(scan, count) <= '9')
		count++;
	return count;
}

bool shell_is_redirect(const struct shell_scan *scan)
{
	size_t digits = digits_at(scan);
	int c = shell_peek(scan, digits);
	int next = shell_peek(scan, digits + 1);

	if (c == '&')
		return digits == 0 && next == '>';
	return (c == '<' || c == '>') && (digits > 0 || next != '(');
}

static bool take_sign(struct shell_scan *scan, struct shell_redirect *redirect,
		      bool *drops_tabs)
{
	size_t digits = digits_at(scan);
	uint64_t fd = 0;
	size_t i = 0;

	if (digits > FD_DIGITS_MAX)
		return shell_fail(scan, "a descriptor's number is too large");
	for (size_t d = 0; d < digits; d++)
		fd = fd * 10 + (uint64_t)(shell_peek(scan, d) - '0');
	scan->pos += digits;
	while (!shell_at(scan, signs[i].sign))
		i++;
	redirect->kind = signs[i].kind;
	redirect->fd = digits > 0	  ? (int)fd
		       : signs[i].is_both ? -1
					  : signs[i].fd;
	*drops_tabs = !strcmp(signs[i].sign, "<<-");
	scan->pos += strlen(signs[i].sign);
	if (shell_peek(scan, 0) == '(')
		return shell_fail(scan, "a redirection or a substitution");
	return true;
}

/* raw: as it is written. Of $'...' dash keeps the "$". */
static bool begin_heredoc(struct shell_scan *scan,
			  const struct shell_word *delimiter, struct bytes raw,
			  bool drops_tabs)
{
	if (delimiter->flags & SHELL_UNCLEAR ||
	    bytes_find_bytes(raw, bytes_str("$'"), 0) >= 0)
		return shell_fail(scan, "a here-document's end is not plain");
	if (scan->heredoc_count == SHELL_HEREDOCS_MAX)
		return shell_fail(scan, "too many here-documents");
	scan->heredocs[scan->heredoc_count++] = (struct shell_heredoc){
		.delimiter = delimiter->text,
		.is_literal = delimiter->flags & SHELL_QUOTED,
		.drops_tabs = drops_tabs,
	};
	return true;
}

/* >&2 and >&- copy and close; >&file is another way to write &>file. */
static bool read_copy(struct shell_scan *scan, struct shell_redirect *redirect,
		      bool had_number, bool is_out)
{
	struct bytes text = redirect->target.text;
	size_t digits = 0;

	while (digits < text.len && text.data[digits] >= '0' &&
	       text.data[digits] <= '9')
		digits++;
	if (!(redirect->target.flags & SHELL_UNCLEAR) &&
	    (digits == text.len ||
	     (digits + 1 == text.len && text.data[digits] == '-')))
		return true;
	/* bash expands such a name twice, and forgets its quotes between. */
	if (had_number || !is_out ||
	    redirect->target.flags & (SHELL_UNCLEAR | SHELL_QUOTED))
		return shell_fail(scan, "a descriptor is not plain");
	redirect->kind = REDIRECT_OUT;
	redirect->fd = -1;
	return true;
}

bool shell_redirect(struct shell_scan *scan, struct shell_redirect *redirect)
{
	bool had_number = digits_at(scan) > 0;
	bool is_out, drops_tabs = false;
	size_t from;

	if (!take_sign(scan, redirect, &drops_tabs))
		return false;
	is_out = redirect->kind == REDIRECT_COPY &&
		 scan->text.data[scan->pos - 2] == '>';
	shell_blanks(scan);
	from = scan->pos;
	if (!shell_word(scan, &redirect->target))
		return false;
	if (redirect->kind == REDIRECT_HEREDOC)
		return begin_heredoc(scan, &redirect->target,
				     bytes_slice(scan->text, from, scan->pos),
				     drops_tabs);
	if (redirect->kind == REDIRECT_COPY)
		return read_copy(scan, redirect, had_number, is_out);
	return true;
}
