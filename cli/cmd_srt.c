/*
 * sallyport srt: sandbox-runtime's command line, for those who have it in
 * their scripts.
 */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/control_fd.h"
#include "cli/run.h"
#include "common/cleanup.h"

#define SHELL "/bin/bash"

/* The words are a command of a shell, as srt has it: builtins work. */
static char words_of_shell[] = "\"$@\"";

struct srt {
	struct run_options options;
	char *line;	     /* -c */
	const char *control; /* --control-fd */
	char settings[PATH_MAX];
};

static int parse(struct cli *cli, struct srt *srt)
{
	static const struct option table[] = {
		{"settings", required_argument, NULL, 's'},
		{"debug", no_argument, NULL, 'd'},
		{"control-fd", required_argument, NULL, 'f'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(cli->argc, cli->argv, "+hds:c:", table,
				     NULL)) != -1) {
		if (option == 's')
			srt->options.settings = optarg;
		else if (option == 'c')
			srt->line = optarg;
		else if (option == 'd')
			srt->options.shows_policy = true;
		else if (option == 'f')
			srt->control = optarg;
		else if (option == 'h')
			srt->options.wants_help = true;
		else
			return -1;
	}
	return srt->options.wants_help || srt->line || cli->argv[optind]
		       ? 0
		       : cli_wrong(cli, "there is no command to run");
}

/* ~/.srt-settings.json, where it is there. */
static void find_settings(struct srt *srt)
{
	const char *home = getenv("HOME");
	int len = snprintf(srt->settings, sizeof(srt->settings),
			   "%s/.srt-settings.json", home ? home : "");

	if (!srt->options.settings && home && len > 0 &&
	    (size_t)len < sizeof(srt->settings) &&
	    access(srt->settings, F_OK) == 0)
		srt->options.settings = srt->settings;
	srt->options.has_settings = true;
}

int cmd_srt(struct cli *cli)
{
	char *line[] = {(char[]){SHELL}, (char[]){"-c"}, NULL, NULL};
	auto_free char **words = NULL;
	struct srt srt = {.line = NULL};
	size_t count = 0;

	if (parse(cli, &srt) < 0)
		return cli_usage(cli);
	if (srt.options.wants_help) {
		(void)fputs(cli->command->help, stdout);
		return EXIT_OK;
	}
	if (srt.control) {
		struct err err;

		srt.options.control_fd = control_fd_open(srt.control, &err);
		if (srt.options.control_fd < 0)
			return cli_fail(EXIT_FAILED, "%s", err.text);
	}
	find_settings(&srt);
	line[2] = srt.line;
	words = calloc((size_t)cli->argc + 5, sizeof(*words));
	if (!words)
		return cli_fail(EXIT_FAILED, "memory is out");
	words[count++] = line[0];
	words[count++] = line[1];
	words[count++] = words_of_shell;
	words[count++] = line[0];
	for (int i = optind; i < cli->argc; i++)
		words[count++] = cli->argv[i];
	srt.options.command = srt.line ? line : words;
	srt.options.said = srt.line ? &line[2] : &cli->argv[optind];
	return run_command(&srt.options);
}
