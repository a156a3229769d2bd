#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/control.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/quantity.h"
#include "sandbox-host/session/client.h"

#define PATH_BYTES 256
#define ROW_BYTES  2048
/* No session lasts longer. */
#define UNTIL_MAX_MS (UINT64_C(30) * 24 * 60 * 60 * 1000)

/* Ids and states go into a path as they are. */
static bool is_plain(const char *text)
{
	return text[0] &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") ==
		       strlen(text);
}

/* ---- list ---- */

static void print_row(const json_t *row)
{
	const char *credential = json_text(row, "credential");
	const char *scheme = json_text(row, "scheme");
	const char *why = json_text(row, "why");
	json_int_t port = json_integer_value(json_object_get(row, "port"));
	bool is_usual = (port == 443 && !strcmp(scheme, "https")) ||
			(port == 80 && !strcmp(scheme, "http"));
	char line[ROW_BYTES], number[24] = "";
	bool is_command = scheme[0] == '\0';

	if (!is_usual && !is_command)
		(void)snprintf(number, sizeof(number), ":%" JSON_INTEGER_FORMAT,
			       port);
	(void)snprintf(line, sizeof(line),
		       "%-28s %-8s %-28s %s %s%s%s%s%s [%s]%s%s%s%s",
		       json_text(row, "id"), json_text(row, "state"),
		       json_text(row, "session"), json_text(row, "method"),
		       scheme, is_command ? "" : "://",
		       is_command ? "" : json_text(row, "host"), number,
		       json_text(row, "path"), json_text(row, "rule"),
		       credential[0] ? " with " : "", credential,
		       why[0] ? ": " : "", why);
	cli_clean(line);
	(void)puts(line);
}

static void print_table(const json_t *value)
{
	size_t index;
	json_t *row;

	(void)printf("%-28s %-8s %-28s %s\n", "ID", "STATE", "SESSION", "WHAT");
	json_array_foreach(json_object_get(value, "approvals"), index, row)
		print_row(row);
}

struct list_options {
	const char *session;
	const char *state;
};

static int parse_list(struct cli *cli, struct list_options *options)
{
	static const struct option table[] = {
		{"session", required_argument, NULL, 's'},
		{"state", required_argument, NULL, 't'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(cli->argc, cli->argv, "", table, NULL)) !=
	       -1) {
		if (option == 's')
			options->session = optarg;
		else if (option == 't' && options->state)
			options->state = optarg;
		else if (option == 't')
			return cli_wrong(cli, "there is no --state here");
		else
			return -1;
		if (!is_plain(optarg))
			return -1;
	}
	return arguments_count(cli, 0, 0);
}

static int format_path(char path[PATH_BYTES], const char *format,
		       const struct list_options *options)
{
	int len = snprintf(path, PATH_BYTES, "%s%s%s%s%s", format,
			   options->state ? "state=" : "",
			   options->state ? options->state : "",
			   options->session ? "&session=" : "",
			   options->session ? options->session : "");

	return len < 0 || len >= PATH_BYTES ? -1 : 0;
}

int cmd_approval_list(struct cli *cli)
{
	struct list_options options = {.state = "pending"};
	char path[PATH_BYTES];
	const struct client_request request = {.method = "GET", .path = path};
	auto_type(reply_release) struct reply reply = {0};
	struct err err;

	if (parse_list(cli, &options) < 0 ||
	    format_path(path, "/v1/approvals?", &options) < 0)
		return cli_usage(cli);
	if (control_once(&request, &reply, &err) < 0)
		return cli_fail_err(&err);
	return cli_print(cli, reply.json, print_table);
}

/* ---- watch ---- */

/* Rows of the record; those about approvals are printed as they are, or as
 * YAML. */
static bool show_line(struct bytes line, void *owner)
{
	const struct cli *cli = owner;
	json_t *row = line.len ? json_loadb((const char *)line.data, line.len,
					    0, NULL)
			       : NULL;

	if (row && !strcmp(json_text(row, "activity"), "approval"))
		cli_print_row(cli, row, line);
	json_decref(row);
	return cli_flush();
}

int cmd_approval_watch(struct cli *cli)
{
	struct list_options options = {0};
	char path[PATH_BYTES];
	struct client client;
	struct err err;
	int result;

	if (parse_list(cli, &options) < 0 ||
	    format_path(path, "/v1/events?denied=0", &options) < 0)
		return cli_usage(cli);
	if (control_open(&client, &err) < 0)
		return cli_fail_err(&err);
	result = control_follow(&client, options.session, path, show_line, cli,
				&err);
	client_close(&client);
	return result < 0 ? cli_fail_err(&err) : EXIT_OK;
}

/* ---- approve, deny ---- */

static void print_decided(const json_t *value)
{
	print_row(value);
}

/* Takes body. */
static int decide(struct cli *cli, const char *id, json_t *body)
{
	auto_free char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	char path[PATH_BYTES];
	const struct client_request request = {
		.method = "POST",
		.path = path,
		.type = "application/json",
		.body = bytes_str(text),
	};
	auto_type(reply_release) struct reply reply = {0};
	struct client client;
	struct err err;
	int result;

	json_decref(body);
	if (!text)
		return cli_fail(EXIT_USAGE, "the time is no text");
	if (!is_plain(id) || snprintf(path, sizeof(path), "/v1/approvals/%s",
				      id) >= PATH_BYTES) {
		(void)cli_wrong(cli,
				"'%s' is no id of an approval: `sallyport "
				"approval list` has them",
				id);
		return cli_usage(cli);
	}
	if (control_open(&client, &err) < 0)
		return cli_fail_err(&err);
	result = client_call(&client, &request, &reply, &err);
	client_close(&client);
	if (result == 0 && reply.status == 409)
		return cli_fail(EXIT_CONFLICT, "%s",
				json_text(reply.json, "detail"));
	if (result < 0 || reply_check(&reply, &err) < 0)
		return cli_fail_err(&err);
	return cli_print(cli, reply.json, print_decided);
}

struct approve_options {
	const char *scope;
	const char *until;
	int given;
};

static int parse_approve(struct cli *cli, struct approve_options *options)
{
	static const struct option table[] = {
		{"once", no_argument, NULL, 'o'},
		{"session", no_argument, NULL, 's'},
		{"until", required_argument, NULL, 'u'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(cli->argc, cli->argv, "", table, NULL)) !=
	       -1) {
		if (option == 'o')
			options->scope = "once";
		else if (option == 's')
			options->scope = "session";
		else if (option == 'u')
			options->scope = "until";
		else
			return -1;
		options->until = option == 'u' ? optarg : NULL;
		options->given++;
	}
	if (options->given > 1)
		return cli_wrong(cli,
				 "of --once, --session and --until one alone");
	return arguments_count(cli, 1, 1);
}

/* A time from now is taken as well: who approves seldom knows the date in UTC.
 * Any other is control's to read. */
static void make_until(struct approve_options *options,
		       char text[CLOCK_TEXT_SIZE])
{
	uint64_t ms;

	if (!options->until ||
	    quantity_time(bytes_str(options->until), &ms) < 0 ||
	    ms > UNTIL_MAX_MS)
		return;
	clock_format(clock_wall_ms() + ms, text);
	options->until = text;
}

int cmd_approval_approve(struct cli *cli)
{
	struct approve_options options = {.scope = "session"};
	char until[CLOCK_TEXT_SIZE];

	if (parse_approve(cli, &options) < 0)
		return cli_usage(cli);
	make_until(&options, until);
	return decide(cli, cli->argv[optind],
		      json_pack("{s:s, s:s, s:s*}", "decision", "approve",
				"scope", options.scope, "until",
				options.until));
}

int cmd_approval_deny(struct cli *cli)
{
	if (arguments_words(cli, 1, 1) < 0)
		return cli_usage(cli);
	return decide(cli, cli->argv[optind],
		      json_pack("{s:s}", "decision", "deny"));
}
