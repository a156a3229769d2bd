#include "policies/command/shell.h"

#include "common/cleanup.h"
#include "policies/command/shell_parts.h"

static const char split_sign[] = "a sign is continued on the next line";

bool shell_fail(struct shell_scan *scan, const char *why)
{
	if (!scan->line->ambiguous) {
		scan->line->ambiguous = why;
		scan->line->ambiguous_at = shell_here(scan);
	}
	return false;
}

bool shell_no_memory(struct shell_scan *scan)
{
	return shell_fail(scan, "the line is too long");
}

bool shell_at(const struct shell_scan *scan, const char *text)
{
	return bytes_starts_with(
		bytes_slice(scan->text, scan->pos, scan->text.len),
		bytes_str(text));
}

size_t shell_here(const struct shell_scan *scan)
{
	return scan->is_fixed ? scan->base : scan->base + scan->pos;
}

size_t shell_name(struct bytes text, size_t from)
{
	size_t at = from;

	while (at < text.len) {
		uint8_t c = text.data[at];
		bool is_letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
		bool is_digit = c >= '0' && c <= '9';

		if (c != '_' && !is_letter && (at == from || !is_digit))
			break;
		at++;
	}
	return at - from;
}

bool shell_emit(struct shell_scan *scan, const struct shell_command *command)
{
	struct shell_line *line = scan->line;
	struct shell_command *kept;

	if (line->count == SHELL_COMMANDS_MAX)
		return shell_fail(scan, "the line has too many commands");
	kept = arena_alloc(scan->arena, sizeof(*kept));
	if (!kept)
		return shell_no_memory(scan);
	*kept = *command;
	if (line->last)
		line->last->next = kept;
	else
		line->first = kept;
	line->last = kept;
	line->count++;
	return true;
}

bool shell_nested(struct shell_scan *scan, enum shell_place place,
		  bool reads_pipe)
{
	const struct shell_scan outer = *scan;
	bool done;

	if (scan->depth == SHELL_DEPTH_MAX)
		return shell_fail(scan, "it is nested too deep");
	scan->depth++;
	scan->place = place;
	scan->reads_pipe = reads_pipe;
	if (place >= SHELL_IN_SUBSTITUTION)
		scan->heredoc_base = scan->heredoc_count;
	done = shell_list(scan);
	if (done && place >= SHELL_IN_SUBSTITUTION &&
	    scan->heredoc_count > scan->heredoc_base)
		done = shell_fail(scan, "a here-document outlives what it is "
					"in");
	scan->depth = outer.depth;
	scan->place = outer.place;
	scan->reads_pipe = outer.reads_pipe;
	scan->heredoc_base = outer.heredoc_base;
	return done;
}

/* Two bytes that are one sign, or begin one: "((" may be arithmetic. */
static bool is_sign(uint8_t one, uint8_t two)
{
	static const char *const signs[] = {"((", "<(", ">(", "<<", ">>",
					    "&&", "||", "&>", ">&", "<&",
					    ">|", "|&", ";;", ";&", "<>"};

	for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
		if (signs[i][0] == one && signs[i][1] == two)
			return true;
	return one == '$';
}

/* Shells take a backslash and a line feed away before all else, between the
 * parts of a sign too: "$\<line feed>(x)" is a substitution. */
static bool has_split_sign(struct bytes text)
{
	for (size_t i = 1; i + 2 < text.len; i++) {
		size_t next = i;

		while (next + 2 < text.len && text.data[next] == '\\' &&
		       text.data[next + 1] == '\n')
			next += 2;
		if (next == i)
			continue;
		if (is_sign(text.data[i - 1], text.data[next]))
			return true;
		i = next - 1;
	}
	return false;
}

bool shell_text(struct shell_scan *scan, struct bytes text,
		enum shell_place place)
{
	struct shell_scan inner = {
		.text = text,
		.base = shell_here(scan),
		.is_fixed = true,
		.line = scan->line,
		.arena = scan->arena,
		.home = scan->home,
		.depth = scan->depth,
	};

	if (has_split_sign(text))
		return shell_fail(scan, split_sign);
	if (!shell_nested(&inner, place, false))
		return false;
	return inner.pos == inner.text.len ||
	       shell_fail(scan, "a word or operator is out of place");
}

/* Is it a path that no shell splits or expands further? */
static bool is_plain(struct bytes path)
{
	for (size_t i = 0; i < path.len; i++) {
		uint8_t c = path.data[i];
		bool is_letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';

		if (!is_letter && !(c >= '0' && c <= '9') &&
		    !strchr("/._-+", c))
			return false;
	}
	return path.len > 0 && path.data[0] == '/';
}

/* Is every HOME in the line one that is only read? */
static bool keeps_home(struct bytes text)
{
	static const struct bytes name = BYTES_LITERAL("HOME");
	ptrdiff_t at = bytes_find_bytes(text, name, 0);

	while (at >= 0) {
		size_t before = (size_t)at;

		if (before > 0 && text.data[before - 1] == '{')
			before--;
		if (before == 0 || text.data[before - 1] != '$')
			return false;
		at = bytes_find_bytes(text, name, (size_t)at + name.len);
	}
	return true;
}

/* Bytes that shells and terminals do not agree about. */
static bool has_controls(struct bytes text)
{
	for (size_t i = 0; i < text.len; i++) {
		uint8_t c = text.data[i];

		if (c == 0x7f || (c < 0x20 && c != '\t' && c != '\n'))
			return true;
	}
	return false;
}

void shell_parse(struct bytes text, struct bytes home, struct arena *arena,
		 struct shell_line *line)
{
	struct shell_scan scan = {
		.text = text,
		.line = line,
		.arena = arena,
		.home = is_plain(home) && keeps_home(text)
				? home
				: bytes_from(NULL, 0),
	};

	*line = (struct shell_line){0};
	if (text.len > SHELL_LINE_MAX) {
		(void)shell_fail(&scan, "the line is too long");
		return;
	}
	if (has_controls(text)) {
		(void)shell_fail(&scan, "there is a control character in it");
		return;
	}
	if (has_split_sign(text)) {
		(void)shell_fail(&scan, split_sign);
		return;
	}
	if (!shell_list(&scan))
		return;
	if (scan.pos < text.len)
		(void)shell_fail(&scan, "a word or operator is out of place");
	else if (scan.heredoc_count > 0)
		(void)shell_fail(&scan, "a here-document does not begin");
	else if (line->has_code_text && line->has_named_arithmetic)
		(void)shell_fail(&scan, "a text could be run by the "
					"arithmetic in the line");
}
