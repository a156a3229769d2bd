/*
 * sallyport sandbox exec: a channel to the sandbox's supervisor, descriptors
 * for the command, its exit code.
 */
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/host.h"
#include "cli/pump.h"
#include "common/cleanup.h"
#include "policies/policy.h"
#include "sandbox-host/session/denials.h"
#include "sandbox-host/terminal.h"

#define ENV_MAX	    256
#define TIMEOUT_MAX 31536000ull /* seconds: a year */
#define STDIO	    3
/* A person may be asked first, for as long as the policy says. */
#define START_MS  (POLICY_HOLD_MAX_MS + HOST_TIMEOUT_MS)
#define EXIT_LOST 125 /* the sandbox's own: it ended, or never began */

enum slot {
	SLOT_CHANNEL,
	SLOT_SIGNALS,
	SLOT_TERMINAL, /* and its input */
	SLOT_PUMPS = SLOT_TERMINAL + 2,
	SLOT_MAX = SLOT_PUMPS + 2 * STDIO
};

struct exec {
	struct host host;
	struct exec_request request;
	struct text_item argv[REQUEST_ARGS_MAX];
	struct text_item env[ENV_MAX];
	struct bytes id;
	bool has_stdin, wants_help;

	int channel; /* the rpc's socket, to poll */
	struct rpc *rpc;
	struct pump pumps[STDIO];
	struct terminal terminal;
	int signals;
	uint32_t pid;
	bool has_ended;
	int exit_code;
};

/* ---- options ---- */

static int set_timeout(struct exec *exec)
{
	uint64_t seconds;

	if (arguments_seconds("--timeout", (struct time_range){1, TIMEOUT_MAX},
			      &seconds) < 0)
		return -1;
	exec->request.timeout_ms = seconds * 1000;
	return 0;
}

static int set_option(struct exec *exec, int option)
{
	switch (option) {
	case 'i':
		exec->has_stdin = true;
		return 0;
	case 't':
		exec->request.has_terminal = true;
		return 0;
	case 'd':
		exec->request.is_detached = true;
		return 0;
	case 'h':
		exec->wants_help = true;
		return 0;
	case 'w':
		exec->request.cwd = bytes_str(optarg);
		return 0;
	case 'T':
		return set_timeout(exec);
	case 'e':
		if (exec->request.env_count == ENV_MAX || optarg[0] == '=' ||
		    !strchr(optarg, '='))
			return -1;
		exec->env[exec->request.env_count++].text = bytes_str(optarg);
		return 0;
	default:
		return -1;
	}
}

static int parse_options(struct cli *cli, struct exec *exec)
{
	static const struct option table[] = {
		{"workdir", required_argument, NULL, 'w'},
		{"timeout", required_argument, NULL, 'T'},
		{"detach", no_argument, NULL, 'd'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(cli->argc, cli->argv, "+hitde:w:", table,
				     NULL)) != -1)
		if (set_option(exec, option) < 0)
			return -1;
	return 0;
}

/* Options, the id, options, the command. */
static int parse(struct cli *cli, struct exec *exec)
{
	size_t count = 0;

	if (parse_options(cli, exec) < 0)
		return -1;
	if (exec->wants_help)
		return 0;
	if (optind >= cli->argc)
		return cli_wrong(cli, "the sandbox's ID is missing");
	exec->id = bytes_str(cli->argv[optind++]);
	if (parse_options(cli, exec) < 0)
		return -1;
	for (; cli->argv[optind] && count < REQUEST_ARGS_MAX; optind++)
		exec->argv[count++].text = bytes_str(cli->argv[optind]);
	exec->request.argv = exec->argv;
	exec->request.argv_count = count;
	exec->request.env = exec->env;
	return count > 0 || exec->wants_help
		       ? 0
		       : cli_wrong(cli, "there is no command to run");
}

/* ---- the channel ---- */

static void take_fd_of(const void *message, int *fd, void *owner)
{
	(void)message;
	*(int *)owner = take_fd(fd);
}

/* Its terminal is as it was: it has not started. */
static void answer_asked(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	const struct exec_asked *asked = message;
	char line[DENIALS_LINE_BYTES];

	(void)ticket;
	(void)fd;
	(void)owner;
	denials_wanted_line(asked->id, asked->words, line, sizeof(line));
	(void)fprintf(stderr, "%s\n", line);
}

static void answer_ended(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	const struct exec_ended *ended = message;
	struct exec *exec = owner;
	char reason[HOST_MESSAGE_MAX + 1];

	(void)ticket;
	(void)fd;
	exec->has_ended = true;
	exec->exit_code = (int)ended->exit_code;
	if (ended->reason.len == 0)
		return;
	(void)snprintf(reason, sizeof(reason), "%.*s",
		       BYTES_ARGS(ended->reason));
	cli_clean(reason);
	(void)fprintf(stderr, "sandbox: %s\n", reason);
}

static void on_closed(struct rpc *rpc, const char *why, void *owner)
{
	struct exec *exec = owner;

	(void)rpc;
	exec->rpc = NULL;
	if (!exec->has_ended)
		(void)cli_fail(EXIT_LOST, "the sandbox is gone: %s", why);
	exec->has_ended = true;
}

static int open_channel(struct exec *exec)
{
	static const struct rpc_permit permits[] = {
		{MSG_EXEC_ASKED, &exec_asked_schema, answer_asked, false, 0},
		{MSG_EXEC_ENDED, &exec_ended_schema, answer_ended, false, 0},
	};
	const struct rpc_config config = {
		.permits = permits,
		.permit_count = ARRAY_SIZE(permits),
		.owner = exec,
		.on_closed = on_closed,
	};
	const struct host_channel wanted = {.id = exec->id,
					    .kind = HOST_CHANNEL_EXEC};
	const struct host_call call = {
		.type = MSG_HOST_CHANNEL,
		.schema = &host_channel_schema,
		.message = &wanted,
		.fd = -1,
		.reply = &wire_empty_schema,
		.take = take_fd_of,
		.owner = &exec->channel,
	};
	int code = host_ask_running(&exec->host, &call, exec->id);
	struct err err;

	if (code != EXIT_OK)
		return code;
	exec->rpc = rpc_new(exec->host.loop, exec->channel, &config, &err);
	return exec->rpc ? EXIT_OK : cli_fail_err(&err);
}

/* ---- its descriptors ---- */

/* Pipes made for it, never our own descriptors: ours may be a terminal, or a
 * file that could not be opened inside by its name (/dev/stderr). */
static int make_pump(struct exec *exec, int which, int *theirs, struct err *err)
{
	struct pump *pump = &exec->pumps[which];
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_system(err, "make a pipe");
	if (which == STDIN_FILENO) {
		pump->from = STDIN_FILENO;
		pump->to = ends[1];
		pump->owns_to = true;
		(void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
	} else {
		pump->from = ends[0];
		pump->owns_from = true;
		pump->to = which;
	}
	*theirs = ends[which == STDIN_FILENO ? 0 : 1];
	return 0;
}

static int give(struct exec *exec, int which, struct err *err)
{
	const struct exec_stdio message = {.which = (uint8_t)which};
	auto_fd int made = -1;

	if (which == STDIN_FILENO && !exec->has_stdin)
		return 0;
	if (make_pump(exec, which, &made, err) < 0)
		return -1;
	return rpc_tell(exec->rpc, MSG_EXEC_STDIO, &exec_stdio_schema, &message,
			made, err);
}

static int give_all(struct exec *exec, struct err *err)
{
	if (exec->request.has_terminal || exec->request.is_detached)
		return 0;
	for (int which = 0; which < STDIO; which++)
		if (give(exec, which, err) < 0)
			return -1;
	return 0;
}

static int check_terminal(struct exec *exec)
{
	struct winsize size;

	if (!exec->request.has_terminal)
		return EXIT_OK;
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) ||
	    ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0)
		return cli_fail(EXIT_USAGE, "-t needs a terminal");
	exec->request.rows = size.ws_row;
	exec->request.columns = size.ws_col;
	return EXIT_OK;
}

/* ---- start ---- */

static void take_started(const void *message, int *fd, void *owner)
{
	const struct exec_started *started = message;
	struct exec *exec = owner;

	exec->pid = started->pid;
	if (*fd >= 0)
		terminal_open(&exec->terminal, take_fd(fd));
}

static int start(struct exec *exec)
{
	const struct wire_empty empty = {0};
	struct err err;
	auto_fd int request = exec_request_seal(&exec->request, &err);
	const struct host_call call = {
		.type = MSG_EXEC_START,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = request,
		.reply = &exec_started_schema,
		.take = take_started,
		.owner = exec,
		.timeout_ms = START_MS,
	};

	if (request < 0 || give_all(exec, &err) < 0)
		return cli_fail_err(&err);
	return host_ask_on(&exec->host, exec->rpc, &call);
}

/* ---- while it runs ---- */

static int watch_signals(struct exec *exec)
{
	static const int numbers[] = {SIGINT,  SIGTERM, SIGHUP,	 SIGQUIT,
				      SIGUSR1, SIGUSR2, SIGWINCH};
	struct sigaction action;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (sigaction(numbers[i], NULL, &action) == 0 &&
		    action.sa_handler != SIG_IGN)
			sigaddset(&set, numbers[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -1;
	exec->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return exec->signals < 0 ? -1 : 0;
}

static void pass_signal(struct exec *exec)
{
	struct signalfd_siginfo info;
	struct exec_signal message;
	const struct host_call call = {
		.type = MSG_EXEC_SIGNAL,
		.schema = &exec_signal_schema,
		.message = &message,
		.fd = -1,
		.reply = &wire_empty_schema,
	};

	if (read(exec->signals, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGWINCH) {
		terminal_resize(&exec->terminal);
		return;
	}
	message = (struct exec_signal){
		.number = (uint8_t)info.ssi_signo,
		.is_for_group = info.ssi_signo != SIGTERM &&
				info.ssi_signo != SIGUSR1 &&
				info.ssi_signo != SIGUSR2,
		.answers_soon = true,
	};
	if (exec->rpc && !exec->has_ended)
		(void)host_ask_on(&exec->host, exec->rpc, &call);
}

static void turn(struct exec *exec)
{
	struct pollfd fds[SLOT_MAX] = {
		[SLOT_CHANNEL] = {.fd = exec->channel, .events = POLLIN},
		[SLOT_SIGNALS] = {.fd = exec->signals, .events = POLLIN},
	};
	struct err err;

	terminal_poll(&exec->terminal, &fds[SLOT_TERMINAL]);
	for (int i = 0; i < STDIO; i++)
		pump_poll(&exec->pumps[i], &fds[SLOT_PUMPS + 2 * i]);
	if (poll(fds, SLOT_MAX, -1) < 0)
		return;
	terminal_serve(&exec->terminal, &fds[SLOT_TERMINAL]);
	for (int i = 0; i < STDIO; i++)
		pump_serve(&exec->pumps[i], &fds[SLOT_PUMPS + 2 * i]);
	if (fds[SLOT_SIGNALS].revents)
		pass_signal(exec);
	(void)io_loop_turn(exec->host.loop, 0, &err);
}

static void finish(struct exec *exec)
{
	/* What it wrote before it ended. */
	pump_finish(&exec->pumps[STDOUT_FILENO]);
	pump_finish(&exec->pumps[STDERR_FILENO]);
	terminal_drain(&exec->terminal);
	terminal_close(&exec->terminal);
}

static int run(struct exec *exec)
{
	struct err err;
	int code = check_terminal(exec);

	if (code != EXIT_OK)
		return code;
	if (host_open(&exec->host, &err) < 0)
		return cli_fail_err(&err);
	code = open_channel(exec);
	if (code == EXIT_OK)
		code = start(exec);
	if (code != EXIT_OK || exec->request.is_detached)
		return code;
	if (watch_signals(exec) < 0 ||
	    terminal_start(&exec->terminal, &err) < 0)
		return cli_fail(EXIT_FAILED, "prepare the terminal");
	while (!exec->has_ended)
		turn(exec);
	finish(exec);
	return exec->exit_code;
}

int cmd_sandbox_exec(struct cli *cli)
{
	auto_free struct exec *exec = calloc(1, sizeof(*exec));
	int code;

	if (!exec)
		return cli_fail(EXIT_FAILED, "no memory");
	exec->signals = -1;
	exec->channel = -1;
	exec->exit_code = EXIT_LOST;
	terminal_open(&exec->terminal, -1);
	for (int i = 0; i < STDIO; i++)
		exec->pumps[i].from = exec->pumps[i].to = -1;
	if (parse(cli, exec) < 0)
		return cli_usage(cli);
	if (exec->wants_help) {
		(void)fputs(cli->command->help, stdout);
		return EXIT_OK;
	}
	code = run(exec);
	if (exec->rpc)
		rpc_close(exec->rpc);
	host_close(&exec->host);
	return code;
}
