/*
 * sallyport completion: scripts for bash, zsh and fish, made from the table
 * of commands. A command's options are those that its help names.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "common/cleanup.h"

#define OPTIONS_MAX 32
#define OPTION_LEN  32

struct options {
	char names[OPTIONS_MAX][OPTION_LEN]; /* "--policy" */
	size_t count;
};

static bool is_known(const struct options *options, const char *name)
{
	for (size_t i = 0; i < options->count; i++)
		if (!strcmp(options->names[i], name))
			return true;
	return false;
}

/* Long options only: they say what they do. */
static void find_options(const struct command *command, struct options *out)
{
	const char *at = command->help;

	*out = (struct options){.names[0] = "--help", .count = 1};
	while ((at = strstr(at, "--")) && out->count < OPTIONS_MAX) {
		size_t len = strspn(at + 2, "abcdefghijklmnopqrstuvwxyz-");
		char name[OPTION_LEN];

		(void)snprintf(name, sizeof(name), "--%.*s", (int)len, at + 2);
		if (len > 0 && !is_known(out, name))
			memcpy(out->names[out->count++], name, sizeof(name));
		at += 2 + len;
	}
}

static void print_options(const struct command *command)
{
	struct options options;

	find_options(command, &options);
	for (size_t i = 0; i < options.count; i++)
		(void)printf("%s ", options.names[i]);
}

/* A noun comes once, with the first of its verbs. */
static bool is_first(size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (!strcmp(commands[i].noun, commands[at].noun))
			return false;
	return true;
}

/* What is said of a noun: its own summary, or nothing. */
static const char *noun_summary(const struct command *command)
{
	return command->verb ? "" : command->summary;
}

/* As bash takes a word, or zsh one with what it means. */
static void print_word(const char *word, const char *summary, bool described)
{
	if (described)
		(void)printf("\t\t'%s:%s'\n", word, summary);
	else
		(void)printf("%s ", word);
}

static void print_nouns(bool described)
{
	for (size_t i = 0; i < command_count; i++)
		if (is_first(i))
			print_word(commands[i].noun, noun_summary(&commands[i]),
				   described);
}

static void print_verbs(const char *noun, bool described)
{
	for (size_t i = 0; i < command_count; i++)
		if (commands[i].verb && !strcmp(commands[i].noun, noun))
			print_word(commands[i].verb, commands[i].summary,
				   described);
}

/* ---- bash ---- */

static void print_bash(void)
{
	(void)fputs("_sallyport() {\n"
		    "\tlocal cur=${COMP_WORDS[COMP_CWORD]} words=\n"
		    "\tif [ \"$COMP_CWORD\" = 1 ]; then\n"
		    "\t\twords=\"",
		    stdout);
	print_nouns(false);
	(void)fputs("--help --version\"\n"
		    "\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
		    "\t\treturn\n"
		    "\tfi\n"
		    "\tcase \"$COMP_CWORD ${COMP_WORDS[1]}\" in\n",
		    stdout);
	for (size_t i = 0; i < command_count; i++) {
		if (!is_first(i) || !commands[i].verb)
			continue;
		(void)printf("\t\"2 %s\") words=\"", commands[i].noun);
		print_verbs(commands[i].noun, false);
		(void)fputs("--help\" ;;\n", stdout);
	}
	(void)fputs("\tesac\n"
		    "\t[ -n \"$words\" ] || case \"${COMP_WORDS[1]} "
		    "${COMP_WORDS[2]} \" in\n",
		    stdout);
	for (size_t i = 0; i < command_count; i++) {
		(void)printf("\t\"%s %s\"*) words=\"", commands[i].noun,
			     commands[i].verb ? commands[i].verb : "");
		print_options(&commands[i]);
		(void)fputs("\" ;;\n", stdout);
	}
	(void)fputs("\tesac\n"
		    "\tcase \"$COMP_CWORD $cur\" in\n"
		    "\t2\\ *|*\\ -*) COMPREPLY=($(compgen -W \"$words\" -- "
		    "\"$cur\")) ;;\n"
		    "\t*) COMPREPLY=() ;;\n"
		    "\tesac\n"
		    "}\n"
		    "complete -o default -F _sallyport sallyport\n",
		    stdout);
}

/* ---- zsh ---- */

static void print_zsh(void)
{
	(void)fputs("#compdef sallyport\n"
		    "_sallyport() {\n"
		    "\tlocal -a found\n"
		    "\tif (( CURRENT == 2 )); then\n"
		    "\t\tfound=(\n",
		    stdout);
	print_nouns(true);
	(void)fputs("\t\t)\n"
		    "\t\t_describe command found\n"
		    "\t\treturn\n"
		    "\tfi\n"
		    "\tcase \"$CURRENT $words[2]\" in\n",
		    stdout);
	for (size_t i = 0; i < command_count; i++) {
		if (!is_first(i) || !commands[i].verb)
			continue;
		(void)printf("\t'3 %s') found=(\n", commands[i].noun);
		print_verbs(commands[i].noun, true);
		(void)fputs("\t\t)\n"
			    "\t\t_describe verb found\n"
			    "\t\treturn ;;\n",
			    stdout);
	}
	(void)fputs("\tesac\n"
		    "\tcase \"$words[2] $words[3]\" in\n",
		    stdout);
	for (size_t i = 0; i < command_count; i++) {
		(void)printf("\t'%s %s'*) found=(", commands[i].noun,
			     commands[i].verb ? commands[i].verb : "");
		print_options(&commands[i]);
		(void)fputs(") ;;\n", stdout);
	}
	(void)fputs("\tesac\n"
		    "\tif [[ $words[CURRENT] == -* ]]; then\n"
		    "\t\tcompadd -- $found\n"
		    "\telse\n"
		    "\t\t_files\n"
		    "\tfi\n"
		    "}\n"
		    "compdef _sallyport sallyport\n",
		    stdout);
}

/* ---- fish ---- */

static void print_fish_command(const struct command *command)
{
	struct options options;

	if (command->verb)
		(void)printf("complete -c sallyport -f -n "
			     "'test (count (commandline -opc)) = 2; and "
			     "__fish_seen_subcommand_from %s' -a %s -d '%s'\n",
			     command->noun, command->verb, command->summary);
	find_options(command, &options);
	for (size_t i = 0; i < options.count; i++)
		(void)printf("complete -c sallyport -n "
			     "'__fish_seen_subcommand_from %s%s%s' -l %s\n",
			     command->noun,
			     command->verb
				     ? "; and __fish_seen_subcommand_from "
				     : "",
			     command->verb ? command->verb : "",
			     options.names[i] + 2);
}

static void print_fish(void)
{
	for (size_t i = 0; i < command_count; i++) {
		if (is_first(i))
			(void)printf("complete -c sallyport -f -n "
				     "__fish_use_subcommand -a %s -d '%s'\n",
				     commands[i].noun,
				     noun_summary(&commands[i]));
		print_fish_command(&commands[i]);
	}
}

int cmd_completion(struct cli *cli)
{
	static const struct {
		const char *shell;
		void (*print)(void);
	} shells[] = {
		{"bash", print_bash},
		{"zsh", print_zsh},
		{"fish", print_fish},
	};

	if (arguments_words(cli, 1, 1) < 0)
		return cli_usage(cli);
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
		if (!strcmp(cli->argv[optind], shells[i].shell)) {
			shells[i].print();
			return EXIT_OK;
		}
	(void)cli_wrong(cli, "there is no script for '%s'", cli->argv[optind]);
	return cli_usage(cli);
}
