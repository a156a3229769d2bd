/*
 * sallyport run: policy -> session -> sandbox -> listeners to the gateway ->
 * command -> its exit code.
 */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/denials.h"
#include "cli/gateway.h"
#include "common/cleanup.h"
#include "gateway/flow/messages.h"
#include "policies/policy.h"
#include "sandbox-host/environment.h"
#include "sandbox-host/sandbox.h"

#define RUN_ARENA_MAX	 (8 * 1024 * 1024)
#define RUN_ENV_MAX	 256
#define PKCS12_BYTES_MAX (16 * 1024)

static const char default_policy[] = "version: 1\n"
				     "name: default\n";

struct run_options {
	const char *policy;
	const char *repo;
	const char *branch;
	const char *workspace;
	const char *events;
	const char *env[RUN_ENV_MAX];
	size_t env_count;
	char **command;
};

/* One run: what it needs, in the order it is made. */
struct run {
	struct run_options options;
	struct arena arena;
	struct buf policy_text;
	struct policy *policy;
	struct client client;
	struct reply session;
	struct attachment attachment;
	struct sandbox *sandbox;
	struct denials denials;
	bool has_client;
	bool has_session;
};

static int parse(struct cli *cli, struct run_options *options)
{
	static const struct option table[] = {
		{"policy", required_argument, NULL, 'p'},
		{"repo", required_argument, NULL, 'r'},
		{"branch", required_argument, NULL, 'b'},
		{"workspace", required_argument, NULL, 'w'},
		{"events", required_argument, NULL, 'v'},
		{NULL, 0, NULL, 0},
	};
	int option;

	/* '+': our options end where the command begins. */
	while ((option = getopt_long(cli->argc, cli->argv, "+e:", table,
				     NULL)) != -1) {
		if (option == 'p')
			options->policy = optarg;
		else if (option == 'r')
			options->repo = optarg;
		else if (option == 'b')
			options->branch = optarg;
		else if (option == 'w')
			options->workspace = optarg;
		else if (option == 'v')
			options->events = optarg;
		else if (option == 'e' && strchr(optarg, '=') &&
			 options->env_count < RUN_ENV_MAX)
			options->env[options->env_count++] = optarg;
		else
			return -1;
	}
	options->command = cli->argv + optind;
	return options->command[0] ? 0 : -1;
}

/* ---- policy ---- */

static int load_policy(struct run *run, struct err *err)
{
	const char *path = run->options.policy;
	const struct policy_variables variables = {
		.session_id = bytes_str("s-new"),
		.branch = bytes_str(run->options.branch),
		.repo = bytes_str(run->options.repo),
	};
	auto_type(buf_release) struct buf report;
	struct policy_errors errors = {.out = &report,
				       .file = path ? path : "default"};

	buf_init(&report, 256 * 1024);
	buf_init(&run->policy_text, POLICY_TEXT_MAX + 1);
	if (!path)
		(void)buf_add_str(&run->policy_text, default_policy);
	else if (cli_read_file(path, &run->policy_text, err) < 0)
		return err_set(err, ERR_INVALID, "read policy %s", path);
	run->policy = policy_compile(buf_view(&run->policy_text), &variables,
				     &errors);
	if (run->policy)
		return 0;
	(void)fprintf(stderr, "%.*s", BYTES_ARGS(buf_view(&report)));
	return err_set(err, ERR_INVALID, "%s is not a valid policy",
		       errors.file);
}

/* ---- the environment inside ---- */

static const char *name_of(struct arena *arena, const char *pair)
{
	const char *equals = strchr(pair, '=');

	return arena_str(arena, bytes_from(pair, (size_t)(equals - pair)));
}

/* The policy's values, the placeholders, then -e. */
static size_t fill_set(struct run *run, struct sandbox_variable *set,
		       size_t room)
{
	const struct policy *policy = run->policy;
	const char *lease = json_text(run->session.json, "lease");
	size_t count = 0;

	for (size_t i = 0; i < policy->environment.set_count && count < room;
	     i++)
		set[count++] = (struct sandbox_variable){
			arena_str(&run->arena, policy->environment.set[i].name),
			arena_str(&run->arena,
				  policy->environment.set[i].value),
		};
	for (size_t i = 0; i < policy->credential_count; i++) {
		const struct policy_strings *env =
			&policy->credentials[i].placeholder_env;

		for (size_t j = 0; j < env->count && count < room; j++)
			set[count++] = (struct sandbox_variable){
				arena_str(&run->arena, env->items[j]), lease};
	}
	for (size_t i = 0; i < run->options.env_count && count < room; i++)
		set[count++] = (struct sandbox_variable){
			name_of(&run->arena, run->options.env[i]),
			strchr(run->options.env[i], '=') + 1,
		};
	return count;
}

static const char *const *strings_of(struct arena *arena,
				     const struct policy_strings *strings)
{
	const char **items =
		arena_array(arena, strings->count + 1, sizeof(*items));

	for (size_t i = 0; items && i < strings->count; i++)
		items[i] = arena_str(arena, strings->items[i]);
	return items;
}

static struct sandbox_paths paths_of(struct arena *arena,
				     const struct policy_strings *strings)
{
	return (struct sandbox_paths){strings_of(arena, strings),
				      strings->count};
}

static int make_env(struct run *run, struct sandbox_spec *spec, struct err *err)
{
	struct sandbox_variable *set =
		arena_array(&run->arena, 2 * RUN_ENV_MAX, sizeof(*set));
	const struct environment from = {
		.caller = (const char *const *)environ,
		.pass = paths_of(&run->arena, &run->policy->environment.pass),
		.set = set,
		.set_count = set ? fill_set(run, set, 2 * RUN_ENV_MAX) : 0,
		.has_ca = spec->ca_pem.len > 0,
		.has_pkcs12 = spec->ca_pkcs12.len > 0,
	};

	return environment_make(&from, &run->arena, &spec->env,
				&spec->env_count, err);
}

/* ---- the sandbox ---- */

static struct bytes decode_base64(struct arena *arena, const char *text)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklm"
				       "nopqrstuvwxyz0123456789+/";
	uint8_t *out = arena_alloc(arena, strlen(text) + 1);
	uint32_t bits = 0;
	size_t len = 0;
	int have = 0;

	for (; out && *text && *text != '='; text++) {
		const char *at = strchr(alphabet, *text);

		if (!at)
			return bytes_from(NULL, 0);
		bits = bits << 6 | (uint32_t)(at - alphabet);
		have += 6;
		if (have >= 8) {
			have -= 8;
			out[len++] = (uint8_t)(bits >> have);
		}
	}
	return bytes_from(out, len);
}

static const char *workspace_of(struct run *run, struct err *err)
{
	struct bytes wanted = run->policy->filesystem.workspace;
	const char *given = run->options.workspace;
	char path[PATH_MAX];

	if (!given)
		given = wanted.len ? arena_str(&run->arena, wanted) : ".";
	if (!given || !realpath(given, path)) {
		(void)err_system(err, "workspace %s", given ? given : "");
		return NULL;
	}
	return arena_str(&run->arena, bytes_str(path));
}

static int make_spec(struct run *run, struct sandbox_spec *spec,
		     struct err *err)
{
	const struct policy_filesystem *files = &run->policy->filesystem;

	*spec = (struct sandbox_spec){
		.argv = (const char *const *)run->options.command,
		.workspace = workspace_of(run, err),
		.workspace_mode = files->workspace_mode == WORKSPACE_READ
					  ? SANDBOX_READ
					  : SANDBOX_WRITE,
		.home = getenv("HOME"),
		.has_read = files->has_read,
		.read = paths_of(&run->arena, &files->read),
		.write = paths_of(&run->arena, &files->write),
		.hide = paths_of(&run->arena, &files->hide),
		.protect = paths_of(&run->arena, &files->protect),
		.limits = {run->policy->limits.memory_bytes,
			   run->policy->limits.processes,
			   run->policy->limits.time_ms},
		.has_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO),
		.ca_pem = bytes_str(json_text(run->session.json, "ca_pem")),
		.ca_pkcs12 = decode_base64(
			&run->arena, json_text(run->session.json, "ca_pkcs12")),
	};
	if (!spec->workspace)
		return -1;
	return make_env(run, spec, err);
}

/* Each in turn: a session without all of them would not be whole. */
static int give_listeners(struct run *run,
			  const struct sandbox_listeners *listeners,
			  struct err *err)
{
	const char *id = json_text(run->session.json, "id");
	const struct {
		int fd;
		unsigned kind;
	} table[] = {
		{listeners->tcp4, LISTENER_TCP},
		{listeners->tcp6, LISTENER_TCP},
		{listeners->udp, LISTENER_DNS_UDP},
		{listeners->tcp_dns, LISTENER_DNS_TCP},
	};
	int result = attachment_open(&run->attachment, err);

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (result == 0 && table[i].fd >= 0)
			result = attachment_give(&run->attachment, id,
						 table[i].kind, table[i].fd,
						 err);
		if (table[i].fd >= 0)
			(void)close(table[i].fd);
	}
	return result;
}

static int run_sandbox(struct run *run, int *exit_code, struct err *err)
{
	struct sandbox_listeners listeners;
	struct sandbox_spec spec;

	if (make_spec(run, &spec, err) < 0)
		return -1;
	if (denials_start(&run->denials, json_text(run->session.json, "id"),
			  run->options.events, err) < 0)
		return -1;
	run->sandbox = sandbox_start(&spec, &listeners, err);
	if (!run->sandbox || give_listeners(run, &listeners, err) < 0 ||
	    sandbox_go(run->sandbox, err) < 0)
		return -1;
	return sandbox_wait(run->sandbox, exit_code, err);
}

/* ---- in order ---- */

static int run_all(struct run *run, int *exit_code, struct err *err)
{
	struct session_request request = {
		.policy_name =
			run->options.policy ? run->options.policy : "default",
		.repo = run->options.repo,
		.branch = run->options.branch,
	};

	if (load_policy(run, err) < 0 || gateway_open(&run->client, err) < 0)
		return -1;
	run->has_client = true;
	request.policy = buf_view(&run->policy_text);
	if (gateway_create(&run->client, &request, &run->session, err) < 0)
		return -1;
	run->has_session = true;
	return run_sandbox(run, exit_code, err);
}

/* End the session. Control may have been restarted since we connected: then
 * once more on a new connection. */
static void end_session(struct run *run)
{
	const char *id = json_text(run->session.json, "id");
	struct err err;

	if (gateway_end(&run->client, id, "ended", &err) == 0)
		return;
	client_close(&run->client);
	if (client_open(&run->client, &err) < 0 ||
	    gateway_end(&run->client, id, "ended", &err) < 0)
		(void)fprintf(stderr, "sallyport: end the session: %s\n",
			      err.text);
}

static void run_release(struct run *run)
{
	if (run->sandbox)
		sandbox_free(run->sandbox);
	denials_stop(&run->denials);
	if (run->has_session)
		end_session(run);
	attachment_close(&run->attachment);
	if (run->has_client)
		client_close(&run->client);
	reply_release(&run->session);
	policy_free(run->policy);
	buf_release(&run->policy_text);
	arena_release(&run->arena);
}

int cmd_run(struct cli *cli)
{
	struct run run = {0};
	struct err err = {0};
	int exit_code = SANDBOX_EXIT_FAILED;
	int result;

	if (parse(cli, &run.options) < 0)
		return cli_usage(cli);
	arena_init(&run.arena, RUN_ARENA_MAX);
	result = run_all(&run, &exit_code, &err);
	run_release(&run);
	if (result == 0)
		return exit_code;
	/* What failed before the sandbox keeps its own code. */
	return run.has_session ? cli_fail(SANDBOX_EXIT_FAILED, "%s", err.text)
			       : cli_fail_err(&err);
}
