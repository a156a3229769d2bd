/*
 * The commands in the foreground that were asked for over HTTP, those that run
 * and those that have ended, until they are forgotten: which they were, and
 * how they ended. (Those in the background are their sandbox's: kept.h.)
 *
 *	command = table_add(table, sandbox, text, &err);
 *	command_run(command, exec);		// takes it
 *	command_finish(command);		// from the exec's last event
 *
 * One belongs to its sandbox: another one's id is unknown.
 */
#ifndef SANDBOX_HOST_COMMANDS_TABLE_H
#define SANDBOX_HOST_COMMANDS_TABLE_H

#include "sandbox-host/commands/exec_client.h"

#define COMMANDS_RUNNING_MAX 200  /* of one sandbox; inside are 256 */
#define COMMANDS_ENDED_MAX   512  /* of one sandbox; the oldest go first */
#define COMMANDS_MAX	     8192 /* of all; the oldest that ended go first */
#define COMMAND_KEPT_MS	     (60ull * 60 * 1000)
#define COMMAND_TEXT_MAX     4096
#define COMMAND_ID_MAX	     32 /* "cmd-" and 26 base32 characters */

struct table;

struct command {
	struct table *table;
	char id[COMMAND_ID_MAX + 1];
	char sandbox[HOST_ID_MAX + 1];
	char *text; /* what was asked for, cut */
	bool is_running;
	struct exec_client *exec; /* NULL: none yet, or none any more */
	struct exec_end end;	  /* of one that ended; reason is below */
	char reason[HOST_MESSAGE_MAX + 1];
	uint64_t started_ms, finished_ms; /* wall clock */
	uint64_t forget_ms;		  /* monotonic */
	struct command *next, *prev;
};

/* NULL: no memory. */
struct table *table_new(void);
/* Everything that runs is ended. */
void table_free(struct table *table);

/* A new one, which counts as running until command_finish(). NULL with
 * ERR_TOO_LARGE: more than COMMANDS_RUNNING_MAX or COMMANDS_MAX would run. */
struct command *table_add(struct table *table, struct bytes sandbox,
			  struct bytes text, struct err *err);
/* NULL: there is none, or it is another sandbox's. */
struct command *table_find(struct table *table, struct bytes sandbox,
			   struct bytes id);

/* Own its exec (its events stay the caller's). */
void command_run(struct command *command, struct exec_client *exec);
/* It has ended (exec_client_end()), or never began. Its exec is freed. */
void command_finish(struct command *command);
/* End it if it runs still: its exec is freed. reason: why. */
void command_abandon(struct command *command, const char *reason);
/* Forget it as if it had never been; its exec is freed. */
void command_drop(struct command *command);

#endif
