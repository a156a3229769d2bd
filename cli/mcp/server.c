#include "cli/mcp/server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utlist.h>

#include "cli/mcp/tool.h"
#include "common/cleanup.h"

#define REVISION    "2025-06-18" /* ours, when theirs is not known */
#define FAREWELL_MS 20000	 /* for the end of a sandbox */

static const char *const revisions[] = {
	"2024-11-05",
	"2025-03-26",
	REVISION,
	"2025-11-25",
};

static const char instructions[] =
	"Run untrusted work in sandboxes: make one with sandbox_create, then "
	"use command_run and the file tools. What a sandbox may reach is fixed "
	"and enforced; policy_explain says it. A refusal names its rule: do "
	"not try to get around it, ask with proposal_create where the policy "
	"leaves a request to a person.";

/* message: the answer to id, or NULL: memory is out. */
static void answer(struct server *server, json_t *id, json_t *message)
{
	if (!message)
		message = message_error(id, MESSAGE_INTERNAL_ERROR,
					"memory is out");
	if (message)
		server->send(message, server->owner);
}

/* ---- calls ---- */

static void call_free(struct call *call)
{
	DL_DELETE(call->server->calls, call);
	call->server->call_count--;
	if (call->file[0])
		(void)unlink(call->file);
	json_decref(call->id);
	json_decref(call->params);
	arena_release(&call->arena);
	free(call);
}

static void on_end(struct job *job, const struct job_end *end, void *owner)
{
	struct call *call = owner;

	(void)job;
	answer(call->server, call->id,
	       message_result(call->id, call_result(call, end)));
	call_free(call);
}

static struct call *call_new(struct server *server, const struct tool *tool,
			     const struct message *message)
{
	struct call *call = calloc(1, sizeof(*call));

	if (!call)
		return NULL;
	call->server = server;
	call->tool = tool;
	call->id = json_incref(message->id);
	call->params = json_incref(message->params);
	call->arguments = json_object_get(message->params, "arguments");
	arena_init(&call->arena, TOOL_ARENA_MAX);
	DL_APPEND(server->calls, call);
	server->call_count++;
	return call;
}

static const struct tool *tool_find(const char *name)
{
	for (size_t i = 0; name && i < tool_count; i++)
		if (!strcmp(tools[i].name, name))
			return &tools[i];
	return NULL;
}

/* What is wrong with the arguments, or why it can not be run, is for the
 * agent to read: no error of the protocol. */
static void call_tool(struct server *server, const struct message *message)
{
	const char *name =
		json_string_value(json_object_get(message->params, "name"));
	const struct tool *tool = tool_find(name);
	struct call *call;
	struct err err;

	if (!tool) {
		answer(server, message->id,
		       message_error(message->id, MESSAGE_INVALID_PARAMS,
				     "there is no tool %.64s",
				     name ? name : "without a name"));
		return;
	}
	if (server->call_count == SERVER_CALLS_MAX) {
		answer(server, message->id,
		       message_result(message->id,
				      call_failure("too many calls run at one "
						   "time: wait for one")));
		return;
	}
	call = call_new(server, tool, message);
	if (!call) {
		answer(server, message->id,
		       message_error(message->id, MESSAGE_INTERNAL_ERROR,
				     "memory is out"));
		return;
	}
	if (param_check(tool->params, call->arguments, &err) == 0 &&
	    call_run(call, on_end, &err) == 0)
		return;
	answer(server, message->id,
	       message_result(message->id, call_failure(err.text)));
	call_free(call);
}

/* MCP "Cancellation": no answer follows, where it can be cancelled. */
static void cancel(struct server *server, const struct message *message)
{
	const json_t *id = json_object_get(message->params, "requestId");
	struct call *call, *next;

	DL_FOREACH_SAFE(server->calls, call, next)
	if (json_equal(call->id, id) && !call->tool->runs_on) {
		job_kill(call->job);
		call_free(call);
		return;
	}
}

/* ---- the other requests ---- */

static json_t *describe(const struct tool *tool)
{
	return json_pack("{s:s, s:s, s:s, s:o, s:{s:b, s:b, s:b}}", "name",
			 tool->name, "title", tool->title, "description",
			 tool->description, "inputSchema",
			 param_schema(tool->params), "annotations",
			 "readOnlyHint", tool->is_read_only, "destructiveHint",
			 tool->is_destructive, "openWorldHint",
			 tool->output == TOOL_COMMAND);
}

static json_t *list_tools(void)
{
	json_t *list = json_array();

	for (size_t i = 0; i < tool_count; i++)
		(void)json_array_append_new(list, describe(&tools[i]));
	return json_pack("{s:o}", "tools", list);
}

bool server_knows_revision(struct bytes revision)
{
	for (size_t i = 0; i < ARRAY_SIZE(revisions); i++)
		if (bytes_is(revision, revisions[i]))
			return true;
	return false;
}

static json_t *initialize(const struct message *message)
{
	const char *wanted = json_string_value(
		json_object_get(message->params, "protocolVersion"));
	const char *revision =
		server_knows_revision(bytes_str(wanted)) ? wanted : REVISION;

	return json_pack("{s:s, s:{s:{s:b}}, s:{s:s, s:s, s:s}, s:s}",
			 "protocolVersion", revision, "capabilities", "tools",
			 "listChanged", 0, "serverInfo", "name", "sallyport",
			 "title", "Sallyport", "version", SP_VERSION,
			 "instructions", instructions);
}

static void serve(struct server *server, const struct message *message)
{
	const char *method = message->method;

	if (!strcmp(method, "tools/call"))
		call_tool(server, message);
	else if (!strcmp(method, "tools/list"))
		answer(server, message->id,
		       message_result(message->id, list_tools()));
	else if (!strcmp(method, "initialize"))
		answer(server, message->id,
		       message_result(message->id, initialize(message)));
	else if (!strcmp(method, "ping"))
		answer(server, message->id,
		       message_result(message->id, json_object()));
	else
		answer(server, message->id,
		       message_error(message->id, MESSAGE_METHOD_NOT_FOUND,
				     "there is no method %.64s", method));
}

void server_read(struct server *server, struct bytes text)
{
	struct message message;

	message_read(&message, text);
	if (message.kind == MESSAGE_REQUEST)
		serve(server, &message);
	else if (message.kind == MESSAGE_BROKEN)
		answer(server, message.id,
		       message_error(message.id, message.error, "%s",
				     message.error == MESSAGE_PARSE_ERROR
					     ? "this is no JSON"
					     : "this is no message of "
					       "JSON-RPC 2.0"));
	else if (message.kind == MESSAGE_NOTIFICATION &&
		 !strcmp(message.method, "notifications/cancelled"))
		cancel(server, &message);
	message_release(&message);
}

/* ---- begin and end ---- */

int server_open(struct server *server, const struct server_config *config,
		struct io_loop *loop, struct err *err)
{
	const char *parent = getenv("TMPDIR");

	*server = (struct server){.config = config, .loop = loop};
	(void)snprintf(server->directory, sizeof(server->directory),
		       "%s/sallyport-mcp.XXXXXX",
		       parent && parent[0] && strlen(parent) < 30 ? parent
								  : "/tmp");
	return mkdtemp(server->directory)
		       ? 0
		       : err_system(err, "make %s", server->directory);
}

static void on_farewell(struct job *job, const struct job_end *end, void *owner)
{
	(void)job;
	(void)end;
	--*(size_t *)owner;
}

/* All of them at the same time. */
static void end_sandboxes(struct server *server)
{
	struct job_line line = {.timeout_ms = FAREWELL_MS};
	size_t left = 0;
	struct err err;

	for (size_t i = 0; i < server->sandbox_count; i++) {
		line.count = 0;
		(void)job_add(&line, server->config->program);
		(void)job_add(&line, "sandbox");
		(void)job_add(&line, "kill");
		(void)job_add(&line, server->sandboxes[i]);
		left += job_run(server->loop, &line, on_farewell, &left, &err)
				? 1
				: 0;
	}
	while (left > 0 && io_loop_turn(server->loop, 1000, &err) == 0)
		;
}

static bool runs_on(const struct server *server)
{
	const struct call *call = server->calls;

	while (call && !call->tool->runs_on)
		call = call->next;
	return call != NULL;
}

/* What is being made is told by its end: only then it can be ended. */
static void await_creations(struct server *server)
{
	const uint64_t last = io_loop_now_ms(server->loop) + FAREWELL_MS;
	struct err err;

	while (runs_on(server) && io_loop_now_ms(server->loop) < last)
		if (io_loop_turn(server->loop, 1000, &err) < 0)
			return;
}

void server_close(struct server *server)
{
	struct call *call, *next;

	await_creations(server);
	DL_FOREACH_SAFE(server->calls, call, next)
	{
		job_kill(call->job);
		call_free(call);
	}
	if (!server->config->keeps)
		end_sandboxes(server);
	(void)rmdir(server->directory);
}
