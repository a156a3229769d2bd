#include "cli/arguments.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "common/quantity.h"

#define SECONDS_DIGITS_MAX 12

const struct command *arguments_find(int argc, char **argv, int *used)
{
	for (size_t i = 0; i < command_count; i++) {
		const struct command *command = &commands[i];

		if (argc < 2 || strcmp(command->noun, argv[1]) != 0)
			continue;
		*used = command->verb ? 3 : 2;
		if (!command->verb ||
		    (argc > 2 && !strcmp(command->verb, argv[2])))
			return command;
	}
	return NULL;
}

static bool set_output(struct cli *cli, const char *value)
{
	bool is_yaml = value && !strcmp(value, "yaml");
	bool is_json = value && !strcmp(value, "json");

	cli->yaml = is_yaml;
	cli->json = is_yaml || is_json;
	if (!cli->json && !(value && !strcmp(value, "table"))) {
		(void)fprintf(stderr, "%s: -o is json, yaml or table\n",
			      cli->argv[0]);
		return false;
	}
	if (!cli->json || cli->command->output == OUTPUT_VALUE)
		return true;
	(void)fprintf(stderr, "%s: no -o %s: this command prints no value\n",
		      cli->argv[0], value);
	return false;
}

/* The value of -o that stands at *at, which moves over it. False: it is
 * something else. */
static bool is_output(const struct cli *cli, int *at, const char **value)
{
	const char *word = cli->argv[*at];

	if (!strcmp(word, "-o") || !strcmp(word, "--output"))
		*value = cli->argv[++*at];
	else if (!strncmp(word, "-o", 2))
		*value = word + 2;
	else if (!strncmp(word, "--output=", 9))
		*value = word + 9;
	else
		return false;
	return true;
}

enum arguments_common arguments_take_common(struct cli *cli)
{
	int kept = 1;
	bool ended = false;

	if (cli->command->output == OUTPUT_COMMANDS)
		return ARGUMENTS_GO_ON;
	for (int i = 1; i < cli->argc; i++) {
		const char *value = NULL;

		ended = ended || !strcmp(cli->argv[i], "--");
		if (!ended && (!strcmp(cli->argv[i], "--help") ||
			       !strcmp(cli->argv[i], "-h")))
			return ARGUMENTS_HELP;
		if (ended || cli->command->output == OUTPUT_FILE ||
		    !is_output(cli, &i, &value))
			cli->argv[kept++] = cli->argv[i];
		else if (!set_output(cli, value))
			return ARGUMENTS_WRONG;
	}
	cli->argc = kept;
	cli->argv[kept] = NULL;
	return ARGUMENTS_GO_ON;
}

int arguments_count(const struct cli *cli, int min, int max)
{
	int count = cli->argc - optind;

	if (count > max)
		return cli_wrong(cli, "'%s' is one word too many",
				 cli->argv[optind + max]);
	if (count < min)
		return cli_wrong(cli, count ? "a word more is needed"
					    : "words are missing");
	return 0;
}

int arguments_words(struct cli *cli, int min, int max)
{
	static const struct option none[] = {{NULL, 0, NULL, 0}};

	if (getopt_long(cli->argc, cli->argv, "", none, NULL) != -1)
		return -1;
	return arguments_count(cli, min, max);
}

int arguments_seconds(const char *option, struct time_range range,
		      uint64_t *seconds)
{
	struct bytes word = bytes_str(optarg);
	char least[QUANTITY_TEXT_SIZE], most[QUANTITY_TEXT_SIZE];
	uint64_t ms;

	if (bytes_to_u64(word, SECONDS_DIGITS_MAX, seconds) < 0) {
		if (quantity_time(word, &ms) < 0 || ms % 1000) {
			(void)cli_fail(EXIT_USAGE,
				       "%s: '%s' is no time: a whole number "
				       "and s, m, h or d, like 90s, or of "
				       "seconds alone",
				       option, optarg);
			optarg = NULL; /* it was told */
			return -1;
		}
		*seconds = ms / 1000;
	}
	if (*seconds >= range.least && *seconds <= range.most)
		return 0;
	quantity_time_text(range.least * 1000, least);
	quantity_time_text(range.most * 1000, most);
	(void)cli_fail(EXIT_USAGE, "%s: '%s' is out of range: %s to %s", option,
		       optarg, least, most);
	optarg = NULL;
	return -1;
}
