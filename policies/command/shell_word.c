/*
 * A word: what is quoted, what is not, what is not known.
 */
#include "common/cleanup.h"
#include "policies/command/shell_parts.h"

void shell_draft_open(struct shell_draft *draft)
{
	*draft = (struct shell_draft){0};
	buf_init(&draft->text, 2 * SHELL_LINE_MAX);
	buf_init(&draft->shape, 2 * SHELL_LINE_MAX);
}

void shell_draft_release(struct shell_draft *draft)
{
	buf_release(&draft->text);
	buf_release(&draft->shape);
}

bool shell_draft_add(struct shell_scan *scan, struct shell_draft *draft,
		     int byte)
{
	if (buf_add_byte(&draft->text, (uint8_t)byte) < 0 ||
	    buf_add_byte(&draft->shape, (uint8_t)byte) < 0)
		return shell_no_memory(scan);
	return true;
}

static bool add_mark(struct shell_scan *scan, struct shell_draft *draft,
		     struct bytes text, uint8_t mark)
{
	if (buf_add(&draft->text, text) < 0 ||
	    buf_add_byte(&draft->shape, mark) < 0)
		return shell_no_memory(scan);
	return true;
}

bool shell_draft_expand(struct shell_scan *scan, struct shell_draft *draft,
			size_t from)
{
	draft->flags |= SHELL_EXPANDS;
	return add_mark(scan, draft, bytes_slice(scan->text, from, scan->pos),
			SHELL_ANYTHING);
}

/* ---- quotes ---- */

void shell_note_code(struct shell_scan *scan, struct bytes quoted)
{
	/* A part of it is enough: others can stand beside it. */
	if (bytes_find(quoted, '$', 0) >= 0 || bytes_find(quoted, '`', 0) >= 0)
		scan->line->has_code_text = true;
}

static bool read_single(struct shell_scan *scan, struct shell_draft *draft)
{
	ptrdiff_t end = bytes_find(scan->text, '\'', scan->pos + 1);
	struct bytes inside;

	if (end < 0)
		return shell_fail(scan, "a quote has no end");
	inside = bytes_slice(scan->text, scan->pos + 1, (size_t)end);
	shell_note_code(scan, inside);
	draft->flags |= SHELL_QUOTED;
	for (size_t i = 0; i < inside.len; i++)
		if (!shell_draft_add(scan, draft, inside.data[i]))
			return false;
	scan->pos = (size_t)end + 1;
	return true;
}

static bool escaped_in_double(struct shell_scan *scan,
			      struct shell_draft *draft,
			      enum shell_quotes quotes)
{
	int next = shell_peek(scan, 1);

	if (next < 0)
		return shell_fail(scan, "a backslash ends it");
	if (next == '\n') {
		scan->pos += 2;
		return true;
	}
	if (next != '$' && next != '`' && next != '\\' &&
	    (next != '"' || quotes == QUOTES_HEREDOC) &&
	    !shell_draft_add(scan, draft, '\\'))
		return false;
	if (next == '$' || next == '`')
		scan->line->has_code_text = true;
	scan->pos += 2;
	return shell_draft_add(scan, draft, next);
}

bool shell_double(struct shell_scan *scan, struct shell_draft *draft,
		  enum shell_quotes quotes)
{
	for (;;) {
		int c = shell_peek(scan, 0);
		bool done;

		if (c < 0)
			return quotes == QUOTES_HEREDOC ||
			       shell_fail(scan, "a quote has no end");
		if (c == '"' && quotes == QUOTES_DOUBLE) {
			scan->pos++;
			return true;
		}
		if (c == '\\')
			done = escaped_in_double(scan, draft, quotes);
		else if (c == '$')
			done = shell_dollar(scan, draft, quotes);
		else if (c == '`')
			done = shell_backquote(scan, draft, quotes);
		else
			done = shell_draft_add(scan, draft, c) && ++scan->pos;
		if (!done)
			return false;
	}
}

/* ---- outside of quotes ---- */

/* "~" and what belongs to it, at the start of a word or of a value. */
static bool read_tilde(struct shell_scan *scan, struct shell_draft *draft)
{
	int next = shell_peek(scan, 1);
	size_t from = scan->pos;

	if ((next < 0 || strchr("/ \t\n;&|()<>:", next)) &&
	    scan->home.len > 0) {
		scan->pos++;
		for (size_t i = 0; i < scan->home.len; i++)
			if (!shell_draft_add(scan, draft, scan->home.data[i]))
				return false;
		return true;
	}
	scan->pos++;
	draft->flags |= SHELL_TILDE;
	return add_mark(scan, draft, bytes_slice(scan->text, from, scan->pos),
			SHELL_ANYTHING);
}

/* [a-z] at pos, of plain letters: how long it is; 0: another kind. */
static size_t plain_set(const struct shell_scan *scan)
{
	size_t len = 1;
	int c;

	do {
		c = shell_peek(scan, len++);
	} while (c == '_' || c == '-' || c == '.' || c == '!' || c == '^' ||
		 (c >= '0' && c <= '9') ||
		 ((c | 0x20) >= 'a' && (c | 0x20) <= 'z'));
	return c == ']' && len > 2 ? len : 0;
}

static bool read_glob(struct shell_scan *scan, struct shell_draft *draft, int c)
{
	size_t set = c == '[' ? plain_set(scan) : 0;
	size_t len = set ? set : 1;
	struct bytes text = bytes_slice(scan->text, scan->pos, scan->pos + len);
	int next = shell_peek(scan, 1);

	scan->pos += len;
	/* The command of that name. */
	if (c == '[' && (next < 0 || strchr(" \t\n;&|()<>", next)))
		return shell_draft_add(scan, draft, c);
	draft->flags |= SHELL_GLOB;
	return add_mark(scan, draft, text,
			c == '*'	      ? SHELL_STAR
			: c == '?' || set > 0 ? SHELL_ONE
					      : SHELL_ANYTHING);
}

static void note_brace(struct shell_draft *draft, int c)
{
	struct bytes text = buf_view(&draft->text);
	bool is_second = text.len > 0 && text.data[text.len - 1] == '.';

	if (c == '{' && !draft->has_brace) {
		draft->has_brace = true;
		draft->brace = buf_len(&draft->shape);
	} else if (draft->has_brace && (c == ',' || (c == '.' && is_second))) {
		draft->has_comma = true;
	} else if (c == '}' && draft->has_brace && draft->has_comma) {
		draft->flags |= SHELL_BRACE;
	}
}

static bool read_escape(struct shell_scan *scan, struct shell_draft *draft)
{
	int next = shell_peek(scan, 1);

	if (next < 0)
		return shell_fail(scan, "a backslash ends it");
	scan->pos += 2;
	if (next == '\n')
		return true;
	draft->flags |= SHELL_QUOTED;
	if (next == '$' || next == '`')
		scan->line->has_code_text = true;
	return shell_draft_add(scan, draft, next);
}

static bool read_process(struct shell_scan *scan, struct shell_draft *draft)
{
	size_t from = scan->pos;

	scan->pos += 2;
	if (!shell_nested(scan, SHELL_IN_PROCESS, scan->text.data[from] == '>'))
		return false;
	if (shell_peek(scan, 0) != ')')
		return shell_fail(scan, "a substitution has no end");
	scan->pos++;
	return shell_draft_expand(scan, draft, from);
}

/* Does a "~" here stand where shells look for one? */
static bool is_tilde_place(const struct shell_scan *scan, size_t start)
{
	size_t at = scan->pos;
	uint8_t before;

	while (at > start + 1 && scan->text.data[at - 1] == '\n' &&
	       scan->text.data[at - 2] == '\\')
		at -= 2;
	if (at == start)
		return true;
	before = scan->text.data[at - 1];
	return (before == '=' || before == ':') &&
	       shell_name(scan->text, start) > 0;
}

static bool read_piece(struct shell_scan *scan, struct shell_draft *draft,
		       size_t start)
{
	int c = shell_peek(scan, 0);

	switch (c) {
	case '\'':
		return read_single(scan, draft);
	case '"':
		draft->flags |= SHELL_QUOTED;
		scan->pos++;
		return shell_double(scan, draft, QUOTES_DOUBLE);
	case '\\':
		return read_escape(scan, draft);
	case '$':
		return shell_dollar(scan, draft, QUOTES_NONE);
	case '`':
		return shell_backquote(scan, draft, QUOTES_NONE);
	case '*':
	case '?':
	case '[':
		return read_glob(scan, draft, c);
	case '<':
	case '>':
		return read_process(scan, draft);
	case '~':
		if (is_tilde_place(scan, start))
			return read_tilde(scan, draft);
		break;
	default:
		note_brace(draft, c);
		break;
	}
	scan->pos++;
	return shell_draft_add(scan, draft, c);
}

/* ---- the whole word ---- */

static bool finish(struct shell_scan *scan, struct shell_draft *draft,
		   struct shell_word *word)
{
	struct bytes shape = buf_view(&draft->shape);
	struct bytes text = buf_view(&draft->text);

	if (draft->flags & SHELL_BRACE) {
		shape.len = draft->brace;
		if (shape.len + 1 > buf_len(&draft->shape))
			return shell_no_memory(scan);
		draft->shape.data[draft->shape.start + shape.len++] =
			SHELL_ANYTHING;
	}
	word->flags = draft->flags;
	word->end = shell_here(scan);
	word->text = arena_copy(scan->arena, text);
	word->shape = draft->flags & SHELL_UNCLEAR
			      ? arena_copy(scan->arena, shape)
			      : word->text;
	if (word->text.len != text.len ||
	    (draft->flags & SHELL_UNCLEAR && word->shape.len != shape.len))
		return shell_no_memory(scan);
	return true;
}

bool shell_word(struct shell_scan *scan, struct shell_word *word)
{
	auto_type(shell_draft_release) struct shell_draft draft;
	size_t start = scan->pos;

	shell_draft_open(&draft);
	*word = (struct shell_word){.at = shell_here(scan)};
	while (shell_is_word_start(scan))
		if (!read_piece(scan, &draft, start))
			return false;
	if (scan->pos == start)
		return shell_fail(scan, "a word is missing");
	return finish(scan, &draft, word);
}
