#include "sandbox-host/commands/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#include "common/clock.h"
#include "common/digest.h"
#include "sandbox-host/commands/lines.h"

#define ID_PREFIX "cmd-"

struct table {
	struct command *commands; /* the oldest first */
	size_t count;
};

struct table *table_new(void)
{
	return calloc(1, sizeof(struct table));
}

void table_free(struct table *table)
{
	struct command *command, *next;

	if (!table)
		return;
	DL_FOREACH_SAFE(table->commands, command, next)
	command_drop(command);
	free(table);
}

void command_drop(struct command *command)
{
	struct table *table = command->table;

	DL_DELETE(table->commands, command);
	table->count--;
	exec_client_free(command->exec);
	free(command->text);
	free(command);
}

/* ---- bounds ---- */

struct census {
	size_t running, ended;
	struct command *oldest; /* that ended */
};

static struct census count_of(const struct table *table, struct bytes sandbox)
{
	struct census census = {0};
	struct command *command;

	DL_FOREACH(table->commands, command)
	{
		if (!bytes_is(sandbox, command->sandbox))
			continue;
		if (command->is_running)
			census.running++;
		else if (census.ended++ == 0)
			census.oldest = command;
	}
	return census;
}

static void forget_old(struct table *table)
{
	uint64_t now = clock_monotonic_ms();
	struct command *command, *next;

	DL_FOREACH_SAFE(table->commands, command, next)
	if (!command->is_running && command->forget_ms <= now)
		command_drop(command);
}

/* The first that has ended: what ran in some sandboxes is not to keep others
 * from running anything. */
static void forget_oldest(struct table *table)
{
	struct command *command;

	DL_FOREACH(table->commands, command)
	if (!command->is_running) {
		command_drop(command);
		return;
	}
}

static int make_room(struct table *table, struct bytes sandbox, struct err *err)
{
	struct census census;

	forget_old(table);
	census = count_of(table, sandbox);
	if (census.running >= COMMANDS_RUNNING_MAX)
		return err_set(err, ERR_TOO_LARGE,
			       "%d commands run in this sandbox already",
			       COMMANDS_RUNNING_MAX);
	if (census.ended >= COMMANDS_ENDED_MAX)
		command_drop(census.oldest);
	else if (table->count >= COMMANDS_MAX)
		forget_oldest(table);
	if (table->count >= COMMANDS_MAX)
		return err_set(err, ERR_TOO_LARGE, "%d commands run already",
			       COMMANDS_MAX);
	return 0;
}

struct command *table_add(struct table *table, struct bytes sandbox,
			  struct bytes text, struct err *err)
{
	char random[27];
	struct command *command;

	assert(sandbox.len <= HOST_ID_MAX);
	if (make_room(table, sandbox, err) < 0)
		return NULL;
	text.len = lines_shown_len(text, COMMAND_TEXT_MAX);
	command = calloc(1, sizeof(*command));
	if (command)
		command->text = strndup((const char *)text.data, text.len);
	if (!command || !command->text) {
		free(command);
		(void)err_set(err, ERR_TOO_LARGE, "no memory");
		return NULL;
	}
	command->table = table;
	command->is_running = true;
	command->started_ms = clock_wall_ms();
	random_id(random);
	(void)snprintf(command->id, sizeof(command->id), ID_PREFIX "%s",
		       random);
	(void)snprintf(command->sandbox, sizeof(command->sandbox), "%.*s",
		       BYTES_ARGS(sandbox));
	DL_APPEND(table->commands, command);
	table->count++;
	return command;
}

struct command *table_find(struct table *table, struct bytes sandbox,
			   struct bytes id)
{
	struct command *command;

	forget_old(table);
	DL_FOREACH(table->commands, command)
	if (bytes_is(id, command->id) && bytes_is(sandbox, command->sandbox))
		return command;
	return NULL;
}

/* ---- one ---- */

void command_run(struct command *command, struct exec_client *exec)
{
	assert(!command->exec);
	command->exec = exec;
}

void command_finish(struct command *command)
{
	if (command->exec) {
		command->end = exec_client_end(command->exec);
		(void)snprintf(command->reason, sizeof(command->reason), "%s",
			       command->end.reason);
	}
	command->end.reason = command->reason;
	exec_client_free(command->exec);
	command->exec = NULL;
	command->is_running = false;
	command->finished_ms = clock_wall_ms();
	command->forget_ms = clock_monotonic_ms() + COMMAND_KEPT_MS;
}

void command_abandon(struct command *command, const char *reason)
{
	command_finish(command);
	command->end.is_lost = true;
	(void)snprintf(command->reason, sizeof(command->reason), "%s", reason);
}
