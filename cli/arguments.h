/*
 * Which command is meant, and the options that all commands have: --help
 * and -o. The words behind belong to the command.
 */
#ifndef CLI_ARGUMENTS_H
#define CLI_ARGUMENTS_H

#include "cli/cli.h"

/* The command of argv[1] and argv[2]; *used: how many words name it, the
 * program's own included. NULL: there is none. */
const struct command *arguments_find(int argc, char **argv, int *used);

enum arguments_common { ARGUMENTS_GO_ON, ARGUMENTS_HELP, ARGUMENTS_WRONG };

/* Take -o, --output, -h and --help out of cli's words, up to "--".
 * ARGUMENTS_WRONG: -o has no value, one that is not known, or one that this
 * command has not; it was told. OUTPUT_COMMANDS take their own options. */
enum arguments_common arguments_take_common(struct cli *cli);

/* Are the words from argv[optind] on min to max? 0, or -1: it was told. */
int arguments_count(const struct cli *cli, int min, int max);
/* The same, and refuse every option. */
int arguments_words(struct cli *cli, int min, int max);

/* What a time may be, in seconds. */
struct time_range {
	uint64_t least, most;
};
/* The time of optarg, which is option's: as in a policy ("10m"), or a number of
 * seconds alone. 0, or -1: it was told. */
int arguments_seconds(const char *option, struct time_range range,
		      uint64_t *seconds);

#endif
