#include <getopt.h>
#include <stdio.h>

#include "cli/commands.h"
#include "cli/policy_file.h"
#include "common/cleanup.h"
#include "policies/explain.h"

#define WORDS_MAX (1024 * 1024)

struct explain_options {
	const char *policy;
	const char *repo;
	const char *branch;
};

static int parse(struct cli *cli, struct explain_options *options)
{
	static const struct option table[] = {
		{"policy", required_argument, NULL, 'p'},
		{"repo", required_argument, NULL, 'r'},
		{"branch", required_argument, NULL, 'b'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(cli->argc, cli->argv, "", table, NULL)) !=
	       -1) {
		if (option == 'p')
			options->policy = optarg;
		else if (option == 'r')
			options->repo = optarg;
		else if (option == 'b')
			options->branch = optarg;
		else
			return -1;
	}
	return optind == cli->argc ? 0 : -1;
}

static struct policy *compile(const struct explain_options *options,
			      struct buf *text)
{
	const struct policy_variables variables = {
		.session_id = bytes_str("s-explained"),
		.branch = bytes_str(options->branch),
		.repo = bytes_str(options->repo),
	};
	struct policy_errors errors = {.file = "default"};

	if (options->policy)
		return policy_file_read(options->policy, &variables, text);
	return policy_compile(bytes_str(POLICY_DEFAULT_TEXT), &variables,
			      &errors);
}

int cmd_policy_explain(struct cli *cli)
{
	struct explain_options options = {0};
	auto_type(buf_release) struct buf text;
	auto_type(buf_release) struct buf words;
	struct policy *policy;
	int written;

	buf_init(&text, 0);
	buf_init(&words, WORDS_MAX);
	if (parse(cli, &options) < 0)
		return cli_usage(cli);
	policy = compile(&options, &text);
	if (!policy)
		return EXIT_INVALID;
	written = policy_explain(policy, &words);
	policy_free(policy);
	if (written < 0)
		return cli_fail(EXIT_FAILED, "the words are too many");
	(void)fputs(buf_str(&words), stdout);
	return EXIT_OK;
}
