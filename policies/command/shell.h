/*
 * A shell's command line (untrusted) read as bash and dash read it: words,
 * operators and structure. Nothing is executed, nothing is expanded but a
 * leading "~" and $HOME. Every command that could run is in one list, in the
 * order of the text: those of pipelines, subshells, groups, loops, functions,
 * substitutions and here-documents too.
 *
 *	shell_parse(bytes_str("a | (b; c $(d))"), home, &arena, &line)
 *	  -> a, b, d, c; b and c read a pipe, d is in a substitution
 *
 * What two shells could read differently, what is no complete line, and what
 * this does not know is never guessed: line.ambiguous says why, and where.
 * The commands up to there are in the list nevertheless.
 *
 * Why not a library: Debian has tree-sitter without its grammar for bash, and
 * that one is made to colour texts: it guesses where this must not.
 */
#ifndef POLICIES_COMMAND_SHELL_H
#define POLICIES_COMMAND_SHELL_H

#include <stdbool.h>

#include "common/arena.h"
#include "common/bytes.h"

#define SHELL_LINE_MAX	   (64 * 1024)
#define SHELL_DEPTH_MAX	   24
#define SHELL_COMMANDS_MAX 1000
#define SHELL_HEREDOCS_MAX 8 /* of one line of text */
/* An arena for one line of SHELL_LINE_MAX. */
#define SHELL_ARENA_MAX (32 * 1024 * 1024)

/* In the shape of a word, what is not known. The text has no controls. */
#define SHELL_ANYTHING '\x01' /* any text, slashes too */
#define SHELL_STAR     '\x02' /* any text without a slash */
#define SHELL_ONE      '\x03' /* one character, no slash */

enum shell_flag {		     /* bits */
		  SHELL_QUOTED = 1,  /* some of it; the text is exact */
		  SHELL_EXPANDS = 2, /* a variable, a substitution... */
		  SHELL_GLOB = 4,
		  SHELL_BRACE = 8,
		  SHELL_TILDE = 16, /* ~user, ~+ */
		  /* By blanks in what it expands to, into more words. */
		  SHELL_SPLITS = 32,
};
/* Its text is not what the command gets. */
#define SHELL_UNCLEAR (SHELL_EXPANDS | SHELL_GLOB | SHELL_BRACE | SHELL_TILDE)

struct shell_word {
	struct bytes text;  /* without its quotes; unclear parts as written */
	struct bytes shape; /* the same, with SHELL_ANYTHING and so on */
	unsigned flags;
	size_t at, end; /* in the line */
};

enum shell_redirect_kind {
	REDIRECT_IN,	     /* < */
	REDIRECT_OUT,	     /* > >| &> >& */
	REDIRECT_APPEND,     /* >> &>> */
	REDIRECT_READ_WRITE, /* <> */
	REDIRECT_COPY,	     /* <& >& with a number or "-" */
	REDIRECT_HEREDOC,    /* <<; the target is the delimiter */
	REDIRECT_HERESTRING, /* <<< */
	REDIRECT_KIND_MAX
};

struct shell_redirect {
	enum shell_redirect_kind kind;
	int fd; /* -1: both 1 and 2 */
	struct shell_word target;
};

enum shell_operator { /* what comes after a command */
		      OPERATOR_END,
		      OPERATOR_SEQUENCE, /* ; or a line feed */
		      OPERATOR_AND,
		      OPERATOR_OR,
		      OPERATOR_PIPE,
		      OPERATOR_PIPE_BOTH, /* |& */
		      OPERATOR_BACKGROUND,
		      OPERATOR_MAX
};

enum shell_place { /* what a command stands in */
		   SHELL_IN_LINE,
		   SHELL_IN_SUBSHELL,
		   SHELL_IN_GROUP,    /* { } and the parts of if and case */
		   SHELL_IN_LOOP,     /* for, while, until, select */
		   SHELL_IN_FUNCTION, /* the body of one */
		   SHELL_IN_SUBSTITUTION,
		   SHELL_IN_PROCESS, /* <( ) and >( ) */
		   SHELL_IN_MAX
};

struct shell_command {
	const struct shell_word *words; /* none: assignments, redirections */
	size_t word_count;
	const struct shell_word *assignments; /* "NAME=value" */
	size_t assignment_count;
	const struct shell_redirect *redirects;
	size_t redirect_count;
	enum shell_operator after;
	enum shell_place place;
	unsigned depth;	 /* 0: the line itself */
	bool reads_pipe; /* its input is a pipe, a file or a text */
	size_t at, end;
	struct shell_command *next;
};

struct shell_line {
	struct shell_command *first, *last;
	size_t count;
	const char *ambiguous; /* why; NULL: all of it was read */
	size_t ambiguous_at;   /* where */
	bool has_loop;	       /* loops or functions: what comes first in
				  the text may run later */
	bool has_code_text;    /* a text could have a substitution in it that
					  arithmetic runs: quoted, read, printed */
	bool has_named_arithmetic; /* arithmetic with variables */
};

/* Read a line; everything lives in arena and text. home: what "~" stands for,
 * empty: not known. */
void shell_parse(struct bytes text, struct bytes home, struct arena *arena,
		 struct shell_line *line);

#endif
