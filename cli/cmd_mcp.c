/*
 * sallyport mcp: a program of its own does it, and runs us for its tools.
 */
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/commands.h"
#include "common/cleanup.h"
#include "sandbox-host/session/gateway.h"

int cmd_mcp(struct cli *cli)
{
	auto_free char **words = calloc((size_t)cli->argc + 2, sizeof(*words));
	char path[PATH_MAX], self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	struct err err;

	if (!words || len < 0)
		return cli_fail(EXIT_FAILED, "cannot find this program");
	self[len] = '\0';
	if (gateway_find_program("sallyport-mcp", path, &err) < 0)
		return cli_fail_err(&err);
	words[0] = cli->argv[0];
	words[1] = self;
	for (int i = 1; i < cli->argc; i++)
		words[i + 1] = cli->argv[i];
	(void)execv(path, words);
	return cli_fail(EXIT_FAILED, "cannot run %s", path);
}
