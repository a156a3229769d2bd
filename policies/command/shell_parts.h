/*
 * The reader of a line and its parts. Private to shell*.c. Functions return
 * false when the line cannot be read on: it was told, and all return.
 */
#ifndef POLICIES_COMMAND_SHELL_PARTS_H
#define POLICIES_COMMAND_SHELL_PARTS_H

#include "common/buf.h"
#include "policies/command/shell.h"

struct shell_heredoc {
	struct bytes delimiter;
	bool is_literal; /* it was quoted */
	bool drops_tabs; /* <<- */
};

struct shell_scan {
	struct bytes text;
	size_t pos;
	size_t base;   /* where text begins in the line */
	bool is_fixed; /* text is a copy: everything is at base */
	struct shell_line *line;
	struct arena *arena;
	struct bytes home; /* empty: not known, or changed by the line */
	unsigned depth;
	enum shell_place place;
	bool reads_pipe;
	struct shell_heredoc heredocs[SHELL_HEREDOCS_MAX];
	size_t heredoc_count;
	size_t heredoc_base; /* those of what this is nested in */
};

/* What is between two quotes, in a here-document, in ${x:-...}. */
enum shell_quotes { QUOTES_NONE, QUOTES_DOUBLE, QUOTES_HEREDOC };

/* A word that is being read. */
struct shell_draft {
	struct buf text, shape;
	unsigned flags;
	size_t brace;	/* text's length before the first open "{" */
	bool has_brace; /* there is one */
	bool has_comma; /* a "," or ".." after it */
};

/* Say why the line is ambiguous. Always false. */
bool shell_fail(struct shell_scan *scan, const char *why);
/* The same, of memory. */
bool shell_no_memory(struct shell_scan *scan);

/* The byte at pos + ahead; -1: the text ends. */
static inline int shell_peek(const struct shell_scan *scan, size_t ahead)
{
	return scan->pos + ahead < scan->text.len
		       ? scan->text.data[scan->pos + ahead]
		       : -1;
}
bool shell_at(const struct shell_scan *scan, const char *text);
/* Where pos is in the line. */
size_t shell_here(const struct shell_scan *scan);

/* A name of a variable at from: its length, 0: none. */
size_t shell_name(struct bytes text, size_t from);

/* shell_list.c: commands until an end that belongs to what this is in. */
bool shell_list(struct shell_scan *scan);
/* The same of a part: of another place, nested one deeper. */
bool shell_nested(struct shell_scan *scan, enum shell_place place,
		  bool reads_pipe);
/* Read all of a text as commands, as one that stands at scan's pos. */
bool shell_text(struct shell_scan *scan, struct bytes text,
		enum shell_place place);

/* shell_blank.c: blanks, comments and continued lines; then line feeds. */
void shell_blanks(struct shell_scan *scan);
/* Take line feeds and blanks; here-documents that begin are read. */
bool shell_line_feeds(struct shell_scan *scan);
/* Take one, with the here-documents after it. */
bool shell_line_feed(struct shell_scan *scan);
/* Is a plain word here that is w, and nothing but it? */
bool shell_is_word(const struct shell_scan *scan, const char *w);
/* The same, and take it. */
bool shell_take_word(struct shell_scan *scan, const char *w);
/* Does a word begin here? */
bool shell_is_word_start(const struct shell_scan *scan);

/* shell_word.c */
/* Could a quoted text be a part of a substitution? It is kept in mind. */
void shell_note_code(struct shell_scan *scan, struct bytes quoted);
bool shell_word(struct shell_scan *scan, struct shell_word *word);
/* Read what is quoted or in a here-document, to its end; scan is behind the
 * opening quote. */
bool shell_double(struct shell_scan *scan, struct shell_draft *draft,
		  enum shell_quotes quotes);
/* shell_dollar.c: "$" and what follows; scan stands at it. */
bool shell_dollar(struct shell_scan *scan, struct shell_draft *draft,
		  enum shell_quotes quotes);
bool shell_backquote(struct shell_scan *scan, struct shell_draft *draft,
		     enum shell_quotes quotes);
/* Behind "((": to the "))" after it. */
bool shell_arithmetic(struct shell_scan *scan);
/* Arithmetic may set a variable: note it if "NAME=" stands here. */
bool shell_note_set(struct shell_scan *scan);

void shell_draft_open(struct shell_draft *draft);
void shell_draft_release(struct shell_draft *draft);
/* One byte that is itself. */
bool shell_draft_add(struct shell_scan *scan, struct shell_draft *draft,
		     int byte);
/* Something that is not known; as it is written: [from, pos). */
bool shell_draft_expand(struct shell_scan *scan, struct shell_draft *draft,
			size_t from);

/* shell_redirect.c: is one here? It may have a number before it. */
bool shell_is_redirect(const struct shell_scan *scan);
bool shell_redirect(struct shell_scan *scan, struct shell_redirect *redirect);

/* shell_compound.c: is the start of a compound command here? */
bool shell_is_compound(const struct shell_scan *scan);
bool shell_compound(struct shell_scan *scan);
/* A variable is set here, as by an assignment to something unknown. */
bool shell_set_variable(struct shell_scan *scan, struct bytes name);
/* Behind NAME() or function NAME: the body. */
bool shell_function(struct shell_scan *scan);

/* shell_simple.c: a simple command; NULL redirects of a compound go there
 * too. */
bool shell_simple(struct shell_scan *scan);
/* The redirections behind a compound command whose first one came after
 * `before` (NULL: the line's first). */
bool shell_redirects_of(struct shell_scan *scan, struct shell_command *before);

/* The line's list gets a command. */
bool shell_emit(struct shell_scan *scan, const struct shell_command *command);

#endif
