#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/control.h"
#include "cli/unseen.h"
#include "common/cleanup.h"
#include "common/secret.h"
#include "sandbox-host/session/client.h"

#define SECRET_BYTES_MAX (16 * 1024)

/* Names go into a path as they are: only the vault's own alphabet. */
static int path_of(const char *name, char *out, size_t size)
{
	for (const char *c = name; *c; c++)
		if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
		      (*c >= '0' && *c <= '9') || *c == '.' || *c == '_' ||
		      *c == '-'))
			return -1;
	return name[0] && snprintf(out, size, "/v1/secrets/%s", name) <
				       (int)size
		       ? 0
		       : -1;
}

static int no_name(const char *name)
{
	return cli_fail(EXIT_USAGE,
			"'%s' is no name of a secret: letters, digits, '.', "
			"'_', '-'",
			name);
}

static int call(const struct client_request *request)
{
	auto_type(reply_release) struct reply reply;
	struct err err;

	return control_once(request, &reply, &err) < 0 ? cli_fail_err(&err)
						       : EXIT_OK;
}

/* What is typed is shown to nobody who looks on, nor kept by a terminal that
 * remembers its lines. */
static int read_value(struct secret *value, struct err *err)
{
	int result;

	unseen_begin(STDIN_FILENO);
	if (isatty(STDIN_FILENO))
		(void)fputs("sallyport: type the value (it is not shown), "
			    "Enter, then Ctrl-D\n",
			    stderr);
	result = secret_read_fd(value, STDIN_FILENO, SECRET_BYTES_MAX, err);
	unseen_end();
	return result;
}

/* The value on stdin, for the secret that is named. */
static int send_value(const struct cli *cli, const char *method)
{
	char path[256];
	struct client_request request = {
		.method = method,
		.path = path,
		.type = "application/octet-stream",
	};
	struct secret value;
	struct err err;
	int result;

	if (path_of(cli->argv[optind], path, sizeof(path)) < 0)
		return no_name(cli->argv[optind]);
	secret_protect_process();
	secret_init(&value);
	if (read_value(&value, &err) < 0) {
		result = err.code == ERR_TOO_LARGE
				 ? cli_fail(EXIT_USAGE,
					    "the value on stdin is larger "
					    "than %d bytes",
					    SECRET_BYTES_MAX)
				 : cli_fail_err(&err);
	} else if (value.len == 0) {
		result = cli_fail(EXIT_USAGE, "the value on stdin is empty");
	} else {
		request.body = secret_view(&value);
		result = call(&request);
	}
	secret_release(&value);
	return result;
}

int cmd_secret_put(struct cli *cli)
{
	if (arguments_words(cli, 1, 1) < 0)
		return cli_usage(cli);
	return send_value(cli, "PUT");
}

int cmd_secret_rotate(struct cli *cli)
{
	static const struct option table[] = {
		{"key", no_argument, NULL, 'k'},
		{NULL, 0, NULL, 0},
	};
	static const struct client_request key = {.method = "POST",
						  .path = "/v1/vault/key"};
	bool is_key = false;
	int option;

	while ((option = getopt_long(cli->argc, cli->argv, "", table, NULL)) !=
	       -1) {
		if (option != 'k')
			return cli_usage(cli);
		is_key = true;
	}
	if (arguments_count(cli, is_key ? 0 : 1, is_key ? 0 : 1) < 0)
		return cli_usage(cli);
	return is_key ? call(&key) : send_value(cli, "POST");
}

int cmd_secret_rm(struct cli *cli)
{
	char path[256];
	const struct client_request request = {.method = "DELETE",
					       .path = path};

	if (arguments_words(cli, 1, 1) < 0)
		return cli_usage(cli);
	if (path_of(cli->argv[optind], path, sizeof(path)) < 0)
		return no_name(cli->argv[optind]);
	return call(&request);
}

/* What the vault keeps has times, what gateway.yaml names a state. */
static void secret_row(const json_t *row)
{
	bool is_kept = !strcmp(json_text(row, "source"), "vault");
	const char *used = json_text(row, "used");
	const char *detail = json_text(row, "detail");

	if (!used[0])
		used = is_kept ? "never" : "-";
	(void)printf("%-32s %-10s %-24s %-24s %s%s%s%s%s\n",
		     json_text(row, "name"), json_text(row, "source"),
		     is_kept ? json_text(row, "changed") : "-", used,
		     json_text(row, "state"),
		     json_text(row, "until")[0] ? " until " : "",
		     json_text(row, "until"), detail[0] ? ": " : "", detail);
}

static void secret_table(const json_t *value)
{
	size_t index;
	json_t *row;

	(void)printf("%-32s %-10s %-24s %-24s %s\n", "NAME", "SOURCE",
		     "CHANGED", "USED", "STATE");
	json_array_foreach(json_object_get(value, "secrets"), index, row)
	{
		secret_row(row);
	}
}

int cmd_secret_list(struct cli *cli)
{
	static const struct client_request request = {.method = "GET",
						      .path = "/v1/secrets"};
	auto_type(reply_release) struct reply reply = {0};
	struct err err;

	if (arguments_words(cli, 0, 0) < 0)
		return cli_usage(cli);
	if (control_once(&request, &reply, &err) < 0)
		return cli_fail_err(&err);
	return cli_print(cli, reply.json, secret_table);
}
