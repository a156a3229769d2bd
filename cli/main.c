/*
 * sallyport: the command line.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "common/log.h"

static void print_help(void)
{
	(void)puts("Usage: sallyport <noun> <verb> [options]\n"
		   "\n"
		   "Sallyport gives untrusted code the network and git, and "
		   "never a real credential.\n");
	for (size_t i = 0; i < command_count; i++)
		(void)printf("  %-9s %-8s %s\n", commands[i].noun,
			     commands[i].verb ? commands[i].verb : "",
			     commands[i].summary);
	(void)puts("\n"
		   "Each has --help. -o json prints JSON.\n"
		   "SALLYPORT_RUN is the directory of the gateway's sockets.\n"
		   "\n"
		   "Exit codes: 0 ok, 1 failed, 2 usage, 3 configuration or "
		   "policy invalid,\n"
		   "4 daemon unreachable, 5 not permitted, 6 not found, 7 "
		   "conflict, 8 timed out,\n"
		   "10 would be denied. `run` exits with the command's own.");
}

static const struct command *find(int argc, char **argv, int *used)
{
	for (size_t i = 0; i < command_count; i++) {
		const struct command *command = &commands[i];

		if (argc < 2 || strcmp(command->noun, argv[1]) != 0)
			continue;
		*used = command->verb ? 2 : 1;
		if (!command->verb ||
		    (argc > 2 && !strcmp(command->verb, argv[2])))
			return command;
	}
	return NULL;
}

static bool is_noun(const char *word)
{
	bool found = false;

	for (size_t i = 0; i < command_count; i++) {
		if (strcmp(commands[i].noun, word) != 0)
			continue;
		if (!found)
			(void)fprintf(stderr,
				      "sallyport %s has the verbs:", word);
		found = true;
		(void)fprintf(stderr, " %s", commands[i].verb);
	}
	if (found)
		(void)fputc('\n', stderr);
	return found;
}

/* Take "-o json" and "--help" wherever they stand among our own words:
 * `run` stops at its command. */
static bool take_common(struct cli *cli, const struct command *command)
{
	bool stops = !strcmp(command->noun, "run");
	int kept = 1;

	for (int i = 1; i < cli->argc; i++) {
		char *word = cli->argv[i];

		if (stops && (word[0] != '-' || !strcmp(word, "--"))) {
			while (i < cli->argc)
				cli->argv[kept++] = cli->argv[i++];
			break;
		}
		if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
			(void)fputs(command->help, stdout);
			return false;
		}
		if (!strcmp(word, "-o") && i + 1 < cli->argc && !stops) {
			cli->json = !strcmp(cli->argv[++i], "json");
			continue;
		}
		cli->argv[kept++] = word;
		/* An option's value is not the command yet. */
		if (stops && word[0] == '-' && word[1] && !strchr(word, '=') &&
		    i + 1 < cli->argc && strcmp(word, "--verbose") != 0)
			cli->argv[kept++] = cli->argv[++i];
	}
	cli->argc = kept;
	cli->argv[kept] = NULL;
	return true;
}

int main(int argc, char **argv)
{
	const struct command *command;
	struct cli cli = {0};
	int used = 0;

	log_open("sallyport", NULL);
	if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
	    !strcmp(argv[1], "help")) {
		print_help();
		return argc < 2 ? EXIT_USAGE : EXIT_OK;
	}
	if (!strcmp(argv[1], "--version")) {
		(void)puts("sallyport " SP_VERSION);
		return EXIT_OK;
	}
	command = find(argc, argv, &used);
	if (!command) {
		if (!is_noun(argv[1]))
			(void)fprintf(stderr,
				      "sallyport: there is no command '%s'; "
				      "see --help\n",
				      argv[1]);
		return EXIT_USAGE;
	}
	cli.argc = argc - used;
	cli.argv = argv + used;
	if (!take_common(&cli, command))
		return EXIT_OK;
	return command->run(&cli);
}
