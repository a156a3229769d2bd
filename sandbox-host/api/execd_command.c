/* /command: what runs with a shell, in the foreground or the background. */
#include "common/clock.h"
#include "sandbox-host/api/api.h"
#include "sandbox-host/api/execd.h"

/* ---- POST /command ---- */

static bool take_command(struct exchange *exchange, const json_t *body,
			 struct run_spec *spec, bool *is_background)
{
	return execd_text(exchange, body, "command", true, &spec->text) &&
	       execd_cwd(exchange, body, &spec->request.cwd) &&
	       execd_flag(exchange, body, "background", is_background) &&
	       execd_number(exchange, body, "timeout", EXECD_TIMEOUT_MAX,
			    &spec->request.timeout_ms) &&
	       execd_env(exchange, body, "envs", &spec->request) &&
	       execd_user(exchange, body, &spec->request.user) &&
	       execd_shell(exchange, spec->text, &spec->request);
}

static void post_command(struct exchange *exchange)
{
	struct run_spec spec = {.input = EXEC_NO_INPUT};
	bool is_background = false;
	json_t *body;

	if (!execd_body(exchange, true, &body))
		return;
	if (!take_command(exchange, body, &spec, &is_background))
		;
	else if (is_background)
		background_run(exchange, &spec);
	else
		run_begin(exchange, &spec);
	json_decref(body);
}

/* ---- those that are there ---- */

/* One of the foreground. NULL: the sandbox may know it. */
static struct command *find(struct exchange *exchange, struct bytes id)
{
	struct execd *execd = exchange->api->execd;

	return execd ? table_find(execd->commands, exchange->sandbox, id)
		     : NULL;
}

static void delete_command(struct exchange *exchange)
{
	const struct command *command;
	struct bytes id;

	if (!exchange_query(exchange, "id", &id) || id.len == 0) {
		exchange_fail(exchange, 400, "MISSING_QUERY",
			      "the query needs id");
		return;
	}
	command = find(exchange, id);
	if (!command) {
		background_stop(exchange, id);
		return;
	}
	/* One that has ended meanwhile is as it was wanted. */
	if (command->exec)
		exec_client_stop(command->exec);
	exchange_reply_empty(exchange, 200);
}

static void set_time(json_t *answer, const char *name, uint64_t time_ms)
{
	char text[CLOCK_TEXT_SIZE];

	clock_format(time_ms, text);
	(void)json_object_set_new(answer, name, json_string(text));
}

void command_reply(struct exchange *exchange, const struct command_shown *shown)
{
	json_t *answer =
		json_pack("{s:s%,s:s,s:b}", "id", shown->id.data, shown->id.len,
			  "content", shown->text, "running", shown->is_running);

	set_time(answer, "started_at", shown->started_ms);
	if (!shown->is_running) {
		(void)json_object_set_new(answer, "exit_code",
					  json_integer(shown->exit_code));
		set_time(answer, "finished_at", shown->finished_ms);
	}
	if (shown->reason[0])
		(void)json_object_set_new(answer, "error",
					  json_string(shown->reason));
	exchange_reply_json(exchange, 200, answer);
}

static void get_status(struct exchange *exchange)
{
	const struct command *command = find(exchange, exchange->pieces[0]);
	struct command_shown shown;

	if (!command) {
		background_status(exchange, exchange->pieces[0]);
		return;
	}
	shown = (struct command_shown){
		.id = bytes_str(command->id),
		.text = command->text,
		.is_running = command->is_running,
		.exit_code = run_exit_code(&command->end),
		.started_ms = command->started_ms,
		.finished_ms = command->finished_ms,
		.reason = command->reason,
	};
	command_reply(exchange, &shown);
}

static void get_logs(struct exchange *exchange)
{
	if (find(exchange, exchange->pieces[0]))
		exchange_fail(exchange, 400, "INVALID_REQUEST",
			      "this command runs in the foreground: its output "
			      "went to who asked for it");
	else
		background_logs(exchange, exchange->pieces[0]);
}

const struct route execd_command_routes[] = {
	{"POST", "/command", ROUTE_TOKEN, EXECD_BODY_MAX, ROUTE_WHOLE,
	 post_command},
	{"DELETE", "/command", ROUTE_TOKEN, 0, ROUTE_WHOLE, delete_command},
	{"GET", "/command/status/{}", ROUTE_TOKEN, 0, ROUTE_WHOLE, get_status},
	{"GET", "/command/{}/logs", ROUTE_TOKEN, 0, ROUTE_WHOLE, get_logs},
	{0},
};
