/*
 * sallyport config dump, reload, and check of what the daemons read.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/control.h"
#include "cli/host.h"
#include "common/cleanup.h"
#include "common/file.h"
#include "policies/policy.h"
#include "sandbox-host/session/client.h"
#include "sandbox-host/session/gateway.h"

#define CHECK_REPORT_MAX (256 * 1024)

/* ---- check ---- */

/* Start the check; to: where its errors go. */
static int start_check(char *const words[], int to, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int rc = posix_spawn_file_actions_init(&actions);

	if (rc)
		return rc;
	rc = posix_spawn_file_actions_adddup2(&actions, to, STDERR_FILENO);
	if (!rc)
		rc = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO,
						      "/dev/null", O_WRONLY, 0);
	if (!rc)
		rc = posix_spawn(pid, words[0], &actions, NULL, words, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	return rc;
}

/* Run the check and append its errors to report. Its exit code; -1: it has
 * none. */
static int run_check(char *const words[], struct buf *report, struct err *err)
{
	int ends[2], status = 0, rc;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_system(err, "make a pipe");
	rc = start_check(words, ends[1], &pid);
	(void)close(ends[1]);
	if (rc) {
		(void)close(ends[0]);
		errno = rc;
		return err_system(err, "run %s", words[0]);
	}
	rc = file_read(ends[0], report, err);
	(void)close(ends[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (rc < 0)
		return rc;
	return WIFEXITED(status)
		       ? WEXITSTATUS(status)
		       : err_set(err, ERR_LIBRARY, "%s was killed", words[0]);
}

/* Where the file is of another kind: say so first. What can not be read is told
 * by who checks it, and what can be read once alone, a pipe, is for that. */
static void tell_kind(enum file_kind kind, const char *file, struct buf *report)
{
	auto_type(buf_release) struct buf text;
	struct stat info;
	struct err err;

	buf_init(&text, POLICY_TEXT_MAX);
	if (stat(file, &info) == 0 && S_ISREG(info.st_mode) &&
	    file_read_path(file, &text, &err) == 0)
		file_kind_tell(buf_view(&text), kind, file, report);
}

/* The same as a value: `report` is what is wrong. */
static int check_as_value(const struct cli *cli, char *const words[],
			  enum file_kind kind, const char *file)
{
	auto_type(buf_release) struct buf report;
	struct err err;
	json_t *value;
	int code;

	buf_init(&report, CHECK_REPORT_MAX);
	tell_kind(kind, file, &report);
	code = run_check(words, &report, &err);
	if (code < 0)
		return cli_fail_err(&err);
	value = json_pack("{s:o, s:b, s:o}", "file",
			  host_text_json(bytes_str(file)), "valid",
			  code == EXIT_OK, "report",
			  host_text_json(buf_view(&report)));
	if (!value)
		return cli_fail(EXIT_FAILED, "no memory");
	(void)cli_print(cli, value, NULL);
	json_decref(value);
	return code;
}

int config_check_by(const struct cli *cli, enum file_kind kind,
		    const char *file)
{
	const char *program = kind == FILE_KIND_GATEWAY ? "sallyport-gateway"
							: "sallyport-host";
	char path[PATH_MAX], test[] = "-t", config[] = "-c";
	auto_free char *name = strdup(file);
	char *const words[] = {path, test, config, name, NULL};
	auto_type(buf_release) struct buf kinds;
	struct err err;

	buf_init(&kinds, PATH_MAX * 3);
	if (!name)
		return cli_fail(EXIT_FAILED, "no memory");
	if (gateway_find_program(program, path, &err) < 0)
		return cli_fail_err(&err);
	if (cli->json)
		return check_as_value(cli, words, kind, file);
	tell_kind(kind, file, &kinds);
	(void)fprintf(stderr, "%.*s", BYTES_ARGS(buf_view(&kinds)));
	(void)execv(path, words);
	return cli_fail(EXIT_FAILED, "cannot run %s", path);
}

/* ---- dump and reload ---- */

/* --host, and no words. -1: that was something else; 1: it was said. */
static int is_of_host(struct cli *cli)
{
	static const struct option table[] = {
		{"host", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int is_host = 0, option;

	while ((option = getopt_long(cli->argc, cli->argv, "", table, NULL)) !=
	       -1) {
		if (option != 'h')
			return -1;
		is_host = 1;
	}
	return arguments_count(cli, 0, 0) < 0 ? -1 : is_host;
}

/* ---- dump ---- */

static void dump_text(const json_t *value)
{
	(void)fputs(json_text(value, "text"), stdout);
}

static int dump_gateway(struct cli *cli)
{
	static const struct client_request request = {.method = "GET",
						      .path = "/v1/config"};
	auto_type(reply_release) struct reply reply;
	struct err err;

	if (control_once(&request, &reply, &err) < 0)
		return cli_fail_err(&err);
	return cli_print(cli, reply.json, dump_text);
}

static void keep_text(const void *message, int *fd, void *owner)
{
	json_t **value = owner;
	struct bytes text;
	struct err err;

	(void)message;
	if (wire_memfd_map(*fd, HOST_DUMP_MAX, &text, &err) < 0) {
		(void)cli_fail_err(&err);
		return;
	}
	*value = json_pack("{s:o}", "text", host_text_json(text));
	wire_memfd_unmap(text);
}

static int dump_host(struct cli *cli)
{
	const struct wire_empty empty = {0};
	json_t *value = NULL;
	const struct host_call call = {
		.type = MSG_HOST_CONFIG,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = -1,
		.reply = &wire_empty_schema,
		.take = keep_text,
		.owner = &value,
	};
	int code = host_once(&call);

	if (code == EXIT_OK)
		code = value ? cli_print(cli, value, dump_text) : EXIT_FAILED;
	json_decref(value);
	return code;
}

int cmd_config_dump(struct cli *cli)
{
	int is_host = is_of_host(cli);

	if (is_host < 0)
		return cli_usage(cli);
	return is_host ? dump_host(cli) : dump_gateway(cli);
}

/* ---- reload ---- */

static void reload_text(const json_t *value)
{
	const char *taken = json_text(value, "taken");

	if (taken[0])
		(void)printf("the configuration holds; changed: %s\n", taken);
	else
		(void)puts("the configuration holds; nothing in it differs");
}

static int reload_gateway(struct cli *cli)
{
	static const struct client_request request = {
		.method = "POST", .path = "/v1/config/reload"};
	auto_type(reply_release) struct reply reply;
	struct err err;

	if (control_once(&request, &reply, &err) == 0)
		return cli_print(cli, reply.json, reload_text);
	if (reply.status != 422)
		return cli_fail_err(&err);
	(void)fputs(json_text(reply.json, "errors"), stderr);
	return cli_fail(EXIT_INVALID, "%s", json_text(reply.json, "detail"));
}

/* What was taken; NULL, once what was wrong is told. */
static void keep_reloaded(const void *message, int *fd, void *owner)
{
	const struct host_reloaded *reloaded = message;
	json_t **value = owner;

	(void)fd;
	if (reloaded->holds) {
		*value = json_pack("{s:o}", "taken",
				   host_text_json(reloaded->taken));
		return;
	}
	(void)fprintf(stderr, "%.*s", BYTES_ARGS(reloaded->errors));
	(void)cli_fail(EXIT_INVALID, "all is as it was: %.*s",
		       BYTES_ARGS(reloaded->why));
}

static int reload_host(struct cli *cli)
{
	const struct wire_empty empty = {0};
	json_t *value = NULL;
	const struct host_call call = {
		.type = MSG_HOST_RELOAD,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = -1,
		.reply = &host_reloaded_schema,
		.take = keep_reloaded,
		.owner = &value,
	};
	int code = host_once(&call);

	if (code == EXIT_OK)
		code = value ? cli_print(cli, value, reload_text)
			     : EXIT_INVALID;
	json_decref(value);
	return code;
}

int cmd_config_reload(struct cli *cli)
{
	int is_host = is_of_host(cli);

	if (is_host < 0)
		return cli_usage(cli);
	return is_host ? reload_host(cli) : reload_gateway(cli);
}
