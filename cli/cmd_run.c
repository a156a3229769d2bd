/*
 * sallyport run: policy -> session -> sandbox -> listeners to the gateway ->
 * command -> its exit code.
 */
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/control_fd.h"
#include "cli/policy_file.h"
#include "cli/run.h"
#include "cli/run_secrets.h"
#include "cli/settings_file.h"
#include "cli/teller.h"
#include "common/cgroup.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "gateway/flow/messages.h"
#include "policies/policy.h"
#include "policies/settings/settings.h"
#include "sandbox-host/caller.h"
#include "sandbox-host/sandbox.h"
#include "sandbox-host/session/changes.h"
#include "sandbox-host/session/gateway.h"
#include "sandbox-host/session/recorder.h"
#include "sandbox-host/session/run_env.h"
#include "sandbox-host/session/spec.h"

#define RUN_ARENA_MAX (8 * 1024 * 1024)

const char cmd_run_help[] =
	"Usage: sallyport run [--policy FILE | --settings FILE]\n"
	"                     [--repo URL --branch BRANCH]\n"
	"                     [--workspace DIR] [-e NAME=VALUE]... "
	"[--events FILE]\n"
	"                     [--] COMMAND [ARGUMENT]...\n"
	"\n"
	"Run COMMAND in a sandbox whose only way out is the gateway. Uses "
	"the gateway\n"
	"that runs, or starts one for the command. Options end at the first "
	"word that\n"
	"is not one, or at --. Exits with the command's code (128+n for a "
	"signal),\n"
	"125 when the sandbox could not be made.\n"
	"\n"
	"  --policy FILE      what the command may do (default: no network,\n"
	"                     the current directory writable)\n"
	"  --settings FILE    settings of sandbox-runtime (JSON) instead\n"
	"  --repo URL         ${session.repo} of the policy\n"
	"  --branch BRANCH    ${session.branch} of the policy\n"
	"  --workspace DIR    instead of the policy's workspace path\n"
	"  -e NAME=VALUE      set a variable inside\n"
	"  --events FILE      write every decision as a JSON line; -: to "
	"standard output\n"
	"\n"
	"Examples:\n"
	"  sallyport run -- npm test\n"
	"  sallyport run --policy agent.yaml --repo "
	"https://github.com/acme/widgets \\\n"
	"      --branch agent/42 -- git push origin HEAD\n";

/* One run: what it needs, in the order it is made. */
struct run {
	struct run_options options;
	struct arena arena;
	struct buf policy_text;
	struct buf settings_text;
	struct policy *policy;
	const char *workspace;
	char changes[PATH_MAX]; /* of an overlay; empty: there is none */
	FILE *events;
	struct recorder recorder;
	struct client client;
	struct reply session;
	struct attachment attachment;
	struct run_secrets secrets;
	struct sandbox *sandbox;
	struct teller teller;
	struct control_fd control;
	bool has_client;
	bool has_session;
};

static int set_option(struct run_options *options, int option)
{
	switch (option) {
	case 'p':
		options->policy = optarg;
		return 0;
	case 's':
		options->settings = optarg;
		options->has_settings = true;
		return 0;
	case 'r':
		options->repo = optarg;
		return 0;
	case 'b':
		options->branch = optarg;
		return 0;
	case 'w':
		options->workspace = optarg;
		return 0;
	case 'v':
		options->events = optarg;
		return 0;
	case 'h':
		options->wants_help = true;
		return 0;
	case 'e':
		if (strchr(optarg, '=') && optarg[0] != '=' &&
		    options->env_count < RUN_ENV_MAX) {
			options->env[options->env_count++] = optarg;
			return 0;
		}
		(void)fprintf(stderr, "sallyport run: -e %s: NAME=VALUE\n",
			      optarg);
		optarg = NULL; /* it was told */
		return -1;
	default:
		return -1;
	}
}

static int parse(struct cli *cli, struct run_options *options)
{
	static const struct option table[] = {
		{"policy", required_argument, NULL, 'p'},
		{"settings", required_argument, NULL, 's'},
		{"repo", required_argument, NULL, 'r'},
		{"branch", required_argument, NULL, 'b'},
		{"workspace", required_argument, NULL, 'w'},
		{"events", required_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int option;

	/* '+': our options end where the command begins. */
	while ((option = getopt_long(cli->argc, cli->argv, "+he:", table,
				     NULL)) != -1)
		if (set_option(options, option) < 0)
			return -1;
	options->command = cli->argv + optind;
	if (options->policy && options->settings) {
		return cli_wrong(cli, "--policy and --settings are two ways to "
				      "say the same");
	}
	return options->wants_help || options->command[0]
		       ? 0
		       : cli_wrong(cli, "there is no command to run");
}

/* ---- what is known before there is a session ---- */

static char *const *words_of(const struct run *run)
{
	return run->options.said ? run->options.said : run->options.command;
}

/* The policy that settings of sandbox-runtime stand for. */
static int load_settings(struct run *run, const struct policy_variables *values)
{
	const char *path = run->options.settings;
	auto_type(buf_release) struct buf notes;
	auto_type(buf_release) struct buf report;
	struct policy_errors errors = {
		.out = &report, .file = path ? path : "default settings"};
	int result;

	buf_init(&notes, SETTINGS_NOTES_MAX);
	buf_init(&report, SETTINGS_NOTES_MAX);
	buf_init(&run->policy_text, POLICY_TEXT_MAX + 1);
	buf_init(&run->settings_text, SETTINGS_TEXT_MAX + 1);
	result = settings_file_load(path, &run->settings_text, &notes);
	if (result == 0)
		result = settings_file_read(path, buf_view(&run->settings_text),
					    words_of(run), &run->policy_text,
					    &notes);
	(void)fprintf(stderr, "%.*s", BYTES_ARGS(buf_view(&notes)));
	if (run->options.shows_policy)
		(void)fprintf(stderr, "%.*s",
			      BYTES_ARGS(buf_view(&run->policy_text)));
	if (result < 0)
		return -1;
	run->policy =
		policy_compile(buf_view(&run->policy_text), values, &errors);
	(void)fprintf(stderr, "%.*s", BYTES_ARGS(buf_view(&report)));
	return run->policy ? 0 : -1;
}

static int load_policy(struct run *run, struct err *err)
{
	const char *path = run->options.policy;
	const struct policy_variables variables = {
		.session_id = bytes_str("s-new"),
		.branch = bytes_str(run->options.branch),
		.repo = bytes_str(run->options.repo),
	};
	struct policy_errors errors = {.file = "default"};

	if (run->options.has_settings) {
		(void)load_settings(run, &variables);
	} else if (path) {
		run->policy =
			policy_file_read(path, &variables, &run->policy_text);
	} else {
		buf_init(&run->policy_text, POLICY_TEXT_MAX + 1);
		(void)buf_add_str(&run->policy_text, POLICY_DEFAULT_TEXT);
		run->policy = policy_compile(buf_view(&run->policy_text),
					     &variables, &errors);
	}
	return run->policy ? 0
			   : err_set(err, ERR_INVALID, "no policy, no sandbox");
}

static int find_workspace(struct run *run, struct err *err)
{
	struct bytes wanted = run->policy->filesystem.workspace;
	const char *given = run->options.workspace;
	char path[PATH_MAX];
	struct stat info;

	if (!given)
		given = wanted.len ? arena_str(&run->arena, wanted) : ".";
	if (!given || !realpath(given, path) || stat(path, &info) < 0) {
		(void)err_system(err, "workspace %s", given ? given : "");
		err->code = ERR_INVALID;
		return -1;
	}
	if (!S_ISDIR(info.st_mode))
		return err_set(err, ERR_INVALID,
			       "workspace %s: it is no directory", given);
	run->workspace = arena_str(&run->arena, bytes_str(path));
	return run->workspace ? 0 : err_set(err, ERR_TOO_LARGE, "no memory");
}

/* It may be in the workspace, where the last command could have left a link
 * in its place. */
static int open_events(struct run *run, struct err *err)
{
	const char *path = run->options.events;
	bool is_ours = path && strncmp(path, "/dev/", strlen("/dev/")) != 0;
	int fd;

	if (!path)
		return 0;
	fd = strcmp(path, "-") != 0
		     ? open(path,
			    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC |
				    O_NOCTTY | (is_ours ? O_NOFOLLOW : 0),
			    0600)
		     : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	run->events = fd < 0 ? NULL : fdopen(fd, "w");
	if (run->events)
		return 0;
	(void)err_system(err, "--events %s", path);
	err->code = ERR_INVALID;
	return -1;
}

/* ---- the sandbox ---- */

static int set_changes(struct run *run, struct err *err)
{
	const char *id = json_text(run->session.json, "id");

	if (run->policy->filesystem.workspace_mode != WORKSPACE_OVERLAY)
		return 0;
	return changes_path(id, run->changes, err);
}

static int make_spec(struct run *run, struct sandbox_spec *spec,
		     struct err *err)
{
	const struct session_spec from = {
		.policy = run->policy,
		.policy_path = run->options.settings ? run->options.settings
						     : run->options.policy,
		.session = run->session.json,
		.workspace = run->workspace,
		.changes = run->changes,
		.home = getenv("HOME"),
		.caller = (const char *const *)environ,
		.given = run->options.env,
		.given_count = run->options.env_count,
	};

	if (set_changes(run, err) < 0 ||
	    session_spec_make(&from, &run->arena, spec, err) < 0)
		return -1;
	spec->argv = (const char *const *)run->options.command;
	spec->has_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	spec->on_event = recorder_on_event;
	spec->owner = &run->recorder;
	return 0;
}

/* A signal before the command runs: what was made is taken down again. From
 * sandbox_go() on they are the command's. */
static volatile sig_atomic_t caught;

static void on_signal(int number)
{
	caught = number;
}

static void catch_signals(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	const struct sigaction action = {.sa_handler = on_signal,
					 .sa_flags = SA_RESTART};
	struct sigaction old;

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (sigaction(numbers[i], NULL, &old) == 0 &&
		    old.sa_handler != SIG_IGN)
			(void)sigaction(numbers[i], &action, NULL);
}

static int start_control(struct run *run, const char *session, struct err *err)
{
	const struct control_fd_spec spec = {
		.fd = run->options.control_fd,
		.session = session,
		.settings = buf_view(&run->settings_text),
		.words = words_of(run),
	};

	return spec.fd ? control_fd_start(&run->control, &spec, err) : 0;
}

/* From now on all that is done with files is to look for changes, and to keep
 * or to drop them. */
static int confine(const struct run *run, struct err *err)
{
	const struct outside_place places[] = {
		{run->changes[0] ? run->workspace : "", OUTSIDE_READ},
		{run->changes, OUTSIDE_REMOVE},
	};

	return caller_confine(run->sandbox, places, ARRAY_SIZE(places), err);
}

static int run_sandbox(struct run *run, int *exit_code, struct err *err)
{
	const char *id = json_text(run->session.json, "id");
	struct sandbox_listeners listeners;
	struct sandbox_spec spec;

	if (make_spec(run, &spec, err) < 0)
		return -1;
	recorder_open(&run->recorder, id);
	/* It removes what is left of the sandbox when we are killed. */
	if (teller_start(&run->teller, id, run->events, &run->policy->quiet,
			 err) < 0)
		return -1;
	if (start_control(run, id, err) < 0)
		return -1;
	run->sandbox = sandbox_start(&spec, err);
	/* While it is built. */
	if (!run->sandbox || attachment_open(&run->attachment, err) < 0)
		return -1;
	if (sandbox_ready(run->sandbox, &listeners, err) < 0 ||
	    attachment_give(&run->attachment,
			    json_text(run->session.json, "id"), &listeners,
			    err) < 0)
		return -1;
	if (caught)
		return err_set(err, ERR_CLOSED, "interrupted");
	if (sandbox_go(run->sandbox, err) < 0 || confine(run, err) < 0)
		return -1;
	run->secrets.attachment = &run->attachment;
	run->secrets.sandbox = run->sandbox;
	run_secrets_watch(&run->secrets);
	return sandbox_wait(run->sandbox, exit_code, err);
}

/* ---- the session ---- */

static int ask_session(struct run *run, const struct session_request *request,
		       struct err *err)
{
	if (gateway_ask_create(&run->client, request, err) < 0)
		return -1;
	sandbox_prepare(run->policy->filesystem.hide.count ||
			run->policy->filesystem.ignore_files.count);
	outside_prepare();
	return gateway_take_created(&run->client, &run->session, err);
}

static int open_client(struct run *run, struct err *err)
{
	if (run->has_client)
		client_close(&run->client);
	run->has_client = gateway_open(&run->client, err) == 0;
	return run->has_client ? 0 : -1;
}

/* Where the gateway is busy, wait for a turn. One that a command before had
 * started may end just when it is asked: then ask the next one. */
static int create_session(struct run *run,
			  const struct session_request *request,
			  struct err *err)
{
	uint64_t until_ms = clock_monotonic_ms() + GATEWAY_BUSY_MS;
	bool is_told = false, was_gone = false;

	while (ask_session(run, request, err) < 0) {
		bool is_gone = err_is_hangup(err) && !was_gone;

		if (caught ||
		    (!is_gone && !gateway_wait_turn(&run->session, until_ms)))
			return -1;
		if (!is_gone && !is_told)
			(void)fprintf(stderr,
				      "sallyport: %s: waiting for a turn, at "
				      "most %d s\n",
				      err->text, GATEWAY_BUSY_MS / 1000);
		is_told |= !is_gone;
		was_gone |= is_gone;
		reply_release(&run->session);
		if (open_client(run, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- in order ---- */

static int run_all(struct run *run, int *exit_code, struct err *err)
{
	struct session_request request = {
		.repo = run->options.repo,
		.branch = run->options.branch,
		.holds = true,
	};

	if (load_policy(run, err) < 0 || find_workspace(run, err) < 0 ||
	    open_events(run, err) < 0 || open_client(run, err) < 0)
		return -1;
	catch_signals();
	request.policy = buf_view(&run->policy_text);
	if (create_session(run, &request, err) < 0)
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
	if (err.code != ERR_MISSING &&
	    (client_open(&run->client, &err) < 0 ||
	     gateway_end(&run->client, id, "ended", &err) < 0) &&
	    err.code != ERR_MISSING)
		(void)fprintf(stderr, "sallyport: end the session: %s\n",
			      err.text);
}

static void settle_changes(struct run *run)
{
	const char *id = json_text(run->session.json, "id");
	size_t found;
	struct err err;

	if (changes_settle(run->changes, &found, &err) < 0)
		(void)fprintf(stderr, "sallyport: changes %s: %s\n", id,
			      err.text);
	else if (found)
		(void)fprintf(stderr,
			      "sandbox: %zu change%s kept: sallyport sandbox "
			      "diff %s\n",
			      found, found == 1 ? " is" : "s are", id);
}

static void run_release(struct run *run)
{
	if (run->sandbox)
		sandbox_free(run->sandbox);
	if (run->changes[0])
		settle_changes(run);
	recorder_close(&run->recorder);
	control_fd_stop(&run->control);
	teller_stop(&run->teller);
	if (run->events)
		(void)fclose(run->events);
	if (run->has_session)
		end_session(run);
	attachment_close(&run->attachment);
	if (run->has_client)
		client_close(&run->client);
	reply_release(&run->session);
	policy_free(run->policy);
	buf_release(&run->policy_text);
	buf_release(&run->settings_text);
	arena_release(&run->arena);
}

int run_command(const struct run_options *options)
{
	struct run run = {.options = *options, .recorder.queue = -1};
	struct err err = {0};
	int exit_code = SANDBOX_EXIT_FAILED;
	int result;

	cgroup_settle(&cgroup_host);
	arena_init(&run.arena, RUN_ARENA_MAX);
	result = run_all(&run, &exit_code, &err);
	run_release(&run);
	if (caught)
		return 128 + caught;
	if (result == 0)
		return exit_code;
	/* What failed before the sandbox keeps its own code. */
	return run.has_session ? cli_fail(SANDBOX_EXIT_FAILED, "%s", err.text)
			       : cli_fail_err(&err);
}

int cmd_run(struct cli *cli)
{
	struct run_options options = {.policy = NULL};

	if (parse(cli, &options) < 0)
		return cli_usage(cli);
	if (options.wants_help) {
		(void)fputs(cli->command->help, stdout);
		return EXIT_OK;
	}
	return run_command(&options);
}
