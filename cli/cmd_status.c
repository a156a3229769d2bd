#include <stdio.h>
#include <string.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/control.h"
#include "common/cleanup.h"
#include "sandbox-host/session/client.h"

static const char *whose(const json_t *row)
{
	const char *session = json_text(row, "session");

	return !session[0] && !strcmp(json_text(row, "role"), "edge")
		       ? "(spare)"
		       : session;
}

static void status_table(const json_t *value)
{
	long long sessions =
		json_integer_value(json_object_get(value, "sessions"));
	long long ended = json_integer_value(json_object_get(value, "ended"));
	size_t index;
	json_t *row;

	(void)printf("version %s, %lld sessions", json_text(value, "version"),
		     sessions - ended);
	if (ended > 0)
		(void)printf(" and %lld that ended", ended);
	(void)printf(", sockets in %s\n\n", json_text(value, "run"));
	/* First: who looks on sees it above many edges. */
	if (json_text(value, "failing")[0])
		(void)printf("ledger: can not store records: %s\n\n",
			     json_text(value, "failing"));
	(void)printf("%-10s %8s %8s %-6s %s\n", "PROCESS", "PID", "RESTARTS",
		     "READY", "SESSION");
	json_array_foreach(json_object_get(value, "processes"), index,
			   row)(void)
		printf("%-10s %8lld %8lld %-6s %s\n", json_text(row, "role"),
		       (long long)json_integer_value(
			       json_object_get(row, "pid")),
		       (long long)json_integer_value(
			       json_object_get(row, "restarts")),
		       json_is_true(json_object_get(row, "ready")) ? "yes"
								   : "no",
		       whose(row));
}

int cmd_status(struct cli *cli)
{
	static const struct client_request request = {.method = "GET",
						      .path = "/v1/status"};
	auto_type(reply_release) struct reply reply = {0};
	struct err err;
	int code;

	if (arguments_words(cli, 0, 0) < 0)
		return cli_usage(cli);
	if (control_once(&request, &reply, &err) < 0)
		return cli_fail_err(&err);
	code = cli_print(cli, reply.json, status_table);
	return json_text(reply.json, "failing")[0] ? EXIT_FAILED : code;
}
