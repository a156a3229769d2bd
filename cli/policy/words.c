#include "cli/policy/words.h"

#include <getopt.h>
#include <stdio.h>

#include "cli/policy/guardrail.h"
#include "cli/policy_file.h"
#include "common/cleanup.h"
#include "policies/explain.h"

#define WORDS_MAX (1024 * 1024)

struct explain_options {
	const char *policy;
	const char *repo;
	const char *branch;
	const char *guardrail;
};

static int parse(struct cli *cli, struct explain_options *options)
{
	static const struct option table[] = {
		{"policy", required_argument, NULL, 'p'},
		{"repo", required_argument, NULL, 'r'},
		{"branch", required_argument, NULL, 'b'},
		{"guardrail", required_argument, NULL, 'g'},
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
		else if (option == 'g')
			options->guardrail = optarg;
		else
			return -1;
	}
	return optind == cli->argc ? 0 : -1;
}

static struct policy *compile(const struct explain_options *options,
			      const struct policy_variables *variables,
			      struct buf *text)
{
	struct policy_errors errors = {.file = "default"};

	if (options->policy)
		return policy_file_read(options->policy, variables, text);
	return policy_compile(bytes_str(POLICY_DEFAULT_TEXT), variables,
			      &errors);
}

static int explain(const struct policy *policy)
{
	auto_type(buf_release) struct buf words;

	buf_init(&words, WORDS_MAX);
	if (policy_explain(policy, &words) < 0)
		return cli_fail(EXIT_FAILED, "the words are too many");
	(void)fputs(buf_str(&words), stdout);
	return EXIT_OK;
}

int policy_words(struct cli *cli)
{
	struct explain_options options = {0};
	auto_type(guardrail_release) struct guardrail guardrail;
	auto_type(buf_release) struct buf text;
	struct policy_variables variables;
	struct policy *policy;
	int exit_code;

	buf_init(&text, 0);
	guardrail_init(&guardrail);
	if (parse(cli, &options) < 0)
		return cli_usage(cli);
	variables = (struct policy_variables){
		.session_id = bytes_str("s-explained"),
		.branch = bytes_str(options.branch),
		.repo = bytes_str(options.repo),
	};
	policy = compile(&options, &variables, &text);
	if (!policy)
		return EXIT_INVALID;
	exit_code = guardrail_bind(&guardrail, options.guardrail, &variables,
				   policy);
	if (exit_code == EXIT_OK)
		exit_code = explain(policy);
	policy_free(policy);
	return exit_code;
}
