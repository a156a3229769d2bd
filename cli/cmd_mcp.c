/*
 * sallyport mcp: a program of its own does it, and runs us for its tools.
 */
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/commands.h"
#include "common/cleanup.h"
#include "sandbox-host/session/gateway.h"

const char cmd_mcp_help[] =
	"Usage: sallyport mcp [--policy FILE] [--workspace DIR|-] [--repo URL "
	"--branch BRANCH]\n"
	"                     [--image NAME] [--timeout TIME] [--keep]\n"
	"                     [--listen ADDRESS:PORT [--token-file FILE] "
	"[--idle TIME]]\n"
	"\n"
	"Serve the Model Context Protocol, on standard input and output or "
	"over HTTP:\n"
	"tools to make sandboxes (of sallyport-host), to run commands and to "
	"read and write\n"
	"files in them, to read the policy, and to ask a person. What the "
	"sandboxes may do\n"
	"is said here; no tool can change it, reach other sandboxes, or "
	"approve anything.\n"
	"\n"
	"  --policy FILE       of each sandbox (default: the host's)\n"
	"  --workspace DIR     they work on it (default: the policy's; -: a "
	"new one each)\n"
	"  --repo URL, --branch BRANCH\n"
	"                      ${session.repo} and ${session.branch} of the "
	"policy\n"
	"  --image NAME        their root, an image of host.yaml\n"
	"  --timeout TIME      a sandbox ends then, at the latest (default: "
	"1h)\n"
	"  --keep              its sandboxes stay when the client goes\n"
	"  --listen ADDRESS:PORT\n"
	"                      serve http://ADDRESS:PORT/mcp (streamable "
	"HTTP; loopback\n"
	"                      alone), at most 16 sessions, to whoever has "
	"the token\n"
	"  --token-file FILE   holds it; without it a new one is printed\n"
	"  --idle TIME         a session that nobody uses ends then (default: "
	"30m)\n"
	"\n"
	"TIME is a number of seconds, or with a unit (s, m, h, d), like "
	"10m.\n"
	"\n"
	"Example (settings of a client):\n"
	"  {\"mcpServers\": {\"sallyport\": {\"command\": \"sallyport\",\n"
	"     \"args\": [\"mcp\", \"--policy\", \"/etc/agent.yaml\"]}}}\n";

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
