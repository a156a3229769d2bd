#include "cli/policy/words.h"
#include "cli/arguments.h"

#include <stdio.h>

#include "cli/host.h"
#include "cli/policy/guardrail.h"
#include "cli/policy/which.h"
#include "cli/policy_file.h"
#include "common/cleanup.h"
#include "policies/explain.h"

#define WORDS_MAX (1024 * 1024)

static int parse(struct cli *cli, struct policy_which *which)
{
	static const struct option table[] = {
		POLICY_WHICH_OPTIONS,
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(cli->argc, cli->argv, "", table, NULL)) !=
	       -1)
		if (!policy_which_take(which, option, optarg))
			return -1;
	/* As `policy check` and `policy show` have it. */
	if (!which->policy && cli->argc - optind == 1)
		return cli_wrong(cli,
				 "'%s' is one word too many: the policy is "
				 "given by --policy",
				 cli->argv[optind]);
	return arguments_count(cli, 0, 0);
}

static struct policy *compile(const struct policy_which *which,
			      const struct policy_variables *variables,
			      struct buf *text)
{
	struct policy_errors errors = {.file = "default"};

	if (which->policy)
		return policy_file_read(which->policy, variables, text);
	return policy_compile(bytes_str(POLICY_DEFAULT_TEXT), variables,
			      &errors);
}

static void print_words(const json_t *value)
{
	(void)fputs(json_text(value, "text"), stdout);
}

static int explain(const struct cli *cli, const struct policy *policy,
		   const char *guardrail)
{
	auto_type(buf_release) struct buf words;
	json_t *value;
	int code;

	buf_init(&words, WORDS_MAX);
	if (policy_explain(policy, &words) < 0)
		return cli_fail(EXIT_FAILED, "the words are too many");
	value = json_pack("{s:s, s:o}", "guardrail", guardrail, "text",
			  host_text_json(buf_view(&words)));
	code = value ? cli_print(cli, value, print_words)
		     : cli_fail(EXIT_FAILED, "memory is out");
	json_decref(value);
	return code;
}

int policy_words(struct cli *cli)
{
	struct policy_which which = {0};
	auto_type(guardrail_release) struct guardrail guardrail;
	auto_type(buf_release) struct buf text;
	struct policy_variables variables;
	struct policy *policy;
	int exit_code;

	buf_init(&text, 0);
	guardrail_init(&guardrail);
	if (parse(cli, &which) < 0)
		return cli_usage(cli);
	variables = policy_which_variables(&which, "s-explained");
	policy = compile(&which, &variables, &text);
	if (!policy)
		return EXIT_INVALID;
	exit_code =
		guardrail_bind(&guardrail, which.guardrail, &variables, policy);
	if (exit_code == EXIT_OK)
		exit_code = explain(cli, policy, guardrail.where);
	policy_free(policy);
	return exit_code;
}
