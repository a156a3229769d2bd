/*
 * The sallyport command: nouns and verbs, each a function of this shape. It
 * talks to control's Unix socket and holds no secret but the one that it
 * passes from its stdin to the vault.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <jansson.h>
#include <stdbool.h>

#include "common/buf.h"
#include "common/err.h"
#include "sandbox-host/session/client.h"

/* interface.md section 2 */
enum exit_code {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	/* configuration or policy; a file or directory of this host that was
	 * named to be read, and can not be */
	EXIT_INVALID = 3,
	EXIT_UNREACHABLE = 4,
	EXIT_NOT_PERMITTED = 5,
	EXIT_NOT_FOUND = 6,
	EXIT_CONFLICT = 7,
	EXIT_TIMED_OUT = 8,
	EXIT_WOULD_DENY = 10
};

struct cli {
	const struct command *command;
	bool json; /* -o json, or -o yaml */
	bool yaml; /* -o yaml */
	int argc;
	char **argv; /* [0]: "sallyport run", what getopt calls us */
};

/* What a command prints, and so what -o is to it. */
enum command_output {
	OUTPUT_TEXT,	 /* text alone: JSON and YAML are refused */
	OUTPUT_VALUE,	 /* a value, or a row of them after the other */
	OUTPUT_FILE,	 /* where -o says: that is a file */
	OUTPUT_COMMANDS, /* what a command that it runs does, which has words
			  * of its own */
};

struct command {
	const char *noun;
	const char *verb; /* NULL: the noun is the command */
	enum command_output output;
	int (*run)(struct cli *cli);
	const char *summary;
	const char *help; /* the whole text for --help */
};

extern const struct command commands[];
extern const size_t command_count;

/* Tell "sallyport: text" on stderr and return code: an exit_code, or one of
 * the sandbox's own. */
int cli_fail(int code, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same for an err: its code chooses the exit code. */
int cli_fail_err(const struct err *err);
/* Tell what is wrong with the words of a command; what they are like is not
 * shown yet. Always -1. */
int cli_wrong(const struct cli *cli, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The usage was wrong, and it was told how (by cli_wrong(), by getopt_long(),
 * or by this, of the value that optarg is): show how it is. */
int cli_usage(const struct cli *cli);
/* What was printed a moment ago is to be seen now. Has all been written so
 * far? */
bool cli_flush(void);
/* The exit code of a command that ended so: what it printed must have been
 * written. */
int cli_end(int code);

/* Print a JSON value as itself (-o json), as YAML, or through table. */
int cli_print(const struct cli *cli, const json_t *value,
	      void (*table)(const json_t *value));
/* A row of a stream, under -o json or -o yaml; line: the row as it came. */
void cli_print_row(const struct cli *cli, const json_t *row, struct bytes line);
/* Replace what a terminal would act on: controls, escapes. For texts that
 * somebody inside chose. */
void cli_clean(char *text);

/* Read a whole file, "-" for stdin, into out. 0, or -1. */
int cli_read_file(const char *path, struct buf *out, struct err *err);

#endif
