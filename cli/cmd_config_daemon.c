/*
 * sallyport config dump, reload, and check of what the daemons read.
 */
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "common/cleanup.h"
#include "sandbox-host/session/client.h"
#include "sandbox-host/session/gateway.h"

int config_check_by(const char *program, const char *file)
{
	char path[PATH_MAX];
	struct err err;

	if (gateway_find_program(program, path, &err) < 0)
		return cli_fail_err(&err);
	(void)execl(path, program, "-t", "-c", file, (char *)NULL);
	return cli_fail(EXIT_FAILED, "cannot run %s", path);
}

static void dump_text(const json_t *value)
{
	(void)fputs(json_text(value, "text"), stdout);
}

int cmd_config_dump(struct cli *cli)
{
	static const struct client_request request = {.method = "GET",
						      .path = "/v1/config"};
	auto_type(reply_release) struct reply reply;
	struct err err;

	if (arguments_words(cli, 0, 0) < 0)
		return cli_usage(cli);
	if (client_once(&request, &reply, &err) < 0)
		return cli_fail_err(&err);
	return cli_print(cli, reply.json, dump_text);
}

static void reload_text(const json_t *value)
{
	const char *taken = json_text(value, "taken");

	if (taken[0])
		(void)printf("the configuration holds; changed: %s\n", taken);
	else
		(void)puts("the configuration holds; nothing in it differs");
}

int cmd_config_reload(struct cli *cli)
{
	static const struct client_request request = {
		.method = "POST", .path = "/v1/config/reload"};
	auto_type(reply_release) struct reply reply;
	struct err err;

	if (arguments_words(cli, 0, 0) < 0)
		return cli_usage(cli);
	if (client_once(&request, &reply, &err) == 0)
		return cli_print(cli, reply.json, reload_text);
	if (reply.status != 422)
		return cli_fail_err(&err);
	(void)fputs(json_text(reply.json, "errors"), stderr);
	return cli_fail(EXIT_INVALID, "%s", json_text(reply.json, "detail"));
}
