/*
 * The policy of a session that runs: shown, or replaced by a file's.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/control.h"
#include "cli/policy_file.h"
#include "common/cleanup.h"
#include "sandbox-host/session/client.h"

#define PATH_BYTES 128

static void shown(const json_t *value)
{
	(void)fputs(json_text(value, "policy"), stdout);
}

static void changed(const json_t *value)
{
	(void)printf("%s has another policy: %s\n", json_text(value, "id"),
		     json_text(value, "hash"));
}

static int show(struct cli *cli, const char *path)
{
	const struct client_request request = {.method = "GET", .path = path};
	auto_type(reply_release) struct reply reply;
	struct err err;

	reply = (struct reply){0};
	if (control_once(&request, &reply, &err) < 0)
		return cli_fail_err(&err);
	return cli_print(cli, reply.json, shown);
}

static int put(struct cli *cli, const char *path, struct bytes text,
	       const char *expected)
{
	struct client_request request = {
		.method = "PUT",
		.path = path,
		.type = "application/json",
	};
	auto_type(reply_release) struct reply reply;
	auto_free char *body = NULL;
	struct err err;
	json_t *root = json_pack("{s:s%, s:s*}", "policy", text.data, text.len,
				 "expect", expected);

	reply = (struct reply){0};
	body = root ? json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(root);
	if (!body)
		return cli_fail(EXIT_INVALID, "the policy is no UTF-8 text");
	request.body = bytes_str(body);
	if (control_once(&request, &reply, &err) < 0)
		return cli_fail_err(&err);
	return cli_print(cli, reply.json, changed);
}

/* It is compiled where it is used; here for errors with their file's name. */
static int put_file(struct cli *cli, const char *path, const char *file,
		    const char *expected)
{
	auto_type(buf_release) struct buf text;
	struct policy *policy;

	buf_init(&text, POLICY_TEXT_MAX);
	policy = policy_file_read(file, NULL, &text);
	if (!policy)
		return EXIT_INVALID;
	policy_free(policy);
	return put(cli, path, buf_view(&text), expected);
}

int cmd_session_policy(struct cli *cli)
{
	static const struct option table[] = {
		{"expect", required_argument, NULL, 'e'},
		{NULL, 0, NULL, 0},
	};
	const char *expected = NULL, *id;
	char path[PATH_BYTES];
	int option, words;

	while ((option = getopt_long(cli->argc, cli->argv, "", table, NULL)) !=
	       -1) {
		if (option != 'e')
			return cli_usage(cli);
		expected = optarg;
	}
	if (arguments_count(cli, expected ? 2 : 1, 2) < 0)
		return cli_usage(cli);
	words = cli->argc - optind;
	id = cli->argv[optind];
	if (strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(id) ||
	    snprintf(path, sizeof(path), "/v1/sessions/%s/policy", id) >=
		    (int)sizeof(path)) {
		(void)cli_wrong(cli, "'%s' is no id of a session", id);
		return cli_usage(cli);
	}
	return words == 1
		       ? show(cli, path)
		       : put_file(cli, path, cli->argv[optind + 1], expected);
}
