/*
 * sallyport config check: settings of sandbox-runtime.
 */
#include <getopt.h>
#include <stdio.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/settings_file.h"
#include "common/cleanup.h"
#include "policies/policy.h"
#include "policies/settings/settings.h"

/* Is what the settings became a policy? What is wrong with it goes to notes. */
static bool is_policy(const char *path, struct buf *text, struct buf *notes)
{
	auto_type(buf_release) struct buf report;
	struct policy_errors errors = {.out = &report, .file = "as a policy"};
	struct policy *policy;

	buf_init(&report, SETTINGS_NOTES_MAX);
	policy = policy_compile(buf_view(text), NULL, &errors);
	policy_free(policy);
	if (errors.count > 0)
		(void)buf_add_format(notes, "%s: %.*s", path,
				     BYTES_ARGS(buf_view(&report)));
	return errors.count == 0;
}

int cmd_config_check(struct cli *cli)
{
	auto_type(buf_release) struct buf policy;
	auto_type(buf_release) struct buf notes;
	const char *path;
	bool is_valid;
	json_t *value;

	buf_init(&policy, POLICY_TEXT_MAX);
	buf_init(&notes, 2 * SETTINGS_NOTES_MAX);
	if (arguments_words(cli, 1, 1) < 0)
		return cli_usage(cli);
	path = cli->argv[optind];
	is_valid = settings_file_read(path, &policy, &notes) == 0 &&
		   is_policy(path, &policy, &notes);
	if (!cli->json) {
		if (buf_len(&notes) > 0)
			(void)fputs(buf_str(&notes), stderr);
		if (is_valid)
			(void)fputs(buf_str(&policy), stdout);
		return is_valid ? EXIT_OK : EXIT_INVALID;
	}
	value = json_pack(
		"{s:s, s:b, s:s%, s:s%}", "file", path, "valid", is_valid,
		"notes", buf_len(&notes) ? buf_str(&notes) : "",
		buf_len(&notes), "policy", is_valid ? buf_str(&policy) : "",
		is_valid ? buf_len(&policy) : 0);
	(void)cli_print(cli, value, NULL);
	json_decref(value);
	return is_valid ? EXIT_OK : EXIT_INVALID;
}
