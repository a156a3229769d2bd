/* /command: what runs with a shell, in the foreground or the background. */
#include <stdio.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "sandbox-host/api/execd.h"

#define CURSOR_FIELD "EXECD-COMMANDS-TAIL-CURSOR"
#define CURSOR_MAX   INT64_MAX

/* ---- POST /command ---- */

/* Every command runs as the sandbox's one user. */
static bool check_user(struct exchange *exchange, const json_t *body)
{
	const json_t *uid = json_object_get(body, "uid");
	const json_t *gid = json_object_get(body, "gid");

	if ((!uid || json_is_null(uid)) && (!gid || json_is_null(gid)))
		return true;
	if (!uid || json_is_null(uid))
		exchange_fail(exchange, 400, "INVALID_REQUEST_BODY",
			      "gid needs uid");
	else
		exchange_fail(exchange, 501, "NOT_SUPPORTED",
			      "commands run as the one user of the sandbox: "
			      "uid and gid cannot be chosen");
	return false;
}

static bool take_command(struct exchange *exchange, const json_t *body,
			 struct run_spec *spec)
{
	return execd_text(exchange, body, "command", true, &spec->text) &&
	       execd_cwd(exchange, body, &spec->request.cwd) &&
	       execd_flag(exchange, body, "background", &spec->is_background) &&
	       execd_number(exchange, body, "timeout", EXECD_TIMEOUT_MAX,
			    &spec->request.timeout_ms) &&
	       execd_env(exchange, body, "envs", &spec->request) &&
	       check_user(exchange, body) &&
	       execd_shell(exchange, spec->text, &spec->request);
}

static void post_command(struct exchange *exchange)
{
	struct run_spec spec = {.input = EXEC_NO_INPUT};
	json_t *body;

	if (!execd_body(exchange, true, &body))
		return;
	if (take_command(exchange, body, &spec))
		run_begin(exchange, &spec);
	json_decref(body);
}

/* ---- those that are there ---- */

/* NULL: answered. */
static struct command *find(struct exchange *exchange, struct bytes id)
{
	struct execd *execd = execd_of(exchange);
	struct command *command;

	if (!execd)
		return NULL;
	command = table_find(execd->commands, exchange->sandbox, id);
	if (!command)
		exchange_fail(exchange, 404, "CONTEXT_NOT_FOUND",
			      "there is no such command");
	return command;
}

static void delete_command(struct exchange *exchange)
{
	struct command *command;
	struct bytes id;

	if (!exchange_query(exchange, "id", &id) || id.len == 0) {
		exchange_fail(exchange, 400, "MISSING_QUERY",
			      "the query needs id");
		return;
	}
	command = find(exchange, id);
	if (!command)
		return;
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

static void get_status(struct exchange *exchange)
{
	struct command *command = find(exchange, exchange->pieces[0]);
	json_t *answer;

	if (!command)
		return;
	answer = json_pack("{s:s,s:s,s:b}", "id", command->id, "content",
			   command->text, "running", command->is_running);
	set_time(answer, "started_at", command->started_ms);
	if (!command->is_running) {
		json_int_t code = run_exit_code(&command->end);

		(void)json_object_set_new(answer, "exit_code",
					  json_integer(code));
		set_time(answer, "finished_at", command->finished_ms);
	}
	if (command->reason[0])
		(void)json_object_set_new(answer, "error",
					  json_string(command->reason));
	exchange_reply_json(exchange, 200, answer);
}

static void get_logs(struct exchange *exchange)
{
	struct command *command = find(exchange, exchange->pieces[0]);
	auto_type(buf_release) struct buf text;
	uint64_t cursor = 0;
	struct bytes bytes;
	char next[24];

	if (!command ||
	    !exchange_query_number(exchange, "cursor", CURSOR_MAX, &cursor))
		return;
	if (!command->is_background) {
		exchange_fail(exchange, 400, "INVALID_REQUEST",
			      "this command runs in the foreground: its output "
			      "went to who asked for it");
		return;
	}
	bytes = command_read(command, &cursor);
	/* A character that is not all there yet comes with the next ones. */
	if (command->is_running)
		bytes.len = lines_whole_len(bytes);
	buf_init(&text, 3 * (size_t)COMMAND_OUTPUT_MAX);
	if (lines_add_text(bytes, &text) < 0) {
		exchange_fail_memory(exchange);
		return;
	}
	(void)snprintf(next, sizeof(next), "%llu",
		       (unsigned long long)(cursor + bytes.len));
	exchange_add_field(exchange, CURSOR_FIELD, bytes_str(next));
	exchange_reply_bytes(exchange, 200, "text/plain; charset=utf-8",
			     buf_view(&text));
}

const struct route execd_command_routes[] = {
	{"POST", "/command", ROUTE_TOKEN, EXECD_BODY_MAX, ROUTE_WHOLE,
	 post_command},
	{"DELETE", "/command", ROUTE_TOKEN, 0, ROUTE_WHOLE, delete_command},
	{"GET", "/command/status/{}", ROUTE_TOKEN, 0, ROUTE_WHOLE, get_status},
	{"GET", "/command/{}/logs", ROUTE_TOKEN, 0, ROUTE_WHOLE, get_logs},
	{0},
};
