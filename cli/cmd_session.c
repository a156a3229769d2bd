#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/gateway.h"
#include "cli/policy_file.h"
#include "common/cleanup.h"
#include "policies/policy.h"

#define PATH_BYTES 256

static int parse(struct cli *cli, struct session_request *request,
		 const char **policy)
{
	static const struct option table[] = {
		{"policy", required_argument, NULL, 'p'},
		{"repo", required_argument, NULL, 'r'},
		{"branch", required_argument, NULL, 'b'},
		{"ttl", required_argument, NULL, 't'},
		{NULL, 0, NULL, 0},
	};
	int option;
	char *end = NULL;

	while ((option = getopt_long(cli->argc, cli->argv, "", table, NULL)) !=
	       -1) {
		if (option == 'p')
			*policy = optarg;
		else if (option == 'r')
			request->repo = optarg;
		else if (option == 'b')
			request->branch = optarg;
		else if (option == 't')
			request->ttl_s = (unsigned)strtoul(optarg, &end, 10);
		else
			return -1;
		if (option == 't' && (*end || request->ttl_s == 0))
			return -1;
	}
	return *policy && optind == cli->argc ? 0 : -1;
}

/* Compiled here as well: its errors are told whole. */
static int read_policy(const char *path, struct session_request *request,
		       struct buf *text)
{
	const struct policy_variables variables = {
		.session_id = bytes_str("s-new"),
		.branch = bytes_str(request->branch),
		.repo = bytes_str(request->repo),
	};
	struct policy *policy = policy_file_read(path, &variables, text);

	request->policy = buf_view(text);
	if (!policy)
		return -1;
	policy_free(policy);
	return 0;
}

static void created_table(const json_t *value)
{
	(void)printf("session  %s\n", json_text(value, "id"));
	(void)printf("lease    %s\n", json_text(value, "lease"));
	(void)printf("expires  %s\n", json_text(value, "expires"));
}

int cmd_session_create(struct cli *cli)
{
	struct session_request request = {0};
	const char *policy = NULL;
	auto_type(buf_release) struct buf text;
	auto_type(reply_release) struct reply reply = {0};
	struct client client;
	struct err err;
	int result;

	buf_init(&text, POLICY_TEXT_MAX + 1);
	if (parse(cli, &request, &policy) < 0)
		return cli_usage(cli);
	if (read_policy(policy, &request, &text) < 0)
		return EXIT_INVALID;
	if (client_open(&client, &err) < 0)
		return cli_fail_err(&err);
	result = gateway_create(&client, &request, &reply, &err);
	client_close(&client);
	return result < 0 ? cli_fail_err(&err)
			  : cli_print(cli, reply.json, created_table);
}

static void session_row(const json_t *row)
{
	bool revoked = json_is_true(json_object_get(row, "revoked"));

	(void)printf("%-28s %-8s %-24s %-24s %s%s%s\n", json_text(row, "id"),
		     revoked ? "ended" : "open", json_text(row, "created"),
		     json_text(row, "expires"), json_text(row, "repo"),
		     json_text(row, "branch")[0] ? " " : "",
		     json_text(row, "branch"));
}

static void session_head(void)
{
	(void)printf("%-28s %-8s %-24s %-24s %s\n", "ID", "STATE", "CREATED",
		     "EXPIRES", "REPOSITORY");
}

static void sessions_table(const json_t *value)
{
	size_t index;
	json_t *row;

	session_head();
	json_array_foreach(json_object_get(value, "sessions"), index, row)
		session_row(row);
}

static void session_table(const json_t *value)
{
	session_head();
	session_row(value);
}

/* Ids go into a path as they are. */
static int path_of(const char *id, char path[PATH_BYTES])
{
	if (strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(id) ||
	    !id[0])
		return -1;
	return snprintf(path, PATH_BYTES, "/v1/sessions/%s", id) < PATH_BYTES
		       ? 0
		       : -1;
}

static int get(struct cli *cli, const char *path,
	       void (*table)(const json_t *value))
{
	const struct client_request request = {.method = "GET", .path = path};
	auto_type(reply_release) struct reply reply;
	struct err err;

	if (client_once(&request, &reply, &err) < 0)
		return cli_fail_err(&err);
	return cli_print(cli, reply.json, table);
}

int cmd_session_list(struct cli *cli)
{
	return arguments_words(cli, 0, 0) == 0
		       ? get(cli, "/v1/sessions", sessions_table)
		       : cli_usage(cli);
}

int cmd_session_show(struct cli *cli)
{
	char path[PATH_BYTES];

	if (arguments_words(cli, 1, 1) < 0 ||
	    path_of(cli->argv[optind], path) < 0)
		return cli_usage(cli);
	return get(cli, path, session_table);
}

int cmd_session_revoke(struct cli *cli)
{
	char path[PATH_BYTES];
	struct client client;
	struct err err;
	int result;

	if (arguments_words(cli, 1, 1) < 0 ||
	    path_of(cli->argv[optind], path) < 0)
		return cli_usage(cli);
	if (client_open(&client, &err) < 0)
		return cli_fail_err(&err);
	result = gateway_end(&client, cli->argv[optind], "revoked", &err);
	client_close(&client);
	return result < 0 ? cli_fail_err(&err) : EXIT_OK;
}
