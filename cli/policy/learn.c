#include "cli/policy/learn.h"
#include "cli/arguments.h"
#include "cli/control.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/policy/learned.h"
#include "cli/policy_file.h"
#include "common/cleanup.h"
#include "sandbox-host/session/client.h"

#define PATH_BYTES	128
#define TREE_BYTES_MAX	(64 * 1024 * 1024)
#define SESSION_LEN_MAX 32

struct learn_options {
	const char *session;
	const char *policy; /* that it ran with */
	const char *output; /* NULL: stdout */
	bool denied;
};

static bool is_session(const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
	size_t len = strlen(text);

	return len > 0 && len <= SESSION_LEN_MAX && strspn(text, plain) == len;
}

/* Everywhere else -o is json, yaml or table. */
static int set_output(struct learn_options *options, const char *path)
{
	options->output = path;
	if (strcmp(path, "json") != 0 && strcmp(path, "table") != 0 &&
	    strcmp(path, "yaml") != 0)
		return 0;
	return cli_fail(-1,
			"a policy is YAML: for a file of that name say "
			"-o ./%s",
			path);
}

static int parse(struct cli *cli, struct learn_options *options)
{
	static const struct option table[] = {
		{"policy", required_argument, NULL, 'p'},
		{"output", required_argument, NULL, 'o'},
		{"denied", no_argument, NULL, 'd'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(cli->argc, cli->argv, "o:", table,
				     NULL)) != -1) {
		if (option == 'p')
			options->policy = optarg;
		else if (option == 'd')
			options->denied = true;
		else if (option != 'o' || set_output(options, optarg) < 0)
			return -1;
	}
	if (arguments_count(cli, 1, 1) < 0)
		return -1;
	if (!is_session(cli->argv[optind]))
		return cli_wrong(cli, "'%s' is no id of a session",
				 cli->argv[optind]);
	options->session = cli->argv[optind];
	return 0;
}

/* ---- the policy that it ran with ---- */

struct source {
	struct buf text;
	struct arena trees;
	struct policy *policy;
	struct learned_source parts;
};

static void source_release(struct source *source)
{
	policy_free(source->policy);
	arena_release(&source->trees);
	buf_release(&source->text);
}

/* 0, or an exit_code. */
static int source_read(struct source *source, const char *path)
{
	struct policy_errors errors = {.file = path};
	const struct text_source text = {
		.file = path,
		.errors = &errors,
	};
	struct text_source whole = text;

	source->policy = policy_file_read(path, NULL, &source->text);
	if (!source->policy)
		return EXIT_INVALID;
	whole.bytes = buf_view(&source->text);
	source->parts.policy = source->policy;
	source->parts.root = text_parse(&whole, &source->trees);
	return source->parts.root ? EXIT_OK
				  : cli_fail(EXIT_FAILED, "memory is out");
}

/* ---- the record ---- */

struct reading {
	struct learned *learned;
	struct err err;
};

static bool on_line(struct bytes line, void *owner)
{
	struct reading *reading = owner;
	json_t *row;
	int taken;

	if (line.len == 0)
		return true;
	row = json_loadb((const char *)line.data, line.len, 0, NULL);
	if (!row) {
		(void)err_set(&reading->err, ERR_INVALID,
			      "the gateway's answer: a row is no JSON");
		return false;
	}
	taken = learned_take(reading->learned, row, &reading->err);
	json_decref(row);
	return taken == 0;
}

/* All that is on record, whole, or nothing. */
static int read_record(const char *session, struct learned *learned,
		       struct err *err)
{
	struct reading reading = {.learned = learned};
	char path[PATH_BYTES];
	struct client client;
	int result;

	(void)snprintf(path, sizeof(path), "/v1/audit?session=%s", session);
	if (control_open(&client, err) < 0)
		return -1;
	result = client_follow(&client, path, on_line, &reading, err);
	client_close(&client);
	if (result == 0 && reading.err.code) {
		*err = reading.err;
		return -1;
	}
	if (result == 0 && learned->rows == 0)
		return err_set(err, ERR_MISSING,
			       "nothing is on record of session %s", session);
	return result;
}

/* ---- the policy ---- */

/* What stands there may be a link that somebody inside has left. */
static int write_file(const char *path, struct bytes text)
{
	bool is_ours = strncmp(path, "/dev/", strlen("/dev/")) != 0;
	auto_fd int fd = open(path,
			      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC |
				      O_NOCTTY | (is_ours ? O_NOFOLLOW : 0),
			      0644);
	size_t done = 0;

	while (fd >= 0 && done < text.len) {
		ssize_t put = write(fd, text.data + done, text.len - done);

		if (put <= 0)
			break;
		done += (size_t)put;
	}
	return fd >= 0 && done == text.len
		       ? EXIT_OK
		       : cli_fail(EXIT_FAILED, "cannot write %s: %s", path,
				  strerror(errno));
}

static int put_out(const char *path, struct bytes text)
{
	if (path)
		return write_file(path, text);
	return fwrite(text.data, 1, text.len, stdout) == text.len &&
			       fflush(stdout) == 0
		       ? EXIT_OK
		       : cli_fail(EXIT_FAILED, "cannot write the policy");
}

static int learn(const struct learn_options *options, struct learned *learned)
{
	auto_type(buf_release) struct buf out;
	char title[PATH_BYTES];
	struct err err;

	buf_init(&out, 2 * POLICY_TEXT_MAX);
	if (read_record(options->session, learned, &err) < 0)
		return cli_fail_err(&err);
	(void)snprintf(title, sizeof(title),
		       "learnt from session %s: %llu records", options->session,
		       (unsigned long long)learned->rows);
	if (learned_write(learned, bytes_str(title), &out, &err) < 0)
		return cli_fail_err(&err);
	return put_out(options->output, buf_view(&out));
}

int policy_learn(struct cli *cli)
{
	struct learn_options options = {0};
	auto_type(source_release) struct source source = {0};
	struct learned *learned;
	int exit_code = EXIT_OK;

	buf_init(&source.text, 0);
	arena_init(&source.trees, TREE_BYTES_MAX);
	if (parse(cli, &options) < 0)
		return cli_usage(cli);
	if (options.policy)
		exit_code = source_read(&source, options.policy);
	if (exit_code != EXIT_OK)
		return exit_code;
	learned = calloc(1, sizeof(*learned));
	if (!learned)
		return cli_fail(EXIT_FAILED, "memory is out");
	learned_init(learned, options.policy ? &source.parts : NULL,
		     options.denied);
	exit_code = learn(&options, learned);
	learned_release(learned);
	free(learned);
	return exit_code;
}
