/*
 * sallyport-mcp PROGRAM [OPTION]...: `sallyport mcp`; PROGRAM is sallyport.
 * With --listen it runs itself, without that, for each session.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/mcp/stdio.h"
#include "cli/mcp/tool.h"
#include "cli/mcp/web.h"
#include "common/log.h"
#include "common/nearest.h"

#define FILE_SIZE_MAX (2 * TOOL_CONTENT_MAX)
#define LIFE_MAX_S    (365ull * 24 * 3600)

static int parse_seconds(const char *option, uint64_t most, unsigned *seconds)
{
	uint64_t value;

	if (arguments_seconds(option, (struct time_range){1, most}, &value) < 0)
		return -1;
	*seconds = (unsigned)value;
	return 0;
}

/* What every session has, here or in a process of its own. */
static int take_session(int option, struct server_config *config)
{
	switch (option) {
	case 'p':
		config->policy = optarg;
		return 0;
	case 'w':
		config->workspace = optarg;
		return 0;
	case 'r':
		config->repo = optarg;
		return 0;
	case 'b':
		config->branch = optarg;
		return 0;
	case 'i':
		config->image = optarg;
		return 0;
	case 't':
		return parse_seconds("--timeout", LIFE_MAX_S, &config->life_s);
	case 'k':
		config->keeps = true;
		return 0;
	default:
		return -1;
	}
}

static int take(int option, struct server_config *config,
		struct web_config *web)
{
	switch (option) {
	case 'l':
		web->address = optarg;
		return 0;
	case 'T':
		web->token_file = optarg;
		return 0;
	case 'I':
		return parse_seconds("--idle", WEB_IDLE_MAX_S, &web->idle_s);
	default:
		return take_session(option, config);
	}
}

static int parse(int argc, char **argv, struct server_config *config,
		 struct web_config *web)
{
	static const struct option table[] = {
		{"policy", required_argument, NULL, 'p'},
		{"workspace", required_argument, NULL, 'w'},
		{"repo", required_argument, NULL, 'r'},
		{"branch", required_argument, NULL, 'b'},
		{"image", required_argument, NULL, 'i'},
		{"timeout", required_argument, NULL, 't'},
		{"keep", no_argument, NULL, 'k'},
		{"listen", required_argument, NULL, 'l'},
		{"token-file", required_argument, NULL, 'T'},
		{"idle", required_argument, NULL, 'I'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", table, NULL)) != -1)
		if (take(option, config, web) < 0)
			return -1;
	if (!web->address && (web->token_file || web->idle_s)) {
		(void)fputs("sallyport mcp: --token-file and --idle are for "
			    "--listen\n",
			    stderr);
		return -1;
	}
	if (!web->idle_s)
		web->idle_s = WEB_IDLE_DEFAULT_S;
	return optind == argc ? 0 : -1;
}

static int serve(const struct server_config *config)
{
	const struct rlimit files = {FILE_SIZE_MAX, FILE_SIZE_MAX};
	struct server server;
	struct io_loop *loop;
	struct err err;
	int result = -1;

	/* What is read of a sandbox is copied first: how large can it get? */
	if (setrlimit(RLIMIT_FSIZE, &files) < 0)
		return cli_fail(EXIT_FAILED, "bound the size of files");
	loop = io_loop_new(&err);
	if (!loop)
		return cli_fail_err(&err);
	if (server_open(&server, config, loop, &err) == 0)
		result = stdio_serve(&server, &err);
	io_loop_free(loop);
	return result < 0 ? cli_fail_err(&err) : EXIT_OK;
}

static void add_word(struct job_line *line, const char *name, const char *value)
{
	if (!value)
		return;
	(void)job_add(line, name);
	(void)job_add(line, value);
}

/* A session of each client: this program, over its standard input. */
static int listen_for(const struct server_config *config,
		      struct web_config *web)
{
	char self[PATH_MAX], life[16];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	struct job_line line = {.count = 0};
	struct io_loop *loop;
	struct err err;
	int result;

	if (len < 0)
		return cli_fail(EXIT_FAILED, "cannot find this program");
	self[len] = '\0';
	(void)snprintf(life, sizeof(life), "%u", config->life_s);
	add_word(&line, "sallyport mcp", config->program);
	add_word(&line, "--policy", config->policy);
	add_word(&line, "--workspace", config->workspace);
	add_word(&line, "--repo", config->repo);
	add_word(&line, "--branch", config->branch);
	add_word(&line, "--image", config->image);
	add_word(&line, "--timeout", life);
	if (config->keeps)
		(void)job_add(&line, "--keep");
	web->program = self;
	web->words = line.words;
	loop = io_loop_new(&err);
	if (!loop)
		return cli_fail_err(&err);
	result = web_serve(web, loop, &err);
	io_loop_free(loop);
	return result < 0 ? cli_fail_err(&err) : EXIT_OK;
}

/* What getopt did not say itself. */
static void tell_wrong(int argc, char **argv)
{
	if (optarg)
		(void)fprintf(stderr,
			      "sallyport mcp: '%s' is no value for that "
			      "option\n",
			      optarg);
	else if (optind < argc)
		(void)fprintf(stderr, "sallyport mcp: what is '%s'?\n",
			      argv[optind]);
	nearest_tell_option(argv, cmd_mcp_help);
	(void)fputs("See sallyport mcp --help.\n", stderr);
}

/* Told now, not when a client makes its first sandbox. */
static int check_path(const char *option, const char *path, int mode,
		      struct err *err)
{
	if (!path || !strcmp(path, "-") || access(path, mode) == 0)
		return 0;
	return err_set(err, ERR_INVALID, "%s %s: %s", option, path,
		       strerror(errno));
}

int main(int argc, char **argv)
{
	struct server_config config = {.life_s = SERVER_LIFE_DEFAULT_S};
	struct web_config web = {0};
	struct err err;

	log_open("mcp", NULL);
	if (argc < 2)
		return EXIT_USAGE;
	config.program = argv[1];
	argv[1] = argv[0];
	if (parse(argc - 1, argv + 1, &config, &web) < 0) {
		tell_wrong(argc - 1, argv + 1);
		return EXIT_USAGE;
	}
	if (check_path("--policy", config.policy, R_OK, &err) < 0 ||
	    check_path("--workspace", config.workspace, X_OK, &err) < 0)
		return cli_fail_err(&err);
	return web.address ? listen_for(&config, &web) : serve(&config);
}
