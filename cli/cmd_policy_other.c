/*
 * sallyport policy test, explain, learn and show: a program of its own does
 * them.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/commands.h"
#include "common/cleanup.h"
#include "sandbox-host/session/gateway.h"

int cmd_policy_other(struct cli *cli)
{
	auto_free char **words = calloc((size_t)cli->argc + 4, sizeof(*words));
	char verb[16], output[] = "-o", json[] = "json", yaml[] = "yaml";
	char path[PATH_MAX];
	size_t count = 0;
	struct err err;

	if (!words)
		return cli_fail(EXIT_FAILED, "memory is out");
	if (gateway_find_program("sallyport-policy", path, &err) < 0)
		return cli_fail_err(&err);
	(void)snprintf(verb, sizeof(verb), "%s", cli->command->verb);
	words[count++] = cli->argv[0];
	words[count++] = verb;
	if (cli->json) {
		words[count++] = output;
		words[count++] = cli->yaml ? yaml : json;
	}
	for (int i = 1; i < cli->argc; i++)
		words[count++] = cli->argv[i];
	(void)execv(path, words);
	return cli_fail(EXIT_FAILED, "cannot run %s", path);
}
