/*
 * sallyport-policy: `sallyport policy test`, a program of its own. What looks
 * into bodies brings libraries along that `sallyport run` need not wait for.
 */
#include <stdio.h>

#include "cli/arguments.h"
#include "cli/policy/test.h"
#include "common/log.h"

int main(int argc, char **argv)
{
	char *words[] = {argv[0], (char[]){"policy"}, (char[]){"test"}};
	int used = 0;
	struct cli cli = {
		.command = arguments_find(3, words, &used),
		.argc = argc,
		.argv = argv,
	};

	log_open("sallyport", NULL);
	switch (arguments_take_common(&cli)) {
	case ARGUMENTS_HELP:
		(void)fputs(cli.command->help, stdout);
		return EXIT_OK;
	case ARGUMENTS_WRONG:
		return EXIT_USAGE;
	case ARGUMENTS_GO_ON:
	default:
		return policy_test(&cli);
	}
}
