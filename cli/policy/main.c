/*
 * sallyport-policy VERB: `sallyport policy test`, `explain`, `learn` and
 * `show`, a program of its own. What decides about requests brings
 * libraries along, to look into bodies, that `sallyport run` need not wait
 * for.
 */
#include <stdio.h>
#include <string.h>

#include "cli/arguments.h"
#include "cli/policy/learn.h"
#include "cli/policy/show.h"
#include "cli/policy/test.h"
#include "cli/policy/words.h"
#include "common/cleanup.h"
#include "common/log.h"

static int run(struct cli *cli)
{
	static const struct {
		const char *verb;
		int (*run)(struct cli *cli);
	} verbs[] = {
		{"test", policy_test},
		{"explain", policy_words},
		{"learn", policy_learn},
		{"show", policy_show},
	};

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (!strcmp(cli->command->verb, verbs[i].verb))
			return verbs[i].run(cli);
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	char *words[] = {argv[0], (char[]){"policy"},
			 argc > 1 ? argv[1] : NULL};
	int used = 0;
	struct cli cli = {
		.command = arguments_find(argc > 1 ? 3 : 2, words, &used),
		.argc = argc - 1,
		.argv = argv + 1,
	};

	log_open("sallyport", NULL);
	if (!cli.command)
		return EXIT_USAGE;
	argv[1] = argv[0];
	switch (arguments_take_common(&cli)) {
	case ARGUMENTS_HELP:
		(void)fputs(cli.command->help, stdout);
		return EXIT_OK;
	case ARGUMENTS_WRONG:
		return EXIT_USAGE;
	case ARGUMENTS_GO_ON:
	default:
		return cli_end(run(&cli));
	}
}
