#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/host.h"
#include "cli/policy_file.h"
#include "common/cleanup.h"

#define REPORT_BYTES_MAX (256 * 1024)

/* ---- check ---- */

static json_t *check_one(const char *path, bool tells)
{
	auto_type(buf_release) struct buf text;
	auto_type(buf_release) struct buf report;
	size_t count;
	struct policy *policy;
	size_t rules = 0;

	buf_init(&report, REPORT_BYTES_MAX);
	policy = policy_file_try(path, NULL, &text, &report, &count);
	if (policy)
		rules = policy->rule_count;
	if (policy && tells)
		(void)printf("%s: ok, %zu rule%s\n", path, rules,
			     rules == 1 ? "" : "s");
	else if (tells)
		(void)fprintf(stderr, "%.*s%s: %zu error%s\n",
			      BYTES_ARGS(buf_view(&report)), path, count,
			      count == 1 ? "" : "s");
	policy_free(policy);
	return json_pack("{s:o, s:b, s:I, s:I, s:o}", "file",
			 host_text_json(bytes_str(path)), "valid", count == 0,
			 "rules", (json_int_t)rules, "errors",
			 (json_int_t)count, "report",
			 host_text_json(buf_view(&report)));
}

int cmd_policy_check(struct cli *cli)
{
	json_t *files = json_array();
	int exit_code = EXIT_OK;

	if (arguments_words(cli, 1, INT_MAX) < 0) {
		json_decref(files);
		return cli_usage(cli);
	}
	for (int i = optind; i < cli->argc; i++) {
		json_t *file = check_one(cli->argv[i], !cli->json);

		if (!json_is_true(json_object_get(file, "valid")))
			exit_code = EXIT_INVALID;
		(void)json_array_append_new(files, file);
	}
	if (cli->json)
		(void)cli_print(cli, files, NULL);
	json_decref(files);
	return exit_code;
}
