/*
 * sallyport: the command line.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "common/directories.h"
#include "common/log.h"
#include "common/nearest.h"

#define COMMANDS_MAX 128 /* that are compared with a word */

static void print_help(void)
{
	(void)puts("Usage: sallyport <noun> <verb> [options]\n"
		   "\n"
		   "Sallyport gives untrusted code the network and git, and "
		   "never a real credential.\n");
	for (size_t i = 0; i < command_count; i++)
		(void)printf("  %-10s %-8s %s\n", commands[i].noun,
			     commands[i].verb ? commands[i].verb : "",
			     commands[i].summary);
	(void)puts("\n"
		   "Each has --help. With -o json those whose help says so "
		   "print JSON, with -o yaml\n"
		   "YAML; the others refuse it.\n"
		   "SALLYPORT_RUN is the directory of the gateway's sockets,\n"
		   "SALLYPORT_HOST the socket of sallyport-host.\n"
		   "\n"
		   "Exit codes: 0 ok, 1 failed, 2 usage, 3 configuration or "
		   "policy invalid, or a\n"
		   "file that was named can not be read, 4 daemon unreachable, "
		   "5 not permitted,\n"
		   "6 not found, 7 conflict, 8 timed out, 10 would be denied. "
		   "`run` and\n"
		   "`sandbox exec` exit with the command's own.");
}

/* The verbs of a noun. False: there is no such noun. */
static bool print_verbs(const char *noun, FILE *out)
{
	bool found = false;

	for (size_t i = 0; i < command_count; i++) {
		if (strcmp(commands[i].noun, noun) != 0)
			continue;
		found = true;
		(void)fprintf(out, "  sallyport %s %-8s %s\n", noun,
			      commands[i].verb ? commands[i].verb : "",
			      commands[i].summary);
	}
	return found;
}

/* The nearest verb of that noun; or, where there is no such noun, the nearest
 * noun. NULL: there is none. */
static const char *find_nearest(const char *noun, const char *verb)
{
	const char *names[COMMANDS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < command_count && count < COMMANDS_MAX; i++)
		if (!verb || !strcmp(commands[i].noun, noun))
			names[count++] =
				verb ? commands[i].verb : commands[i].noun;
	return nearest(bytes_str(verb ? verb : noun), names, count);
}

static bool is_noun(const char *word)
{
	for (size_t i = 0; i < command_count; i++)
		if (!strcmp(commands[i].noun, word))
			return true;
	return false;
}

/* verb: NULL where there is no such noun. */
static void tell_nearest(const char *noun, const char *verb)
{
	const char *name = find_nearest(noun, verb);

	if (name)
		(void)fprintf(stderr,
			      "sallyport: did you mean 'sallyport %s%s%s'?\n",
			      verb ? noun : "", verb ? " " : "", name);
}

/* A noun without a verb of it, or nothing that is known. */
static int explain(int argc, char **argv)
{
	bool asked = argc > 2 &&
		     (!strcmp(argv[2], "--help") || !strcmp(argv[2], "-h"));
	bool has_noun = is_noun(argv[1]);

	if (!has_noun || (!asked && argc > 2)) {
		(void)fprintf(
			stderr, "sallyport: there is no command '%s%s%s'\n",
			argv[1], has_noun ? " " : "", has_noun ? argv[2] : "");
		tell_nearest(argv[1], has_noun ? argv[2] : NULL);
	}
	if (print_verbs(argv[1], asked ? stdout : stderr))
		return asked ? EXIT_OK : EXIT_USAGE;
	(void)fputs("see: sallyport --help\n", stderr);
	return EXIT_USAGE;
}

/* "help", and the command or the noun that it is about; or nothing. */
static int help(int argc, char **argv)
{
	int used;
	const struct command *command = arguments_find(argc, argv, &used);

	if (argc < 2)
		print_help();
	else if (command)
		(void)fputs(command->help, stdout);
	else if (argc > 2 || !print_verbs(argv[1], stdout))
		return explain(argc, argv);
	return EXIT_OK;
}

/* A descriptor of ours would take the place of one that is closed, and be
 * written to as if it were the caller's. */
static int fill_standard_descriptors(void)
{
	int fd = open("/dev/null", O_RDWR);

	while (fd >= 0 && fd <= STDERR_FILENO)
		fd = dup(fd);
	return fd < 0 ? -1 : close(fd);
}

static int run_command(const struct command *command, struct cli *cli)
{
	struct err err;
	char name[64];

	(void)snprintf(name, sizeof(name), "sallyport %s%s%s", command->noun,
		       command->verb ? " " : "",
		       command->verb ? command->verb : "");
	cli->argv[0] = name;
	cli->command = command;
	switch (arguments_take_common(cli)) {
	case ARGUMENTS_HELP:
		(void)fputs(command->help, stdout);
		return EXIT_OK;
	case ARGUMENTS_WRONG:
		return EXIT_USAGE;
	case ARGUMENTS_GO_ON:
	default:
		break;
	}
	if (directories_check_variable("SALLYPORT_RUN", &err) < 0 ||
	    directories_check_variable("SALLYPORT_STATE", &err) < 0)
		return cli_fail(EXIT_INVALID, "%s", err.text);
	return command->run(cli);
}

int main(int argc, char **argv)
{
	const struct command *command;
	struct cli cli = {0};
	int used = 0;

	if (fill_standard_descriptors() < 0)
		return EXIT_FAILED;
	log_open("sallyport", NULL);
	if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		print_help();
		return argc < 2 ? EXIT_USAGE : cli_end(EXIT_OK);
	}
	if (!strcmp(argv[1], "help"))
		return cli_end(help(argc - 1, argv + 1));
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "version")) {
		(void)puts("sallyport " SP_VERSION);
		return cli_end(EXIT_OK);
	}
	command = arguments_find(argc, argv, &used);
	if (!command)
		return cli_end(explain(argc, argv));
	cli.argc = argc - used + 1;
	cli.argv = argv + used - 1;
	return cli_end(run_command(command, &cli));
}
