/*
 * sallyport config check: settings of sandbox-runtime, or what a daemon reads.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/file_kind.h"
#include "cli/host.h"
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

static int check_settings(const struct cli *cli, const char *path)
{
	auto_type(buf_release) struct buf text;
	auto_type(buf_release) struct buf policy;
	auto_type(buf_release) struct buf notes;
	bool is_valid;
	json_t *value;

	buf_init(&text, SETTINGS_TEXT_MAX + 1);
	buf_init(&policy, POLICY_TEXT_MAX);
	buf_init(&notes, 2 * SETTINGS_NOTES_MAX);
	is_valid = settings_file_load(path, &text, &notes) == 0 &&
		   settings_file_read(path, buf_view(&text), NULL, &policy,
				      &notes) == 0 &&
		   is_policy(path, &policy, &notes);
	if (!cli->json) {
		if (buf_len(&notes) > 0)
			(void)fputs(buf_str(&notes), stderr);
		if (is_valid)
			(void)fputs(buf_str(&policy), stdout);
		return is_valid ? EXIT_OK : EXIT_INVALID;
	}
	if (!is_valid)
		buf_clear(&policy);
	value = json_pack("{s:o, s:b, s:o, s:o}", "file",
			  host_text_json(bytes_str(path)), "valid", is_valid,
			  "notes", host_text_json(buf_view(&notes)), "policy",
			  host_text_json(buf_view(&policy)));
	(void)cli_print(cli, value, NULL);
	json_decref(value);
	return is_valid ? EXIT_OK : EXIT_INVALID;
}

/* Settings are JSON, one object; what daemons read is YAML. What can be read
 * once alone, a pipe, is for who checks it, and YAML by default. */
static bool is_object(const char *path)
{
	auto_type(buf_release) struct buf text;
	struct stat info;
	struct err err;

	buf_init(&text, POLICY_TEXT_MAX);
	if (stat(path, &info) == 0 &&
	    (S_ISFIFO(info.st_mode) || S_ISCHR(info.st_mode)))
		return false;
	/* What cannot be read is told by who checks it. */
	return cli_read_file(path, &text, &err) < 0 ||
	       file_kind_is_object(buf_view(&text));
}

int cmd_config_check(struct cli *cli)
{
	static const struct option table[] = {
		{"settings", no_argument, NULL, 's'},
		{"gateway", no_argument, NULL, 'g'},
		{"host", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	const char *path;
	int kind = 0, option;

	while ((option = getopt_long(cli->argc, cli->argv, "", table, NULL)) !=
	       -1) {
		if (option != '?' && kind)
			(void)cli_wrong(cli, "of --settings, --gateway and "
					     "--host one alone");
		if (option == '?' || kind)
			return cli_usage(cli);
		kind = option;
	}
	if (arguments_count(cli, 1, 1) < 0)
		return cli_usage(cli);
	path = cli->argv[optind];
	if (!kind)
		kind = is_object(path) ? 's' : 'g';
	if (kind == 's')
		return check_settings(cli, path);
	return config_check_by(
		cli, kind == 'g' ? FILE_KIND_GATEWAY : FILE_KIND_HOST, path);
}
