#include "cli/mcp/tool.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

/* ---- sandboxes ---- */

static const struct param no_params[] = {{0}};

static const struct param create_params[] = {
	{"name", PARAM_TEXT, false, 63, "Shown by sandbox_list."},
	{"env", PARAM_MAP, false, TOOL_VARIABLES_MAX,
	 "Environment variables inside."},
	{0},
};

#define SANDBOX_PARAM                                                          \
	{"sandbox", PARAM_TEXT, false, HOST_ID_MAX,                            \
	 "Its id, as sandbox_create said it. May be left out "                 \
	 "while there is one alone."}

static const struct param sandbox_params[] = {SANDBOX_PARAM, {0}};

/* An option of who started us. */
static int add_option(struct call *call, const char *name, const char *value,
		      struct err *err)
{
	return value ? CALL_ADD(call, err, name, value) : 0;
}

static int add_options(struct call *call, struct err *err)
{
	const struct server_config *config = call->server->config;

	return add_option(call, "--policy", config->policy, err) < 0 ||
			       add_option(call, "--workspace",
					  config->workspace, err) < 0 ||
			       add_option(call, "--repo", config->repo, err) <
				       0 ||
			       add_option(call, "--branch", config->branch,
					  err) < 0 ||
			       add_option(call, "--image", config->image, err) <
				       0
		       ? -1
		       : 0;
}

static int plan_create(struct call *call, struct err *err);

/* Those that will be there are as many as those that are; call is one. */
static size_t sandboxes_to_be(const struct server *server)
{
	size_t count = server->sandbox_count;

	for (const struct call *call = server->calls; call; call = call->next)
		count += call->tool->plan == plan_create;
	return count;
}

static int plan_create(struct call *call, struct err *err)
{
	const char *name = call_text(call, "name");
	const char *life =
		arena_format(&call->arena, "%u", call->server->config->life_s);

	if (sandboxes_to_be(call->server) > SERVER_SANDBOXES_MAX)
		return err_set(err, ERR_TOO_LARGE,
			       "there are %d sandboxes: end one first",
			       SERVER_SANDBOXES_MAX);
	if (CALL_ADD(call, err, "sandbox", "create", "-o", "json", "--timeout",
		     life ? life : "0") < 0 ||
	    add_options(call, err) < 0 ||
	    add_option(call, "--name", name, err) < 0)
		return -1;
	return call_add_env(call, err);
}

static void done_create(struct call *call, json_t *value)
{
	struct server *server = call->server;
	const char *id = json_string_value(json_object_get(value, "id"));

	if (id && strlen(id) <= HOST_ID_MAX &&
	    server->sandbox_count < SERVER_SANDBOXES_MAX)
		memcpy(server->sandboxes[server->sandbox_count++], id,
		       strlen(id) + 1);
}

static int plan_list(struct call *call, struct err *err)
{
	return CALL_ADD(call, err, "sandbox", "list", "-o", "json");
}

static bool is_ours(const struct server *server, const char *id)
{
	for (size_t i = 0; i < server->sandbox_count; i++)
		if (id && !strcmp(server->sandboxes[i], id))
			return true;
	return false;
}

static void done_list(struct call *call, json_t *value)
{
	json_t *list = json_object_get(value, "sandboxes");

	for (size_t i = json_array_size(list); i-- > 0;)
		if (!is_ours(call->server,
			     json_string_value(json_object_get(
				     json_array_get(list, i), "id"))))
			(void)json_array_remove(list, i);
}

static int plan_of_sandbox(struct call *call, const char *verb, struct err *err)
{
	const char *id = call_sandbox(call, err);

	return id ? CALL_ADD(call, err, "sandbox", verb, "-o", "json", id) : -1;
}

static int plan_kill(struct call *call, struct err *err)
{
	return plan_of_sandbox(call, "kill", err);
}

static void done_kill(struct call *call, json_t *value)
{
	struct server *server = call->server;
	const char *id = json_string_value(json_object_get(value, "id"));

	for (size_t i = 0; id && i < server->sandbox_count; i++)
		if (!strcmp(server->sandboxes[i], id)) {
			memmove(server->sandboxes[i],
				server->sandboxes[--server->sandbox_count],
				sizeof(server->sandboxes[i]));
			return;
		}
}

static int plan_events(struct call *call, struct err *err)
{
	const char *id = call_sandbox(call, err);

	return id ? CALL_ADD(call, err, "sandbox", "events", id) : -1;
}

/* ---- commands and files ---- */

static const struct param command_params[] = {
	{"command", PARAM_TEXT, true, TOOL_COMMAND_MAX,
	 "A line for the shell (sh -c)."},
	{"workdir", PARAM_TEXT, false, TOOL_PATH_MAX,
	 "Where it runs, inside. Without it: the workspace."},
	{"env", PARAM_MAP, false, TOOL_VARIABLES_MAX,
	 "Environment variables for it."},
	{"stdin", PARAM_TEXT, false, TOOL_CONTENT_MAX,
	 "What it reads from its standard input."},
	{"timeout_seconds", PARAM_NUMBER, false, TOOL_COMMAND_S_MAX,
	 "It is killed then. Without it: 120."},
	SANDBOX_PARAM,
	{0},
};

static int plan_command(struct call *call, struct err *err)
{
	const char *id = call_sandbox(call, err);
	const char *workdir = call_text(call, "workdir");
	const char *input = call_text(call, "stdin");
	int64_t seconds = call_number(call, "timeout_seconds", TOOL_COMMAND_S);
	const char *timeout =
		arena_format(&call->arena, "%lld", (long long)seconds);

	if (!id)
		return -1;
	if (seconds == 0 || !timeout)
		return err_set(err, ERR_INVALID,
			       "timeout_seconds must be 1 to %d",
			       TOOL_COMMAND_S_MAX);
	if (CALL_ADD(call, err, "sandbox", "exec", "--timeout", timeout) < 0 ||
	    add_option(call, "-w", workdir, err) < 0 ||
	    call_add_env(call, err) < 0)
		return -1;
	if (input) {
		call->line.input = bytes_str(input);
		if (CALL_ADD(call, err, "-i") < 0)
			return -1;
	}
	/* sallyport ends it by itself, and says so. */
	call->line.timeout_ms = (unsigned)seconds * 1000 + TOOL_ASKED_MS;
	return CALL_ADD(call, err, id, "--", "sh", "-c",
			call_text(call, "command"));
}

#define PATH_PARAM                                                             \
	{"path", PARAM_TEXT, true, TOOL_PATH_MAX,                              \
	 "Inside: absolute, or below the workspace."}

static const struct param path_params[] = {PATH_PARAM, SANDBOX_PARAM, {0}};
static const struct param write_params[] = {
	PATH_PARAM,
	{"content", PARAM_TEXT, true, TOOL_CONTENT_MAX, "All of it: text."},
	SANDBOX_PARAM,
	{0},
};

/* ID:PATH */
static const char *inside(struct call *call, struct err *err)
{
	const char *id = call_sandbox(call, err);
	const char *place = id ? arena_format(&call->arena, "%s:%s", id,
					      call_text(call, "path"))
			       : NULL;

	if (id && !place)
		(void)err_set(err, ERR_TOO_LARGE, "the path is too long");
	return place;
}

static int plan_read(struct call *call, struct err *err)
{
	const char *from = inside(call, err);

	if (!from || call_new_file(call, "", 0, err) < 0)
		return -1;
	return CALL_ADD(call, err, "sandbox", "cp", "--", from, call->file);
}

static int plan_write(struct call *call, struct err *err)
{
	const char *to = inside(call, err);
	const char *content = call_text(call, "content");

	if (!to || call_new_file(call, content, strlen(content), err) < 0)
		return -1;
	return CALL_ADD(call, err, "sandbox", "cp", "--", call->file, to);
}

static int plan_files(struct call *call, struct err *err)
{
	const char *id = call_sandbox(call, err);

	return id ? CALL_ADD(call, err, "sandbox", "exec", id, "--", "ls",
			     "-lA", "--", call_text(call, "path"))
		  : -1;
}

/* ---- the policy, and a person's yes ---- */

static const struct param request_params[] = {
	{"method", PARAM_TEXT, true, 32, "GET, POST, ..."},
	{"url", PARAM_TEXT, true, 8192, "https://host/path"},
	{0},
};
static const struct param proposal_params[] = {
	{"method", PARAM_TEXT, true, 32, "GET, POST, ..."},
	{"url", PARAM_TEXT, true, 8192, "https://host/path"},
	{"why", PARAM_TEXT, true, 500,
	 "For the person who decides: what it is needed for."},
	SANDBOX_PARAM,
	{0},
};
static const struct param proposal_ref_params[] = {
	{"proposal", PARAM_TEXT, true, 64,
	 "Its id, as proposal_create said it."},
	{"wait_seconds", PARAM_NUMBER, false, 60,
	 "Wait so long for an answer."},
	SANDBOX_PARAM,
	{0},
};

static int add_policy(struct call *call, struct err *err)
{
	const struct server_config *config = call->server->config;

	return add_option(call, "--policy", config->policy, err) < 0 ||
			       add_option(call, "--repo", config->repo, err) <
				       0 ||
			       add_option(call, "--branch", config->branch,
					  err) < 0
		       ? -1
		       : 0;
}

static int plan_explain(struct call *call, struct err *err)
{
	return CALL_ADD(call, err, "policy", "explain") < 0
		       ? -1
		       : add_policy(call, err);
}

static int plan_test(struct call *call, struct err *err)
{
	if (!call->server->config->policy)
		return err_set(err, ERR_INVALID,
			       "no policy was named when this server was "
			       "started: nothing leaves its sandboxes");
	if (CALL_ADD(call, err, "policy", "test", "-o", "json") < 0 ||
	    add_policy(call, err) < 0)
		return -1;
	return CALL_ADD(call, err, "--", call_text(call, "method"),
			call_text(call, "url"));
}

/* Asked from inside, as the session: so its own edge judges it first. */
static int ask_inside(struct call *call, const char *url, bool has_body,
		      struct err *err)
{
	const char *id = call_sandbox(call, err);

	if (!id)
		return -1;
	if (CALL_ADD(call, err, "sandbox", "exec", "-i", id, "--", "curl",
		     "-sS", "--max-time", "90") < 0)
		return -1;
	if (has_body &&
	    CALL_ADD(call, err, "-H", "Content-Type: application/json",
		     "--data-binary", "@-") < 0)
		return -1;
	return CALL_ADD(call, err, url);
}

static int plan_propose(struct call *call, struct err *err)
{
	json_t *body = json_pack(
		"{s:s, s:s, s:s}", "method", call_text(call, "method"), "url",
		call_text(call, "url"), "why", call_text(call, "why"));
	auto_free char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	const char *kept =
		text ? arena_str(&call->arena, bytes_str(text)) : NULL;

	json_decref(body);
	if (!kept)
		return err_set(err, ERR_TOO_LARGE, "memory is out");
	call->line.input = bytes_str(kept);
	return ask_inside(call, "http://sallyport.internal/proposals", true,
			  err);
}

static int plan_proposal(struct call *call, struct err *err)
{
	const char *id = call_text(call, "proposal");
	const char *url = arena_format(
		&call->arena,
		"http://sallyport.internal/proposals/%s?wait=%lld", id,
		(long long)call_number(call, "wait_seconds", 0));

	if (!url || id[strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-_"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ")])
		return err_set(err, ERR_INVALID, "%s is no id of a proposal",
			       id);
	return ask_inside(call, url, false, err);
}

const struct tool tools[] = {
	{"sandbox_create", "Make a sandbox",
	 "Make an isolated sandbox to run commands in. What it may reach is "
	 "fixed; policy_explain says it.",
	 false, false, true, TOOL_JSON, create_params, plan_create,
	 done_create},
	{"sandbox_list", "List the sandboxes",
	 "The sandboxes that were made here, and their states.", true, false,
	 false, TOOL_JSON, no_params, plan_list, done_list},
	{"sandbox_kill", "End a sandbox",
	 "End a sandbox and all that runs in it.", false, true, false,
	 TOOL_JSON, sandbox_params, plan_kill, done_kill},
	{"sandbox_events", "What was denied inside",
	 "What happened to a sandbox: its states, and which files and system "
	 "calls were denied, with the rule.",
	 true, false, false, TOOL_TEXT, sandbox_params, plan_events, NULL},
	{"command_run", "Run a command",
	 "Run a shell command in a sandbox and wait for its end. Says its exit "
	 "code and what it wrote.",
	 false, true, false, TOOL_COMMAND, command_params, plan_command, NULL},
	{"file_read", "Read a file", "Read a text file in a sandbox.", true,
	 false, false, TOOL_FILE, path_params, plan_read, NULL},
	{"file_write", "Write a file",
	 "Write a text file in a sandbox, in place of what was there.", false,
	 true, false, TOOL_TEXT, write_params, plan_write, NULL},
	{"file_list", "List a directory",
	 "What is in a directory of a sandbox.", true, false, false,
	 TOOL_COMMAND, path_params, plan_files, NULL},
	{"policy_explain", "What is allowed?",
	 "The policy of the sandboxes in words: what they may reach, what a "
	 "person is asked about, what is refused.",
	 true, false, false, TOOL_TEXT, no_params, plan_explain, NULL},
	{"policy_test", "Would a request be allowed?",
	 "Whether the policy would let a request pass, and by which rule.",
	 true, false, false, TOOL_JSON, request_params, plan_test, NULL},
	{"proposal_create", "Ask a person to allow a request",
	 "Ask for a request that the policy leaves to a person, with why it is "
	 "needed. proposal_show says what became of it.",
	 false, false, false, TOOL_JSON, proposal_params, plan_propose, NULL},
	{"proposal_show", "What became of a proposal?",
	 "Whether a person has approved or denied it.", true, false, false,
	 TOOL_JSON, proposal_ref_params, plan_proposal, NULL},
};
const size_t tool_count = ARRAY_SIZE(tools);
