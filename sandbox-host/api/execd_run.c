/* A command, from the request that asks for it to the last of its events. */
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "sandbox-host/api/api.h"
#include "sandbox-host/api/execd.h"

/* Of the exchange; freed in its on_end. */
struct run {
	struct exchange *exchange;
	struct run_spec spec;
	struct command *command; /* NULL: it never ran */
	struct sse sse;
	bool has_begun, has_ended;
};

int run_exit_code(const struct exec_end *end)
{
	return end->is_lost || end->signal != 0 ? -1 : end->exit_code;
}

static void be_over(struct run *run)
{
	void (*on_over)(void *) = run->spec.on_over;

	run->spec.on_over = NULL;
	if (on_over)
		on_over(run->spec.owner);
}

/* ---- while it runs ---- */

static void tell_end(struct run *run)
{
	const struct exec_end *end = &run->command->end;
	int code = run_exit_code(end);
	char value[16];

	if (code == 0) {
		sse_complete(&run->sse);
		return;
	}
	(void)snprintf(value, sizeof(value), "%d", code);
	sse_error(&run->sse, "CommandExecError", value, bytes_str(end->reason));
}

static void pump(struct run *run)
{
	struct exec_client *exec = run->command->exec;
	bool is_out = sse_lines(&run->sse, "stdout", exec_client_out(exec, 1),
				run->has_ended);
	bool is_err = sse_lines(&run->sse, "stderr", exec_client_out(exec, 2),
				run->has_ended);

	if (!run->has_ended) {
		exec_client_go_on(exec);
		return;
	}
	if (!is_out || !is_err)
		return;
	command_finish(run->command);
	be_over(run);
	tell_end(run);
}

static void on_room(struct exchange *exchange)
{
	struct run *run = exchange->task;

	if (run->command && run->command->exec && run->sse.exchange)
		pump(run);
}

static void on_refused(struct run *run)
{
	struct exec_client *exec = run->command->exec;
	struct command *command = run->command;

	run->command = NULL;
	be_over(run);
	execd_fail(run->exchange, exec);
	command_drop(command);
}

static void take_report(struct run *run, struct exec_client *client)
{
	if (run->spec.on_report)
		run->spec.on_report(exec_client_out(client, 0),
				    run->spec.owner);
}

static void on_started(struct run *run)
{
	run->has_begun = true;
	/* What it wrote may have come before the word that it runs. */
	if (sse_begin(&run->sse, run->exchange, run->command->id) == 0)
		pump(run);
}

static void on_event(struct exec_client *client, enum exec_event event,
		     void *owner)
{
	struct run *run = owner;

	if (event == EXEC_REFUSED) {
		on_refused(run);
	} else if (event == EXEC_STARTED) {
		on_started(run);
	} else if (event == EXEC_OUTPUT || event == EXEC_ENDED) {
		run->has_ended = event == EXEC_ENDED;
		take_report(run, client);
		if (run->sse.exchange)
			pump(run);
	}
}

/* ---- begin and end ---- */

/* The answer is complete, or the client gone: then the command dies. */
static void on_end(struct exchange *exchange)
{
	struct run *run = exchange->task;

	if (run->command && !run->has_begun)
		command_drop(run->command);
	else if (run->command && run->command->is_running)
		command_abandon(run->command, "its client is gone");
	be_over(run);
	sse_release(&run->sse);
	free(run);
}

static void on_channel(struct exchange *exchange, const void *message, int *fd)
{
	struct run *run = exchange->task;
	struct exec_client *exec;
	struct err err;

	(void)message;
	exec = exec_client_new(exchange_loop(exchange), take_fd(fd), on_event,
			       run, &err);
	if (exec)
		command_run(run->command, exec);
	if (exec && exec_client_start(exec, &run->spec.request, run->spec.input,
				      &err) == 0)
		return;
	execd_fail_err(exchange, &err);
}

void run_begin(struct exchange *exchange, const struct run_spec *spec)
{
	struct run *run = calloc(1, sizeof(*run));
	struct err err;

	if (!run) {
		exchange_fail_memory(exchange);
		if (spec->on_over)
			spec->on_over(spec->owner);
		return;
	}
	*run = (struct run){.exchange = exchange, .spec = *spec};
	exchange->task = run;
	exchange->on_end = on_end;
	exchange->on_room = on_room;
	run->command = table_add(exchange->api->execd->commands,
				 exchange->sandbox, spec->text, &err);
	if (run->command)
		exchange_channel(exchange, HOST_CHANNEL_EXEC, on_channel);
	else
		exchange_fail(exchange, 429, "RUNTIME_ERROR", "%s", err.text);
}
